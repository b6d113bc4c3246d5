package gcs

import (
	"errors"
	"net/url"
	"os"
	"strings"
)

// settings come from the environment, as those of Google's own libraries do:
//
//   - STORAGE_EMULATOR_HOST, an emulator, which wants no credentials
//   - GOOGLE_CLOUD_QUOTA_PROJECT or GOOGLE_CLOUD_PROJECT, the project that pays for
//     reading buckets whose readers pay
//   - CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true, to read public buckets without credentials
type settings struct {
	scheme, host string
	project      string
	identity     *identity
}

func read() (*settings, error) {
	s := &settings{scheme: "https", host: "storage.googleapis.com", project: os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT")}
	if s.project == "" {
		s.project = os.Getenv("GOOGLE_CLOUD_PROJECT")
	}
	const variable = "STORAGE_EMULATOR_HOST"
	at := os.Getenv(variable)
	s.identity = newIdentity(at != "", variable)
	if at == "" {
		return s, nil
	}
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	if !isWeb || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("gcs: STORAGE_EMULATOR_HOST must be like http://host:port")
	}
	s.scheme, s.host = u.Scheme, u.Host
	return s, nil
}
