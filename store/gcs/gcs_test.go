package gcs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// service speaks like Google Cloud Storage. What it is asked for in another way is an
// error of the test.
type service struct {
	t     *testing.T
	url   string
	pages int                                               // objects of a page
	fault func(w http.ResponseWriter, r *http.Request) bool // answers in its place

	storetest.Memory
	mu          sync.Mutex
	generations map[string]int64
	next        int64
	asked       []*http.Request
}

// serve starts one, and sets the environment for it, in which nothing else is.
func serve(t *testing.T) *service {
	t.Helper()
	for _, name := range []string{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT",
		"CLOUDSDK_AUTH_DISABLE_CREDENTIALS", "GCE_METADATA_HOST"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	s := &service{t: t, pages: 3, generations: map[string]int64{}, next: 1700000000000000}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(s.url, "http://"))
	return s
}

func (s *service) put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.generations[name] = s.next
	s.Set(name, content)
}

// open returns a store that has this service instead of Google's, with credentials.
func (s *service) open() *Store {
	s.t.Setenv("STORAGE_EMULATOR_HOST", "")
	m := New()
	m.begin = sync.OnceValues(func() (*settings, error) {
		set, err := read()
		if err == nil {
			set.scheme, set.host = "http", strings.TrimPrefix(s.url, "http://")
		}
		return set, err
	})
	return m
}

