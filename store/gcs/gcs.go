package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/oauth2"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// Store has the objects of all buckets that one account may read.
type Store struct {
	begin  func() (*settings, error) // reads the environment when it is first needed
	client *steady.Client

	mu   sync.Mutex
	pays map[string]bool // buckets whose readers pay
}

func init() { store.Register("gs", New()) }

// New returns a store by the environment's settings.
func New() *Store {
	return &Store{begin: sync.OnceValues(read), client: steady.New(steady.Transport(), false), pays: map[string]bool{}}
}

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Object, error) {
	o, _, err := s.Begin(ctx, name, nil)
	return o, err
}

// Begin implements [store.Beginning].
func (s *Store) Begin(ctx context.Context, name string, first []byte) (o store.Object, n int, err error) {
	bucket, object, err := split(name)
	if err != nil {
		return o, 0, err
	}
	err = s.do(ctx, target{bucket, object, media(bucket, object), url.Values{"alt": {"media"}}}, nil, func(a steady.Ask) error {
		o, n, err = s.client.Begin(ctx, name, first, a)
		return err
	})
	return o, n, err
}

// ReadAt implements [store.Store].
func (s *Store) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	bucket, object, err := split(o.Name)
	if err != nil {
		return err
	}
	// A generation by itself would be read as long as the bucket has it, though old.
	query := url.Values{"alt": {"media"}}
	if o.Size > 0 {
		query.Set("ifGenerationMatch", o.Version)
	}
	return s.do(ctx, target{bucket, object, media(bucket, object), query}, nil, func(a steady.Ask) error {
		return s.client.Fill(ctx, o, p, at, a)
	})
}

// media is the path of an object's content.
func media(bucket, object string) string {
	return "/download/storage/v1/b/" + url.PathEscape(bucket) + "/o/" + url.PathEscape(object)
}

// Tell implements [store.Telling].
func (s *Store) Tell(ctx context.Context, name string) []store.Fact {
	set, err := s.begin()
	if err != nil {
		return []store.Fact{{Name: "settings", Says: err.Error()}}
	}
	_, from, err := set.by(ctx).get(ctx)
	if err != nil {
		from = err.Error()
	}
	return []store.Fact{{Name: "host", Says: set.host}, {Name: "credentials", Says: from}}
}

// page is an answer of a listing.
type page struct {
	NextPageToken string
	Items         []struct {
		Name, Generation string
		Size             int64 `json:",string"`
	}
}

// Objects implements [store.Store].
func (s *Store) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return s.ObjectsAfter(ctx, prefix, "")
}

// ObjectsAfter implements [store.Ranged].
func (s *Store) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		bucket, prefix, ok := strings.Cut(prefix, "/")
		if !ok || bucket == "" {
			yield(store.Object{}, fmt.Errorf("%w: name one bucket, as in gs://bucket/*", store.ErrName))
			return
		}

		query := url.Values{"fields": {"nextPageToken,items(name,size,generation)"}, "prefix": {prefix}}
		if after = strings.TrimPrefix(after, bucket+"/"); after != "" {
			query.Set("startOffset", after) // which comes, too
		}
		for {
			var p page
			path := "/storage/v1/b/" + url.PathEscape(bucket) + "/o"
			err := s.do(ctx, target{bucket, "", path, query}, nil, func(a steady.Ask) error {
				_, body, err := s.client.Page(ctx, a)
				if err == nil {
					err = json.Unmarshal(body, &p)
				}
				return err
			})
			if err != nil {
				yield(store.Object{}, err)
				return
			}

			for _, o := range p.Items {
				if strings.HasSuffix(o.Name, "/") || after != "" && o.Name == after {
					continue // a folder that another program has made
				}
				if !yield(store.Object{Name: bucket + "/" + o.Name, Size: o.Size, Version: steady.TagVersion(o.Generation, o.Size)}, nil) {
					return
				}
			}
			if p.NextPageToken == "" {
				return
			}
			query.Set("pageToken", p.NextPageToken)
		}
	}
}

// split returns the bucket and the object of a name.
func split(name string) (bucket, object string, err error) {
	bucket, object, _ = strings.Cut(name, "/")
	switch {
	case bucket == "":
		err = fmt.Errorf("%w: it has no bucket: must be gs://bucket/object", store.ErrName)
	case strings.ContainsAny(bucket, "@:?#%\\ "):
		err = fmt.Errorf("%w: %q is not a bucket: must be gs://bucket/object", store.ErrName, bucket)
	case object == "":
		err = fmt.Errorf("%w: it is a bucket", fs.ErrNotExist)
	}
	return bucket, object, err
}

// target is the subject of a request: an object, or a bucket if it has no name.
type target struct {
	bucket, object string
	path           string // which is encoded
	query          url.Values
}

// do makes a request, which is a read if w is nil, and makes it again if its answer says
// that readers pay, or that the token is not valid any more.
func (s *Store) do(ctx context.Context, t target, w *write, f func(steady.Ask) error) error {
	set, err := s.begin()
	if err != nil {
		return err
	}
	u, err := url.Parse(set.scheme + "://" + set.host + t.path)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrName, err)
	}
	for try := 0; ; try++ {
		u := *u
		all := url.Values{}
		for name, values := range t.query {
			all[name] = values
		}
		if s.payer(t.bucket) {
			all.Set("userProject", set.project)
		}
		u.RawQuery = all.Encode()
		token, from, err := set.by(ctx).get(ctx)
		if err != nil {
			return err
		}

		ask := steady.Ask{Host: set.host, Version: generation}
		ask.Request = func(ctx context.Context, header http.Header) (*http.Request, error) {
			token, _, err := set.by(ctx).get(ctx) // a long read may need a new one
			if err != nil {
				return nil, err
			}
			r := request(ctx, &u, header, token)
			w.prepare(r)
			return r, nil
		}
		err = f(ask)
		var r *steady.Refusal
		if !errors.As(err, &r) {
			return err
		}
		why := reasonOf(r)
		if try < 2 && s.mended(ctx, set, t.bucket, r, why, token) {
			continue
		}
		return explained(err, r, why, asked{t.bucket, t.object, set.project, from, w != nil})
	}
}

func request(ctx context.Context, u *url.URL, header http.Header, token *oauth2.Token) *http.Request {
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: header.Clone(), Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	r.Header.Set("User-Agent", "headrace")
	// Or objects that are stored as gzip come unpacked, and without ranges.
	r.Header.Set("Accept-Encoding", "gzip")
	if token != nil {
		token.SetAuthHeader(r)
	}
	return r
}

// by returns the identity for the reads of a context.
func (s *settings) by(ctx context.Context) *identity {
	i, ok := store.GiverOf(ctx, "gs", func(g *store.Giver) *identity { return &identity{giver: g, turn: steady.NewTurn()} })
	if ok {
		return i
	}
	return s.identity
}

// generation is the version of an object in an answer.
func generation(header http.Header, size int64) string {
	return steady.TagVersion(header.Get("X-Goog-Generation"), size)
}

// mended tells whether another try may succeed.
func (s *Store) mended(ctx context.Context, set *settings, bucket string, r *steady.Refusal, why reason, token *oauth2.Token) bool {
	switch {
	case why.isPaid() && set.project != "" && !s.payer(bucket):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pays[bucket] = true
		return true
	case r.Status == http.StatusUnauthorized:
		return set.by(ctx).renew(ctx, token)
	}
	return false
}

func (s *Store) payer(bucket string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pays[bucket]
}
