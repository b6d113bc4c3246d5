package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/ini.v1"

	"github.com/headrace/headrace/store"
)

// settings come from the environment and the profile that it names, as those of Amazon's
// own programs do:
//
//   - the endpoint, of AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's
//     endpoint_url, in whose path buckets are; none: Amazon's, by the region
//   - the region, of AWS_REGION, AWS_DEFAULT_REGION or the profile; a bucket elsewhere
//     is found
//   - AWS_REQUEST_PAYER=requester, to pay for reading
//   - AWS_NO_SIGN_REQUEST=yes, to read public buckets without credentials
//   - AWS_CA_BUNDLE, with the certificates to trust
type settings struct {
	scheme   string
	endpoint string // the host, and a path; "": Amazon's
	region   string
	payer    string
	bundle   string
	identity *identity
}

// read reads the settings.
func read() (*settings, error) {
	p, err := profile()
	if err != nil {
		return nil, err
	}

	// The environment comes before files, as in all programs of Amazon.
	s := &settings{scheme: "https", region: "us-east-1"}
	pick := func(into *string, values ...string) {
		for _, v := range values {
			if v != "" {
				*into = v
				return
			}
		}
	}
	pick(&s.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), p["region"])
	pick(&s.payer, os.Getenv("AWS_REQUEST_PAYER"))
	pick(&s.bundle, os.Getenv("AWS_CA_BUNDLE"), p["ca_bundle"])
	pick(&s.endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), p["endpoint_url"])
	if s.endpoint != "" {
		u, err := url.Parse(s.endpoint)
		isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https")
		if !isWeb || u.Host == "" || u.User != nil || u.RawQuery != "" { // not shown: it may have a password
			return nil, errors.New("s3: AWS_ENDPOINT_URL, or endpoint_url of the profile, must be like https://host:port")
		}
		s.scheme, s.endpoint = u.Scheme, u.Host+strings.TrimSuffix(u.EscapedPath(), "/")
	}
	anonymous, _ := strconv.ParseBool(os.Getenv("AWS_NO_SIGN_REQUEST"))
	s.identity = newIdentity(anonymous || strings.EqualFold(os.Getenv("AWS_NO_SIGN_REQUEST"), "yes"))
	return s, nil
}

// by returns the identity for the reads of a context.
func (s *settings) by(ctx context.Context) *identity {
	if i, ok := store.GiverOf(ctx, "s3", given); ok {
		return i
	}
	return s.identity
}

// address returns the host to ask for a bucket, and the beginning of the path there.
func (s *settings) address(bucket, region string) (host, path string) {
	if s.endpoint != "" {
		host, path, _ = strings.Cut(s.endpoint, "/")
		if path != "" {
			path = "/" + path
		}
		return host, path + "/" + encode(bucket, false) + "/"
	}
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	// The certificate of the hosts of buckets has no dots in the bucket's place.
	if strings.Contains(bucket, ".") {
		return "s3." + region + domain, "/" + bucket + "/"
	}
	return bucket + ".s3." + region + domain, "/"
}

// trust has a transport trust the certificates of AWS_CA_BUNDLE.
func (s *settings) trust(t *http.Transport) error {
	if s.bundle == "" {
		return nil
	}
	text, err := os.ReadFile(s.bundle)
	if err != nil {
		return fmt.Errorf("s3: the certificates of AWS_CA_BUNDLE: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("s3: AWS_CA_BUNDLE: %s has no certificates in PEM", s.bundle)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return nil
}

// profile returns the settings of the profile of AWS_PROFILE, or of the default one.
func profile() (map[string]string, error) {
	at := os.Getenv("AWS_CONFIG_FILE")
	if home, err := os.UserHomeDir(); at == "" && err == nil {
		at = filepath.Join(home, ".aws", "config")
	}
	name := os.Getenv("AWS_PROFILE")
	if name == "" {
		name = "default"
	}
	file, err := ini.LoadSources(ini.LoadOptions{AllowNestedValues: true, SkipUnrecognizableLines: true}, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // the file of credentials may have it
	case err != nil:
		return nil, fmt.Errorf("s3: %s: %w", at, err)
	}
	for _, section := range []string{"profile " + name, name} {
		if file.HasSection(section) {
			return file.Section(section).KeysHash(), nil
		}
	}
	return nil, nil
}
