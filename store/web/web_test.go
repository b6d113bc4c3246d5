package web

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
	"github.com/headrace/headrace/store/storetest"
)

// serve starts a server, whose host it returns.
func serve(t *testing.T) (s *storetest.Server, host string) {
	s = &storetest.Server{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, strings.TrimPrefix(server.URL, "http://")
}

func fresh() *Store { return New("http", steady.New(steady.Transport(), true)) }

// below is a store of the files of one server, which lists those that it knows.
type below struct {
	*Store
	host  string
	known *storetest.Memory
}

func (b below) url(name string) string { return b.host + "/" + url.PathEscape(name) }

func (b below) Stat(ctx context.Context, name string) (store.Object, error) {
	o, err := b.Store.Stat(ctx, b.url(name))
	o.Name = name
	return o, err
}

func (b below) Begin(ctx context.Context, name string, first []byte) (store.Object, int, error) {
	o, n, err := b.Store.Begin(ctx, b.url(name), first)
	o.Name = name
	return o, n, err
}

func (b below) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	o.Name = b.url(o.Name)
	return b.Store.ReadAt(ctx, o, p, at)
}

func (b below) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o := range b.known.Objects(ctx, prefix) {
			if o, err := b.Stat(ctx, o.Name); !yield(o, err) {
				return
			}
		}
	}
}

func TestIsAStore(t *testing.T) {
	s, host := serve(t)
	storetest.Contract(t, below{fresh(), host, &s.Memory}, s.Set)
}

// TestNames are URLs: some characters may be as they are, and some must be written in
// another way.
func TestNames(t *testing.T) {
	s, host := serve(t)
	for name, object := range map[string]string{
		"a b.jpg":   "a b.jpg",
		"a%20b.jpg": "a b.jpg", "a+b.jpg": "a+b.jpg", "a%2Bb.jpg": "a+b.jpg", "ü.jpg": "ü.jpg", "%C3%BC.jpg": "ü.jpg",
		"../x": "../x", "a//b": "a//b", "q?x=1&y=a+b": "q", "%23": "#", "*[a]": "*[a]", "100%25": "100%", "a%2Fb": "a/b",
	} {
		s.Set(object, []byte(object))
		o, err := fresh().Stat(t.Context(), host+"/"+name)
		got := make([]byte, o.Size)
		if err == nil {
			err = fresh().ReadAt(t.Context(), o, got, 0)
		}
		if err != nil || string(got) != object {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	asked := s.Asked()
	if q := asked[len(asked)-1]; q.Header.Get("User-Agent") != "headrace" {
		t.Errorf("%+v", q)
	}
	for name, says := range map[string]string{
		"h/a%zz": "write a percent sign as %25", "h/a#b": "write %23", "h/a#": "write %23", "": "has no host", "/x": "has no host",
		"u:p@h/x": "put them into ~/.netrc, as in machine h", "h:port/x": "not a URL", "h/\x7f": "not a URL",
	} {
		_, err := fresh().Stat(t.Context(), name)
		if !errors.Is(err, store.ErrName) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestThroughPackageStore: URLs are names of files everywhere; patterns, and folders,
// have no listing.
func TestThroughPackageStore(t *testing.T) {
	s, host := serve(t)
	s.Set("a.jpg", []byte("content"))
	at := "http://" + host + "/a.jpg?signature=secret*"
	if got, err := store.Read(t.Context(), at, 0); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	table, err := store.List(t.Context(), "", at, nil)
	if err != nil || table.Len() != 1 || table.Path(0) != at {
		t.Errorf("%v, %v", table, err)
	}
	for _, pattern := range []string{"/*.jpg", "/", "/dir/"} {
		_, err := store.List(t.Context(), "", "http://"+host+pattern, []string{".jpg"})
		if !errors.Is(err, store.ErrNoListing) || !strings.Contains(err.Error(), "name each file") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	_, err = store.List(t.Context(), "", "http://"+host+"/none?signature=secret", nil)
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if folder, err := store.HasFolder(t.Context(), "http://"+host+"/dir"); folder || err != nil {
		t.Errorf("%v, %v", folder, err)
	}
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	if _, err := store.Read(t.Context(), at, 0); !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "~/.netrc, use a signed URL") {
		t.Error(err)
	}
	_, err = store.Put(t.Context(), at, nil, store.Condition{})
	if !errors.Is(err, store.ErrReadOnly) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestCertificates: one that nobody vouches for is an error at once, which says so.
func TestCertificates(t *testing.T) {
	s := &storetest.Server{}
	s.Set("x", []byte("x"))
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	defer server.Close()
	name := strings.TrimPrefix(server.URL, "https://") + "/x"
	_, err := New("https", steady.New(steady.Transport(), true)).Stat(t.Context(), name)
	if err == nil || !strings.Contains(err.Error(), "set SSL_CERT_FILE") || len(s.Asked()) != 0 {
		t.Error(err)
	}
	trusting := steady.Transport()
	trusting.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	if o, err := New("https", steady.New(trusting, true)).Stat(t.Context(), name); err != nil || o.Size != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestNetrc(t *testing.T) {
	got := parseNetrc("machine a login u password p\nmachine b\n  password q login v\ndefault login anonymous\nmacdef x\nmachine c")
	want := []machine{{"a", "u", "p"}, {"b", "v", "q"}, {"", "anonymous", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := parseNetrc("login x machine"); !slices.Equal(got, []machine{{}}) {
		t.Errorf("%+v", got)
	}
}

// BenchmarkGET112K is the CPU of reading 112 KB by one request, with that of a server in
// this process.
func BenchmarkGET112K(b *testing.B) {
	content := make([]byte, 112<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v"`)
		first, last := storetest.Range(r)
		storetest.Part(w, first, last, int64(len(content)), content[first:last+1])
	}))
	defer server.Close()
	s := fresh()
	o, err := s.Stat(b.Context(), strings.TrimPrefix(server.URL, "http://")+"/x")
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, len(content))
	for b.Loop() {
		if err := s.ReadAt(b.Context(), o, p, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAHostWithoutAName is told at once, however often it is asked for.
func TestAHostWithoutAName(t *testing.T) {
	s := fresh()
	since := time.Now()
	for range 3 {
		_, err := s.Stat(t.Context(), "nobody.invalid/x")
		if err == nil || !strings.Contains(err.Error(), "there is no host of this name") {
			t.Error(err)
		}
	}
	if took := time.Since(since); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
