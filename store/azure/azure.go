package azure

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// Store has the blobs of all accounts that one identity may read, with names of one
// scheme.
type Store struct {
	scheme string
	begin  func() (*settings, error) // reads the environment when it is first needed
	client *steady.Client
}

func init() {
	begin, client := sync.OnceValues(read), steady.New(steady.Transport(), false)
	for _, scheme := range []string{"az", "abfs", "abfss"} {
		store.Register(scheme, &Store{scheme, begin, client})
	}
}

// New returns the store of a scheme, by the environment's settings.
func New(scheme string) *Store {
	return &Store{scheme, sync.OnceValues(read), steady.New(steady.Transport(), false)}
}

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Object, error) {
	o, _, err := s.Begin(ctx, name, nil)
	return o, err
}

// Begin implements [store.Beginning].
func (s *Store) Begin(ctx context.Context, name string, first []byte) (o store.Object, n int, err error) {
	set, b, err := s.blob(name)
	if err != nil {
		return o, 0, err
	}
	err = s.do(ctx, set, b, nil, nil, func(a steady.Ask) error {
		o, n, err = s.client.Begin(ctx, name, first, a)
		return err
	})
	return o, n, err
}

// ReadAt implements [store.Store].
func (s *Store) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	set, b, err := s.blob(o.Name)
	if err != nil {
		return err
	}
	return s.do(ctx, set, b, nil, nil, func(a steady.Ask) error { return s.client.Fill(ctx, o, p, at, a) })
}

// Tell implements [store.Telling].
func (s *Store) Tell(ctx context.Context, name string) []store.Fact {
	set, err := s.begin()
	var b blob
	if err == nil {
		b, err = set.split(s.scheme, name)
	}
	if err != nil {
		return []store.Fact{{Name: "settings", Says: err.Error()}}
	}
	_, host, _ := set.address(b)
	who, err := set.credentials(ctx, b)
	if err != nil {
		who.from = err.Error()
	}
	return []store.Fact{{Name: "host", Says: host}, {Name: "credentials", Says: who.from}}
}

// page is an answer of a listing.
type page struct {
	NextMarker string
	Blobs      struct {
		Blob []struct {
			Name struct {
				Encoded bool   `xml:",attr"`
				Text    string `xml:",chardata"`
			}
			Properties struct {
				Size int64  `xml:"Content-Length"`
				Etag string // without quotes
				Kind string `xml:"ResourceType"` // of accounts with folders
			}
		}
	}
}

const folder = "directory"

// Objects implements [store.Store].
func (s *Store) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return s.ObjectsAfter(ctx, prefix, "")
}

// ObjectsAfter implements [store.Ranged]. Accounts with folders list the names of each
// folder together, which is another order than that of their bytes.
func (s *Store) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		set, b, err := s.blob(prefix)
		if err == errIsContainer && strings.HasSuffix(prefix, "/") {
			err = nil
		} else if err == errIsContainer {
			err = fmt.Errorf("%w: name one container, as in az://container/*", store.ErrName)
		}
		root := strings.TrimSuffix(prefix, b.name)
		query := url.Values{"restype": {"container"}, "comp": {"list"}}
		if b.name != "" {
			query.Set("prefix", b.name)
		}
		if after = strings.TrimPrefix(after, root); after != "" {
			query.Set(startFrom, after) // which comes, too
		}
		b.name = ""

		for {
			var p page
			if err == nil {
				p, err = s.page(ctx, set, b, query)
			}
			if err != nil {
				yield(store.Object{}, err)
				return
			}

			for _, one := range p.Blobs.Blob {
				name := one.Name.Text
				if one.Properties.Kind == folder || strings.HasSuffix(name, "/") || after != "" && name == after {
					continue
				}
				o := store.Object{Name: root + name, Size: one.Properties.Size}
				o.Version = steady.TagVersion(one.Properties.Etag, o.Size)
				if !yield(o, nil) {
					return
				}
			}
			if p.NextMarker == "" {
				return
			}
			query.Set("marker", p.NextMarker)
		}
	}
}

// startFrom is the parameter of a listing that begins at a name. Services that are older
// refuse its version.
const (
	startFrom    = "startFrom"
	startVersion = "2026-02-06"
)

func (s *Store) page(ctx context.Context, set *settings, b blob, query url.Values) (p page, err error) {
	err = s.do(ctx, set, b, query, nil, func(a steady.Ask) error {
		_, body, err := s.client.Page(ctx, a)
		if err == nil {
			err = xml.Unmarshal(body, &p)
		}
		return err
	})
	var r *steady.Refusal
	if query.Has(startFrom) && errors.As(err, &r) && r.Status == http.StatusBadRequest {
		err = fmt.Errorf("%w: %w", store.ErrUnordered, err)
	}
	for i := range p.Blobs.Blob {
		// XML cannot have all characters of names.
		if name := &p.Blobs.Blob[i].Name; name.Encoded && err == nil {
			if name.Text, err = url.PathUnescape(name.Text); err != nil {
				err = fmt.Errorf("azure: the listing of %s has a name that is not encoded: %w", b.container, err)
			}
		}
	}
	return p, err
}

