package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// Store has the objects of all buckets that one account may read.
type Store struct {
	begin  func() (*settings, error) // reads the environment when it is first needed
	client func() (*steady.Client, error)
	sizes

	mu      sync.Mutex
	regions map[string]string // of buckets that are not in the region of the settings
}

func init() { store.Register("s3", New()) }

// New returns a store by the environment's settings.
func New() *Store {
	s := &Store{begin: sync.OnceValues(read), sizes: sizes{64 << 20, 16 << 20}, regions: map[string]string{}}
	s.client = sync.OnceValues(func() (*steady.Client, error) {
		set, err := s.begin()
		if err != nil {
			return nil, err
		}
		t := steady.Transport()
		if err := set.trust(t); err != nil {
			return nil, err
		}
		return steady.New(t, false), nil // a redirect is signed again: see mended
	})
	return s
}

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Object, error) {
	o, _, err := s.Begin(ctx, name, nil)
	return o, err
}

// Begin implements [store.Beginning].
func (s *Store) Begin(ctx context.Context, name string, first []byte) (o store.Object, n int, err error) {
	bucket, key, err := split(name)
	if err != nil {
		return o, 0, err
	}
	err = s.do(ctx, target{bucket, key, ""}, nil, func(c *steady.Client, a steady.Ask) error {
		o, n, err = c.Begin(ctx, name, first, a)
		return err
	})
	return o, n, err
}

// ReadAt implements [store.Store].
func (s *Store) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	bucket, key, err := split(o.Name)
	if err != nil {
		return err
	}
	return s.do(ctx, target{bucket, key, ""}, nil, func(c *steady.Client, a steady.Ask) error { return c.Fill(ctx, o, p, at, a) })
}

// Tell implements [store.Telling].
func (s *Store) Tell(ctx context.Context, name string) []store.Fact {
	set, err := s.begin()
	if err != nil {
		return []store.Fact{{Name: "settings", Says: err.Error()}}
	}
	bucket, _, _ := strings.Cut(name, "/")
	region := s.region(set, bucket)
	host, _ := set.address(bucket, region)
	facts := []store.Fact{{Name: "host", Says: host}, {Name: "region", Says: region}}
	_, from, err := set.by(ctx).get(ctx)
	if err != nil {
		from = err.Error()
	}
	return append(facts, store.Fact{Name: "credentials", Says: from})
}

// Objects implements [store.Store].
func (s *Store) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return s.ObjectsAfter(ctx, prefix, "")
}

// ObjectsAfter implements [store.Ranged]. Directory buckets list in no order, and from no
// name on.
func (s *Store) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		bucket, prefix, ok := strings.Cut(prefix, "/")
		if !ok {
			yield(store.Object{}, fmt.Errorf("%w: name one bucket, as in s3://bucket/*", store.ErrName))
			return
		}
		after := strings.TrimPrefix(after, bucket+"/")
		for p := (page{}); ; {
			if err := s.page(ctx, bucket, prefix, after, &p); err != nil {
				yield(store.Object{}, err)
				return
			}
			for _, o := range p.objects(bucket) {
				if !yield(o, nil) {
					return
				}
			}
			if !p.IsTruncated || p.NextContinuationToken == "" {
				return
			}
		}
	}
}

// split returns the bucket and the key of a name.
func split(name string) (bucket, key string, err error) {
	bucket, key, _ = strings.Cut(name, "/")
	switch {
	case bucket == "":
		err = fmt.Errorf("%w: it has no bucket: must be s3://bucket/key", store.ErrName)
	case strings.ContainsAny(bucket, "@:?#%\\ "):
		err = fmt.Errorf("%w: %q is not a bucket: must be s3://bucket/key, and credentials are elsewhere", store.ErrName, bucket)
	case key == "":
		err = fmt.Errorf("%w: it is a bucket", fs.ErrNotExist)
	}
	return bucket, key, err
}

// target is the subject of a request: an object, or a bucket if there is no key.
type target struct{ bucket, key, query string }

// do makes a request, which is a read if w is nil, and makes it again if its answer names
// another region, or the credentials have expired.
func (s *Store) do(ctx context.Context, t target, w *write, f func(*steady.Client, steady.Ask) error) error {
	bucket, key := t.bucket, t.key
	set, err := s.begin()
	if err != nil {
		return err
	}
	c, err := s.client()
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		who, from, err := set.by(ctx).get(ctx)
		if err != nil {
			return err
		}

		// The host belongs to the region, so both are found again for each try.
		region := s.region(set, bucket)
		host, path := set.address(bucket, region)
		path += encode(key, true)
		err = f(c, steady.Ask{Host: host, Request: func(ctx context.Context, header http.Header) (*http.Request, error) {
			who, _, err := set.by(ctx).get(ctx) // a long read may need new ones
			if err != nil {
				return nil, err
			}
			plain, _ := url.PathUnescape(path)
			r := (&http.Request{Method: http.MethodGet, Host: host, Header: header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
				URL: &url.URL{Scheme: set.scheme, Host: host, Path: plain, RawPath: path, RawQuery: t.query}}).WithContext(ctx)
			r.Header.Set("User-Agent", "headrace")
			w.prepare(r)
			if set.payer != "" {
				r.Header.Set("X-Amz-Request-Payer", set.payer)
			}
			if who.AccessKeyID != "" {
				sign(r, path, who, region, time.Now())
			}
			return r, nil
		}})

		var r *steady.Refusal
		if !errors.As(err, &r) {
			return err
		}
		why := reasonOf(r)
		if try < 2 && s.mended(ctx, set, bucket, region, who.AccessKeyID, why) {
			continue
		}
		return explained(err, r, why, asked{bucket, key, host, region, from, w != nil})
	}
}

// mended tells whether another try may succeed: the answer names the region of the
// bucket, or the credentials have expired, and there may be new ones.
func (s *Store) mended(ctx context.Context, set *settings, bucket, region, key string, why reason) bool {
	switch {
	case why.region != "" && why.region != region:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.regions[bucket] = why.region
		return true
	case why.Code == "ExpiredToken" || why.Code == "TokenRefreshRequired":
		return set.by(ctx).renew(ctx, key)
	}
	return false
}

func (s *Store) region(set *settings, bucket string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.regions[bucket]; r != "" {
		return r
	}
	return set.region
}
