package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// identity has the credentials for requests. The first of these that has some gives them:
//
//   - AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
//   - the role of AWS_WEB_IDENTITY_TOKEN_FILE, as in Kubernetes
//   - the profile of AWS_PROFILE: keys, credential_process or single sign-on
//   - the role of the container, or of the machine
//
// Without any, requests are not signed, which is enough for public buckets.
type identity struct {
	sources []source

	turn   steady.Turn // guards what is below
	has    credentials.Value
	from   string // the source, for messages
	failed error
	until  time.Time // when they are looked for again
}

type source struct {
	name string
	get  func() (credentials.Value, error)
	must bool // its error is one of the settings, and ends the search
}

const (
	earlier    = 5 * time.Minute  // than they expire, credentials are renewed
	lookAgain  = 5 * time.Minute  // for those that never expire, as a file may be written again
	mostSearch = 90 * time.Second // a process, or a service, may hang
	keepError  = 5 * time.Second  // for all readers that wait
)

func newIdentity(anonymous bool) *identity {
	i := &identity{turn: steady.NewTurn()}
	if anonymous {
		i.from, i.until = "AWS_NO_SIGN_REQUEST", time.Now().AddDate(100, 0, 0)
		return i
	}
	cc := &credentials.CredContext{Client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		Proxy: beyondLinks, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext}}}
	of := func(name string, must bool, p credentials.Provider) source {
		return source{name, func() (credentials.Value, error) { return p.RetrieveWithCredContext(cc) }, must}
	}
	i.sources = append(i.sources, of("AWS_ACCESS_KEY_ID", false, &credentials.EnvAWS{}))
	if os.Getenv("AWS_ACCESS_KEY_ID") != "" && os.Getenv("AWS_SECRET_ACCESS_KEY")+os.Getenv("AWS_SECRET_KEY") == "" {
		i.sources = []source{{"AWS_ACCESS_KEY_ID", func() (v credentials.Value, err error) { return v, errNoSecret }, true}}
	}
	given := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != ""
	if given {
		i.sources = append(i.sources, of("the role of AWS_WEB_IDENTITY_TOKEN_FILE", true, &credentials.IAM{}))
	}
	name := os.Getenv("AWS_PROFILE")
	i.sources = append(i.sources, of("the profile "+orDefault(name), name != "", &credentials.FileAWSCredentials{}))

	// A container's role is asked of an address that the environment has, and comes
	// before that of the machine, which any of its containers could have.
	container := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") + os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	switch {
	case given:
	case container != "":
		i.sources = append(i.sources, of("the role of the container", true, &credentials.IAM{}))
	case !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true"):
		i.sources = append(i.sources, of("the role of the machine", false, &credentials.IAM{}))
	}
	return i
}

// given is the identity for the reads of a loader that gives its credentials.
func given(g *store.Giver) *identity {
	get := func() (v credentials.Value, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), mostSearch)
		defer cancel()
		is, err := g.Ask(ctx, "s3")
		v.AccessKeyID, v.SecretAccessKey = is.Values["AccessKeyId"], is.Values["SecretAccessKey"]
		v.SessionToken, v.Expiration = is.Values["SessionToken"], is.Until
		if err == nil && (v.AccessKeyID == "" || v.SecretAccessKey == "") {
			err = errors.New("must have AccessKeyId and SecretAccessKey, and SessionToken and Expiration if they expire")
		}
		return v, err
	}
	return &identity{turn: steady.NewTurn(), sources: []source{{store.FromGiver, get, true}}}
}

var errNoSecret = errors.New("AWS_SECRET_ACCESS_KEY is not set")

// beyondLinks is the proxy for hosts that are not on the machine's own link, as those
// that know its role are.
func beyondLinks(r *http.Request) (*url.URL, error) {
	if ip := net.ParseIP(r.URL.Hostname()); ip != nil && (ip.IsLinkLocalUnicast() || ip.IsLoopback()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

func orDefault(profile string) string {
	if profile == "" {
		return "default"
	}
	return profile
}

// get returns the credentials, and their source; no key: there are none. They are renewed
// before they expire.
func (i *identity) get(ctx context.Context) (credentials.Value, string, error) {
	if err := i.turn.Take(ctx); err != nil {
		return credentials.Value{}, "", err
	}
	defer i.turn.Give()
	if time.Now().Before(i.until) {
		return i.has, i.from, i.failed
	}

	// It may run a program, or ask a service: neither must hold a reader for ever.
	type found struct {
		value credentials.Value
		from  string
		err   error
	}
	c := make(chan found, 1)
	go func() {
		value, from, err := search(i.sources)
		c <- found{value, from, err}
	}()
	var f found
	select {
	case f = <-c:
	case <-time.After(mostSearch):
		f.err = fmt.Errorf("s3: no credentials came in %v", mostSearch)
	case <-ctx.Done():
		return credentials.Value{}, "", ctx.Err()
	}

	now := time.Now()
	switch expires := i.has.Expiration; {
	case f.err != nil && now.Before(expires):
		i.until = now.Add(min(time.Minute, expires.Sub(now))) // those of before are good for a while
		return i.has, i.from, nil
	case f.err != nil:
		i.has, i.from, i.failed, i.until = credentials.Value{}, "", f.err, now.Add(keepError)
		return i.has, "", f.err
	}
	i.failed = nil
	i.has, i.from, i.until = f.value, f.from, now.Add(lookAgain)
	if !f.value.Expiration.IsZero() {
		left := f.value.Expiration.Sub(now)
		i.until = now.Add(max(left-earlier, left/2))
	}
	return i.has, i.from, nil
}

// search asks the sources, one after the other.
func search(sources []source) (credentials.Value, string, error) {
	var missing []string
	for _, s := range sources {
		v, err := s.get()
		switch {
		case err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "":
			return v, s.name, nil
		case err != nil && s.must:
			return v, "", fmt.Errorf("s3: no credentials from %s: %w", s.name, err)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			missing = append(missing, fmt.Sprintf("%s (%v)", s.name, err))
		default:
			missing = append(missing, s.name)
		}
	}
	return credentials.Value{}, "none: tried " + strings.Join(missing, ", "), nil
}

// renew has credentials looked for again, if they are those of a key. It returns whether
// there may be others.
func (i *identity) renew(ctx context.Context, key string) bool {
	if i.turn.Take(ctx) != nil {
		return false
	}
	defer i.turn.Give()
	if i.has.AccessKeyID == key {
		i.until, i.has.Expiration = time.Time{}, time.Time{}
	}
	return true
}