var errIsContainer = fmt.Errorf("%w: it is a container", fs.ErrNotExist)

// blob returns the settings and the blob of a name.
func (s *Store) blob(name string) (*settings, blob, error) {
	set, err := s.begin()
	if err != nil {
		return nil, blob{}, err
	}
	b, err := set.split(s.scheme, name)
	if err == nil && b.name == "" {
		err = errIsContainer
	}
	return set, b, err
}

// credentials allow a request.
type credentials struct {
	key   []byte
	sas   string
	token string
	from  string // for messages
}

// credentials returns those for a blob: a key or SAS of its account, or a token.
func (s *settings) credentials(ctx context.Context, b blob) (c credentials, err error) {
	scheme, host, _ := s.address(b)
	given, isGiven := store.GiverOf(ctx, "az", newGiven)
	switch {
	case isGiven && (scheme == "https" || isHere(host)):
		c.token, c.from, err = given.get(ctx)
		return c, err
	case len(s.key) > 0 && s.isOurs(b):
		return credentials{key: s.key, from: s.from}, nil
	case s.sas != "" && s.isOurs(b):
		if err := s.mayHaveSAS(host); err != nil {
			return c, err
		}
		return credentials{sas: s.sas, from: s.from}, nil
	case scheme == "http" && !isHere(host):
		return credentials{from: "none: tokens are not sent by http://"}, nil
	}
	c.token, c.from, err = s.identity.get(ctx)
	return c, err
}

// by returns the identity for the reads of a context.
func (s *settings) by(ctx context.Context) *identity {
	if i, ok := store.GiverOf(ctx, "az", newGiven); ok {
		return i
	}
	return s.identity
}

func isHere(host string) bool {
	name, _, err := net.SplitHostPort(host)
	ip := net.ParseIP(name)
	return err == nil && (name == "localhost" || ip != nil && ip.IsLoopback())
}

// do makes a request about a blob, or a container if it has no name: a read if w is nil.
// It makes it again if the token has expired.
func (s *Store) do(ctx context.Context, set *settings, b blob, query url.Values, w *write, f func(steady.Ask) error) error {
	scheme, host, path := set.address(b)
	if b.name != "" {
		path += "/" + encode(b.name)
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrName, err)
	}

	for try := 0; ; try++ {
		who, err := set.credentials(ctx, b)
		if err != nil {
			return err
		}
		ask := steady.Ask{Host: host}
		ask.Request = func(ctx context.Context, header http.Header) (*http.Request, error) {
			who, err := set.credentials(ctx, b) // a long read may need a new one
			if err != nil {
				return nil, err
			}
			u := &url.URL{Scheme: scheme, Host: host, Path: plain, RawPath: path, RawQuery: query.Encode()}
			r := request(ctx, u, header)
			if query.Has(startFrom) {
				r.Header.Set("X-Ms-Version", startVersion)
			}
			w.prepare(r)
			who.allow(r, b.account)
			return r, nil
		}
		err = f(ask)

		var r *steady.Refusal
		switch {
		case errors.Is(err, steady.ErrNoHost) && (set.endpoint == "" || !set.isOurs(b)):
			return fmt.Errorf("there is no storage account %q: see AZURE_STORAGE_ACCOUNT, or the name (%w)", b.account, err)
		case !errors.As(err, &r):
			return err
		}
		code := r.Header.Get("X-Ms-Error-Code")
		isOld := code == "InvalidAuthenticationInfo" || code == "AuthenticationFailed"
		if try == 0 && isOld && set.by(ctx).renew(ctx, who.token) {
			continue
		}
		return explained(err, r, code, asked{b, host, who.from, w != nil})
	}
}

// apiVersion is of the requests: listings of this one encode names that XML cannot have.
const apiVersion = "2021-12-02"

func request(ctx context.Context, u *url.URL, header http.Header) *http.Request {
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: header.Clone(), Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	r.Header.Set("User-Agent", "headrace")
	r.Header.Set("X-Ms-Version", apiVersion)
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	return r
}

// allow adds the credentials to a request.
func (c credentials) allow(r *http.Request, account string) {
	u := r.URL
	switch {
	case len(c.key) > 0:
		sign(r, account, c.key)
	case c.sas != "" && u.RawQuery != "":
		u.RawQuery += "&" + c.sas
	case c.sas != "":
		u.RawQuery = c.sas
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
}
