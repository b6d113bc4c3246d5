package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// Store has the files of all servers of a scheme.
type Store struct {
	scheme string
	client *steady.Client
}

// New returns the store of a scheme, http or https.
func New(scheme string, c *steady.Client) *Store { return &Store{scheme, c} }

func init() {
	c := steady.New(steady.Transport(), true)
	store.Register("http", New("http", c))
	store.Register("https", New("https", c))
}

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Object, error) {
	o, _, err := s.Begin(ctx, name, nil)
	return o, err
}

// Begin implements [store.Beginning].
func (s *Store) Begin(ctx context.Context, name string, first []byte) (store.Object, int, error) {
	ask, err := s.ask(name)
	if err != nil {
		return store.Object{}, 0, err
	}
	o, n, err := s.client.Begin(ctx, name, first, ask)
	return o, n, explained(err)
}

// ReadAt implements [store.Store].
func (s *Store) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	ask, err := s.ask(o.Name)
	if err != nil {
		return err
	}
	return explained(s.client.Fill(ctx, o, p, at, ask))
}

// Objects implements [store.Store]: it yields the error that there is no listing.
func (s *Store) Objects(context.Context, string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		yield(store.Object{}, fmt.Errorf("%w: a web server has no listing: name each file in a list, or shards by braces, "+
			"as in %s://host/train-{000..099}.tar", store.ErrNoListing, s.scheme))
	}
}

// Unlisted implements [store.Unlisted].
func (*Store) Unlisted() {}

// ask returns how the file of a name is asked for.
func (s *Store) ask(name string) (steady.Ask, error) {
	u, err := url.Parse(s.scheme + "://" + name)
	var invalid url.EscapeError
	switch {
	case errors.As(err, &invalid):
		return steady.Ask{}, fmt.Errorf("%w: %q in a URL: write a percent sign as %%25", store.ErrName, string(invalid))
	case err != nil:
		return steady.Ask{}, fmt.Errorf("%w: it is not a URL: %w", store.ErrName, errors.Unwrap(err))
	case u.Hostname() == "":
		return steady.Ask{}, fmt.Errorf("%w: the URL has no host", store.ErrName)
	case u.User != nil:
		// Names are in recipes, states and batches.
		return steady.Ask{}, fmt.Errorf("%w: a URL must have no user and password: put them into ~/.netrc, as in "+
			"machine %s login … password …", store.ErrName, u.Hostname())
	case u.Fragment != "" || strings.HasSuffix(name, "#"):
		return steady.Ask{}, fmt.Errorf("%w: a # in a URL begins a fragment, which servers never see: write %%23", store.ErrName)
	}
	return steady.Ask{Host: u.Host, Request: func(ctx context.Context, header http.Header) (*http.Request, error) {
		r := (&http.Request{Method: http.MethodGet, URL: u, Header: header.Clone(), Host: u.Host,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
		r.Header.Set("User-Agent", "headrace")
		if user, password, ok := login(u.Hostname()); ok && s.scheme == "https" {
			r.SetBasicAuth(user, password)
		}
		return r, nil
	}}, nil
}

// explained adds to an answer that has no file, if something can be done about it.
func explained(err error) error {
	var r *steady.Refusal
	if !errors.As(err, &r) {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no file of this name", err)
	case r.Status == http.StatusProxyAuthRequired:
		return fmt.Errorf("%w: the proxy of HTTPS_PROXY or HTTP_PROXY wants a user and password in its URL", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: access is denied: put a user and password for the host into ~/.netrc, use a signed URL, "+
			"or give the names as s3:// if the files are in a bucket", err)
	}
	return err
}
