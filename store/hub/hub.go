package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
)

// Store has the files of all repositories and buckets that one account may read.
//
// A branch is the commit that it was when the store was first asked for it, so that runs
// read the same files to their end.
type Store struct {
	begin func() (*settings, error) // reads the environment when it is first needed
	hub   *steady.Client            // redirects are answers of the Hub
	rest  *steady.Client            // for where they lead

	mu       sync.Mutex // guards what is below
	commits  map[repo]string
	listings []*listing // the last used one is the last
	places   map[place]*found
}

func init() { store.Register("hf", New()) }

// New returns a store by the environment's settings.
func New() *Store {
	t := steady.Transport()
	return &Store{begin: sync.OnceValues(read), hub: steady.New(t, false), rest: steady.New(t, true),
		commits: map[repo]string{}, places: map[place]*found{}}
}

// Stat implements [store.Store].
func (s *Store) Stat(ctx context.Context, name string) (store.Object, error) {
	r, path, err := s.pinned(ctx, name)
	if err != nil {
		return store.Object{}, err
	}
	if f, known := s.listed(r, path); known {
		if f == nil {
			return store.Object{}, fmt.Errorf("%w in the %s", fs.ErrNotExist, r)
		}
		return store.Object{Name: name, Size: f.size, Version: f.version}, ctx.Err()
	}
	t, err := s.find(ctx, place{r, path}, r.kind == buckets, nil)
	return store.Object{Name: name, Size: t.size, Version: t.version}, err
}

// ReadAt implements [store.Store].
func (s *Store) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	r, path, err := s.pinned(ctx, o.Name)
	if err != nil {
		return err
	}
	set, err := s.begin()
	if err != nil {
		return err
	}
	var old *target
	again := false
	for {
		t, err := s.find(ctx, place{r, path}, again, old)
		switch {
		case err != nil:
			return err
		case t.version != o.Version && r.kind == buckets && !again: // it may be what was found that is old
			again = true
			continue
		case t.version != o.Version:
			return fmt.Errorf("%w: it had %d bytes, version %s, and has %d, version %s",
				store.ErrChanged, o.Size, o.Version, t.size, t.version)
		}
		c := s.rest
		if t.isHub {
			c = s.hub
		}
		err = c.Fill(ctx, o, p, at, t.asking(set))

		// Where a file is has an end, which may come before the time that was told.
		var refused *steady.Refusal
		isRefused := errors.As(err, &refused) && refused.Status/100 == 4 && refused.Status != http.StatusTooManyRequests
		switch {
		case !isRefused:
			return err
		case old != nil && t.isHub:
			return set.explained(err, r)
		case old != nil:
			return fmt.Errorf("%w, where the Hub has just sent us: see the clock of this machine, and proxies", err)
		}
		old = &t
	}
}

// Objects implements [store.Store].
func (s *Store) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		_, root, _, err := split(prefix)
		if err != nil {
			yield(store.Object{}, err)
			return
		}
		r, path, err := s.pinned(ctx, prefix)
		var files []file
		switch {
		case err == errIsNone:
			return
		case err == nil || err == errIsRoot:
			files, err = s.list(ctx, r, path[:strings.LastIndexByte(path, '/')+1])
		}
		if err != nil {
			yield(store.Object{}, err)
			return
		}

		at, _ := slices.BinarySearchFunc(files, path, func(f file, p string) int { return strings.Compare(f.path, p) })
		for _, f := range files[at:] {
			if !strings.HasPrefix(f.path, path) || !yield(store.Object{Name: root + f.path, Size: f.size, Version: f.version}, nil) {
				return
			}
		}
	}
}

// Tell implements [store.Telling].
func (s *Store) Tell(ctx context.Context, name string) []store.Fact {
	set, err := s.begin()
	if err != nil {
		return []store.Fact{{Name: "settings", Says: err.Error()}}
	}
	_, from := set.token()
	facts := []store.Fact{{Name: "host", Says: set.host}, {Name: "credentials", Says: from}}
	if r, _, err := s.pinned(ctx, name); (err == nil || err == errIsRoot) && r.kind != buckets {
		facts = append(facts, store.Fact{Name: "commit", Says: r.revision})
	}
	return facts
}