func refuse(w http.ResponseWriter, status int, reason, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"reason":%q}]}}`, status, message, reason)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	if s.fault != nil && s.fault(w, r) {
		return
	}
	q := r.URL.Query()
	if r.Method != http.MethodGet {
		s.change(w, r, q)
		return
	}
	if r.Header.Get("Accept-Encoding") != "gzip" || r.Header.Get("If-Match") != "" {
		s.t.Errorf("%s has the headers %v", r.URL, r.Header)
	}
	path := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i := range path {
		path[i], _ = url.PathUnescape(path[i])
	}
	switch {
	case len(path) == 5 && slices.Equal(path[:3], []string{"storage", "v1", "b"}) && path[4] == "o":
		s.list(w, q, path[3])
		return
	case len(path) == 6 && path[0] == "storage" && q.Get("fields") == "generation,size":
		s.tell(w, r, path[3]+"/"+path[5])
		return
	case len(path) != 7 || !slices.Equal(path[:4], []string{"download", "storage", "v1", "b"}) || path[5] != "o" || q.Get("alt") != "media":
		s.t.Errorf("%s is asked for", r.URL)
		return
	}
	name := path[4] + "/" + path[6]
	o, err := s.Memory.Stat(r.Context(), name)
	content := make([]byte, o.Size)
	if err == nil {
		err = s.Memory.ReadAt(r.Context(), o, content, 0)
	}
	has := fmt.Sprint(s.generations[name])
	switch wants := q.Get("ifGenerationMatch"); {
	case err != nil:
		w.WriteHeader(404)
		fmt.Fprintf(w, "No such object: %s", name)
	case wants != "" && wants != has:
		refuse(w, 412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
	default:
		w.Header().Set("X-Goog-Generation", has)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}
}

func (s *service) list(w http.ResponseWriter, q url.Values, bucket string) {
	if q.Get("fields") != "nextPageToken,items(name,size,generation)" {
		s.t.Errorf("the listing is asked for by %v", q)
	}
	type item struct {
		Name       string `json:"name"`
		Generation string `json:"generation"`
		Size       string `json:"size"`
	}
	var p struct {
		NextPageToken string `json:"nextPageToken,omitempty"`
		Items         []item `json:"items,omitempty"`
	}
	for o := range s.Memory.Objects(context.Background(), bucket+"/"+q.Get("prefix")) {
		name := strings.TrimPrefix(o.Name, bucket+"/")
		if name <= q.Get("pageToken") || name < q.Get("startOffset") {
			continue
		}
		if len(p.Items) == s.pages {
			p.NextPageToken = p.Items[s.pages-1].Name
			break
		}
		p.Items = append(p.Items, item{name, fmt.Sprint(s.generations[o.Name]), fmt.Sprint(o.Size)})
	}
	json.NewEncoder(w).Encode(p)
}

// inBucket is a store with names below one.
type inBucket struct {
	*Store
	root string
}

func (b inBucket) Stat(ctx context.Context, name string) (store.Object, error) {
	o, err := b.Store.Stat(ctx, b.root+name)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b inBucket) Begin(ctx context.Context, name string, first []byte) (store.Object, int, error) {
	o, n, err := b.Store.Begin(ctx, b.root+name, first)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, n, err
}

func (b inBucket) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	o.Name = b.root + o.Name
	return b.Store.ReadAt(ctx, o, p, at)
}

func (b inBucket) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return b.ObjectsAfter(ctx, prefix, "")
}

func (b inBucket) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range b.Store.ObjectsAfter(ctx, b.root+prefix, b.root+after) {
			o.Name = strings.TrimPrefix(o.Name, b.root)
			if !yield(o, err) {
				return
			}
		}
	}
}

func TestIsAStore(t *testing.T) {
	s := serve(t)
	storetest.Contract(t, inBucket{New(), "bucket/"}, func(name string, content []byte) { s.put("bucket/"+name, content) })
}

func TestNames(t *testing.T) {
	s := serve(t)
	m := New()
	for _, name := range []string{"b/a b", "b/a+b", "b/a%2Bb", "b/%", "b//y", "b/?x=1&y", "b/#", "b/ü\u00a0",
		"b/'\"<>", "b/*[a]{1..2}", "b/\\"} {
		s.put(name, []byte(name))
		o, err := m.Stat(t.Context(), name)
		got := make([]byte, o.Size)
		if err == nil {
			err = m.ReadAt(t.Context(), o, got, 0)
		}
		if err != nil || string(got) != name {
			t.Errorf("%q has %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "/x", "a@b/c", "b?/c"} {
		if _, err := m.Stat(t.Context(), name); !errors.Is(err, store.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := m.Stat(t.Context(), "b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := m.ReadAt(t.Context(), store.Object{Name: "b"}, nil, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, prefix := range []string{"b", ""} {
		for _, err := range m.Objects(t.Context(), prefix) {
			if !errors.Is(err, store.ErrName) {
				t.Error(err)
			}
		}
	}
}

// TestPacked: an object that is stored as gzip comes as it is stored.
func TestPacked(t *testing.T) {
	s := serve(t)
	s.put("b/x.gz", []byte("packed"))
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		return false
	}
	m := New()
	o, err := m.Stat(t.Context(), "b/x.gz")
	got := make([]byte, 3)
	if err == nil {
		err = m.ReadAt(t.Context(), o, got, 2)
	}
	if err != nil || string(got) != "cke" {
		t.Errorf("%+v, %q, %v", o, got, err)
	}
}

// TestRefusals: each says what is wrong, and what to do.
func TestRefusals(t *testing.T) {
	s := serve(t)
	for _, c := range []struct {
		status          int
		reason, message string
		is              error
		says            string
	}{
		{404, "notFound", "No such object: b/x", fs.ErrNotExist, "answers 404"},
		{404, "notFound", "The specified bucket does not exist.", fs.ErrNotExist, `there is no bucket "b": see its name`},
		{401, "required", "Anonymous caller does not have storage.objects.get access", fs.ErrPermission, "is denied without credentials"},
		{403, "forbidden", "no access", fs.ErrPermission, "is denied without credentials"},
		{400, "required", "Bucket is a requester pays bucket but no user project provided.", nil, "set GOOGLE_CLOUD_PROJECT"},
		{400, "invalid", "<html>", nil, "the service refuses the request"},
		{302, "", "", nil, "the service refuses the request"},
	} {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, c.status, c.reason, c.message)
			return true
		}
		_, err := New().Stat(t.Context(), "b/x")
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d %s: %v", c.status, c.message, err)
		}
		for _, err := range New().Objects(t.Context(), "b/") {
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the listing: %d %s: %v", c.status, c.message, err)
			}
		}
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, "nonsense"); return true }
	for _, err := range New().Objects(t.Context(), "b/") {
		if err == nil {
			t.Error("nonsense is a listing")
		}
	}
	for _, wrong := range []string{"ftp://h", "http://a:b@h", "http://h/x", "http://h?x"} {
		t.Setenv("STORAGE_EMULATOR_HOST", wrong)
		m := New()
		_, err := m.Stat(t.Context(), "b/x")
		text := fmt.Sprint(err, m.Tell(t.Context(), "b"))
		if !strings.Contains(text, "must be like http://host:port") || strings.Contains(text, "a:b") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestReadersPay: the project is said only to buckets that want one.
func TestReadersPay(t *testing.T) {
	s := serve(t)
	t.Setenv("GOOGLE_CLOUD_PROJECT", "mine")
	s.put("b/x", []byte("x"))
	s.put("free/x", []byte("x"))
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		isPaid := strings.Contains(r.URL.Path, "/b/b/") && r.URL.Query().Get("userProject") != "mine"
		if isPaid {
			refuse(w, 400, "required", "Bucket is a requester pays bucket but no user project provided.")
		}
		return isPaid
	}
	m := New()
	for _, name := range []string{"b/x", "b/x", "free/x"} {
		if _, err := m.Stat(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if len(s.asked) != 4 || s.asked[3].URL.Query().Get("userProject") != "" {
		t.Errorf("%d requests, the last %s", len(s.asked), s.asked[3].URL)
	}
}

// TestTokens: of a key, of the machine and of none, and again when they are refused.
func TestTokens(t *testing.T) {
	s := serve(t)
	s.put("b/x", []byte("x"))
	var given atomic.Int64
	life := 3600
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Metadata-Flavor", "Google")
		switch {
		case r.URL.Path == "/token" && r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
			t.Errorf("a token is asked for by %v", r.Form)
		case r.URL.Path == "/refused":
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
		case r.URL.Path == "/token", strings.HasSuffix(r.URL.Path, "/service-accounts/default/token"):
			fmt.Fprintf(w, `{"access_token":"token%d","token_type":"Bearer","expires_in":%d}`, given.Add(1), life)
		}
	}))
	defer tokens.Close()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
	at := filepath.Join(t.TempDir(), "key.json")
	write := func(kind, where string) {
		t.Helper()
		key, err := json.Marshal(map[string]string{"type": kind, "client_email": "me@example.org", "private_key": text, "token_uri": where})
		if err == nil {
			err = os.WriteFile(at, key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(m *Store, want string) {
		t.Helper()
		if _, err := m.Stat(t.Context(), "b/x"); err != nil {
			t.Error(err)
		}
		if got := s.asked[len(s.asked)-1].Header.Get("Authorization"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}

	write("service_account", tokens.URL+"/token")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", at)
	m := s.open()
	has(m, "Bearer token1")
	has(m, "Bearer token1")
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		isOld := r.Header.Get("Authorization") == "Bearer token1"
		if isOld {
			refuse(w, 401, "authError", "Invalid Credentials")
		}
		return isOld
	}
	has(m, "Bearer token2")
	if says := fmt.Sprint(m.Tell(t.Context(), "b")); !strings.Contains(says, "{credentials GOOGLE_APPLICATION_CREDENTIALS}") {
		t.Error(says)
	}

	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		refuse(w, 403, "forbidden", "me@example.org does not have storage.objects.get access")
		return true
	}
	if _, err := m.Stat(t.Context(), "b/x"); !errors.Is(err, fs.ErrPermission) ||
		!strings.Contains(err.Error(), "needs storage.objects.get") ||
		!strings.Contains(err.Error(), "me@example.org does not have") {
		t.Error(err)
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		refuse(w, 401, "authError", "Invalid Credentials")
		return true
	}
	if _, err := m.Stat(t.Context(), "b/x"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "the token is not valid") {
		t.Error(err)
	}

	// Keys that give nothing.
	s.fault = nil
	write("service_account", tokens.URL+"/refused")
	if _, err := s.open().Stat(t.Context(), "b/x"); err == nil || !strings.Contains(err.Error(), "invalid_grant Invalid JWT Signature.") {
		t.Error(err)
	}
	write("nonsense", "")
	if _, err := s.open().Stat(t.Context(), "b/x"); err == nil || !strings.Contains(err.Error(), "the credentials of GOOGLE_APPLICATION") {
		t.Error(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", at+".none")
	if _, err := s.open().Stat(t.Context(), "b/x"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "the file of GOOGLE_APPLICATION") {
		t.Error(err)
	}

	// The machine, by the host that knows it.
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(tokens.URL, "http://"))
	has(s.open(), fmt.Sprintf("Bearer token%d", given.Load()+1))
	t.Setenv("CLOUDSDK_AUTH_DISABLE_CREDENTIALS", "true")
	has(s.open(), "")
}

// source is a source of tokens that hangs, and then fails.
type source struct {
	hold  chan struct{}
	asked int
}

func (s *source) Token() (*oauth2.Token, error) {
	s.asked++
	<-s.hold
	return nil, errors.New("gone")
}

// TestWaitingForTokens: it ends with its reader, and one error is for all that wait.
func TestWaitingForTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, s := newIdentity(false, ""), &source{hold: make(chan struct{})}
		i.tokens = s
		var all sync.WaitGroup
		for range 128 {
			all.Go(func() {
				if _, _, err := i.get(t.Context()); err == nil || !strings.Contains(err.Error(), "gone") {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := i.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(s.hold)
		all.Wait()
		if s.asked != 1 {
			t.Errorf("%d of 128 readers have asked", s.asked)
		}
		time.Sleep(keepError)
		if i.get(t.Context()); s.asked != 2 {
			t.Error("it is not asked again")
		}
	})
}

// TestNoneIsLookedForAgain: credentials may come while a program runs.
func TestNoneIsLookedForAgain(t *testing.T) {
	serve(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/missing")
	synctest.Test(t, func(t *testing.T) {
		i := newIdentity(false, "")
		i.told(nil, nil)
		if token, _, err := i.get(t.Context()); token != nil || err != nil {
			t.Errorf("%v, %v", token, err)
		}
		time.Sleep(lookAgain)
		if _, _, err := i.get(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is not looked for again: %v", err)
		}
	})
}
