package hub

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// settings come from the environment, as those of Hugging Face's own programs do:
//
//   - HF_ENDPOINT, another server than https://huggingface.co
//   - the token, of HF_TOKEN, HUGGING_FACE_HUB_TOKEN or a file: see [token]
//   - HF_HUB_DISABLE_IMPLICIT_TOKEN=1, to read public files without a token
//   - HF_HUB_OFFLINE=1: nothing is asked for
type settings struct {
	scheme, host, base string // base: the beginning of paths there
	isSilent           bool   // no token, even if there is one
}

func read() (*settings, error) {
	if isSet("HF_HUB_OFFLINE") {
		return nil, errors.New("hub: HF_HUB_OFFLINE is set, so nothing is read from the Hub: unset it")
	}
	at := os.Getenv("HF_ENDPOINT")
	if at == "" {
		at = "https://huggingface.co"
	}
	u, err := url.Parse(at)
	isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	if !isWeb || u.Host == "" || u.User != nil || u.RawQuery != "" { // not shown: it may have a password
		return nil, errors.New("hub: HF_ENDPOINT must be like https://host:port")
	}
	return &settings{u.Scheme, u.Host, strings.TrimSuffix(u.EscapedPath(), "/"), isSet("HF_HUB_DISABLE_IMPLICIT_TOKEN")}, nil
}

func isSet(name string) bool {
	on, _ := strconv.ParseBool(os.Getenv(name))
	return on || strings.EqualFold(os.Getenv(name), "yes") || strings.EqualFold(os.Getenv(name), "on")
}

// token returns the token and its source: a variable, or the file of HF_TOKEN_PATH, which
// is ~/.cache/huggingface/token if neither HF_HOME nor XDG_CACHE_HOME is set. The file is
// read each time, as other programs renew it.
func (s *settings) token() (token, from string) {
	if s.isSilent {
		return "", "HF_HUB_DISABLE_IMPLICIT_TOKEN"
	}
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} {
		if t := strings.TrimSpace(os.Getenv(name)); t != "" {
			return t, name
		}
	}
	at := tokenFile()
	if text, err := os.ReadFile(at); err == nil {
		if t := strings.TrimSpace(string(text)); t != "" {
			return t, at
		}
	}
	return "", "none: tried HF_TOKEN, " + at
}

func tokenFile() string {
	if at := os.Getenv("HF_TOKEN_PATH"); at != "" {
		return os.ExpandEnv(at)
	}
	home := os.Getenv("HF_HOME")
	if home == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if user, err := os.UserHomeDir(); cache == "" && err == nil {
			cache = filepath.Join(user, ".cache")
		}
		home = filepath.Join(cache, "huggingface")
	}
	return filepath.Join(os.ExpandEnv(home), "token")
}