var (
	errIsRoot = fmt.Errorf("%w: it is a repository", fs.ErrNotExist)
	errIsNone = fmt.Errorf("%w: no file of a repository can have this name", fs.ErrNotExist)
)

// pinned returns the repository of a name at a commit, and the path there.
func (s *Store) pinned(ctx context.Context, name string) (repo, string, error) {
	r, _, path, err := split(name)
	if err != nil {
		return r, path, err
	}
	if r.kind != buckets && !commit.MatchString(r.revision) {
		if r.revision, err = s.commit(ctx, r); err != nil {
			return r, path, err
		}
	}
	folder := strings.TrimSuffix(path, "/")
	for part := range strings.SplitSeq(folder, "/") {
		if folder != "" && (part == "" || part == "." || part == "..") {
			return r, path, errIsNone
		}
	}
	if path == "" {
		return r, path, errIsRoot
	}
	return r, path, nil
}

// commit returns the commit of a branch or tag.
func (s *Store) commit(ctx context.Context, r repo) (string, error) {
	s.mu.Lock()
	sha := s.commits[r]
	s.mu.Unlock()
	if sha != "" {
		return sha, nil
	}
	body, _, err := s.page(ctx, r, r.api()+"/revision/"+url.PathEscape(r.revision), "expand=sha")
	if err != nil {
		return "", err
	}
	var info struct{ SHA string }
	if err := json.Unmarshal(body, &info); err != nil || !commit.MatchString(info.SHA) {
		return "", fmt.Errorf("hub: the answer about the %s has no commit", r)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.commits[r]; before != "" { // another one has asked meanwhile
		return before, nil
	}
	s.commits[r] = info.SHA
	return info.SHA, nil
}

// page reads an answer of the API.
func (s *Store) page(ctx context.Context, r repo, path, query string) ([]byte, http.Header, error) {
	set, err := s.begin()
	if err != nil {
		return nil, nil, err
	}
	u, err := set.url(path)
	if err != nil {
		return nil, nil, err
	}
	u.RawQuery = query
	for range mostHops { // of repositories that have another name now
		header, body, err := s.hub.Page(ctx, set.asking(u, ""))
		to, ok := redirected(u, err)
		if !ok || to.Host != u.Host || to.Scheme != u.Scheme {
			return body, header, set.explained(err, r)
		}
		u = to
	}
	return nil, nil, tooManyHops(u)
}

// redirected returns the address to which an answer redirects.
func redirected(from *url.URL, err error) (to *url.URL, ok bool) {
	var r *steady.Refusal
	if !errors.As(err, &r) || r.Status/100 != 3 || r.Header.Get("Location") == "" {
		return nil, false
	}
	to, err = from.Parse(r.Header.Get("Location"))
	return to, err == nil
}

func tooManyHops(at *url.URL) error {
	return fmt.Errorf("hub: %s redirects more than %d times", at.Host, mostHops)
}

// url returns the address of a path that is encoded.
func (s *settings) url(path string) (*url.URL, error) {
	return url.Parse(s.scheme + "://" + s.host + s.base + path)
}

// asking asks the Hub for something, as the user.
func (s *settings) asking(u *url.URL, span string) steady.Ask {
	return steady.Ask{Host: u.Host, Request: func(ctx context.Context, header http.Header) (*http.Request, error) {
		r := request(ctx, u, header)
		if token, _ := s.token(); token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if span != "" {
			r.Header.Set("Range", span)
		}
		return r, nil
	}}
}

func request(ctx context.Context, u *url.URL, header http.Header) *http.Request {
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: header.Clone(), Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	r.Header.Set("User-Agent", "headrace")
	return r
}
