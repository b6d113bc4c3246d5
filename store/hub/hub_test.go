package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

const secret = "hf_s3cr3t"

// service speaks like the Hub, for one dataset o/n and one bucket o/n, and like the host
// of its large files. What it is asked for in another way is an error of the test.
type service struct {
	t     *testing.T
	url   string
	fault func(w http.ResponseWriter, r *http.Request) bool // of the Hub
	pages int                                               // entries of a page
	life  time.Duration                                     // of redirects
	small int                                               // bytes of files that the Hub sends by itself
	asked atomic.Int64                                      // of the Hub

	rest    storetest.Server // large files, by their hashes
	restURL string

	mu      sync.Mutex
	commits []map[string][]byte
	bucket  map[string][]byte
}

// serve starts one, and sets the environment for it, in which nothing else is.
func serve(t *testing.T) *service {
	t.Helper()
	for _, name := range os.Environ() {
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "HF_") || strings.HasPrefix(name, "HUGGING_FACE_") {
			t.Setenv(name, "")
		}
	}
	s := &service{t: t, pages: 3, life: time.Hour, small: 1000, commits: []map[string][]byte{{}}, bucket: map[string][]byte{}}
	hub, rest := httptest.NewServer(http.HandlerFunc(s.serve)), httptest.NewServer(http.HandlerFunc(s.serveRest))
	t.Cleanup(hub.Close)
	t.Cleanup(rest.Close)
	s.url, s.restURL = hub.URL, strings.Replace(rest.URL, "127.0.0.1", "localhost", 1)
	for name, value := range map[string]string{"HOME": t.TempDir(), "XDG_CACHE_HOME": "", "HF_ENDPOINT": s.url, "HF_TOKEN": secret} {
		t.Setenv(name, value)
	}
	return s
}

// put commits a file.
func (s *service) put(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.commits[len(s.commits)-1])
	next[name] = content
	s.commits = append(s.commits, next)
}

func (s *service) putInBucket(name string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bucket[name] = content
}

// sha is the commit of a number, and at the other way round.
func sha(n int) string { return fmt.Sprintf("%040x", n) }

func (s *service) at(revision string) (map[string][]byte, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision == "main" || revision == "refs/convert/parquet" {
		revision = sha(len(s.commits) - 1)
	}
	if n, err := strconv.ParseInt(revision, 16, 32); err == nil && int(n) < len(s.commits) {
		return s.commits[n], revision
	}
	return nil, ""
}

func oid(content []byte, small int) string {
	if len(content) > small {
		sum := sha256.Sum256(content)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(content)
	return hex.EncodeToString(sum[:])
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Error-Code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q}`, code)
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	if got := r.Header.Get("Authorization"); got != "Bearer "+secret && s.fault == nil {
		s.t.Errorf("%s is asked for with %q", r.URL, got)
	}
	if s.fault != nil && s.fault(w, r) {
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	is := func(prefix string) bool {
		return strings.HasPrefix(strings.Join(parts, "\x00"), strings.ReplaceAll(prefix, "/", "\x00"))
	}
	switch {
	case is("api/datasets/o/n/revision/"):
		if _, now := s.at(parts[5]); now == "" || r.URL.RawQuery != "expand=sha" {
			refuse(w, 404, "RevisionNotFound")
		} else {
			fmt.Fprintf(w, `{"_id":"x","id":"o/n","sha":%q}`, now)
		}
	case is("api/datasets/o/n/tree/"):
		files, _ := s.at(parts[5])
		s.tree(w, r, files, strings.Join(parts[6:], "/"), false)
	case is("api/buckets/o/n/tree"):
		s.mu.Lock()
		files := maps.Clone(s.bucket)
		s.mu.Unlock()
		s.tree(w, r, files, strings.Join(parts[5:], "/"), true)
	case is("datasets/o/n/resolve/"):
		files, now := s.at(parts[4])
		s.resolve(w, r, files, now, strings.Join(parts[5:], "/"))
	case is("api/datasets/old/n/"), is("datasets/old/n/"):
		w.Header().Set("Location", strings.Replace(r.URL.RequestURI(), "/old/", "/o/", 1))
		w.WriteHeader(http.StatusTemporaryRedirect)
	case is("api/resolve-cache/datasets/o/n/"):
		files, _ := s.at(parts[5])
		content := files[strings.Join(parts[6:], "/")]
		w.Header().Set("ETag", `W/"`+oid(content, s.small)+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	case is("buckets/o/n/resolve/"):
		s.mu.Lock()
		content, ok := s.bucket[parts[4]]
		s.mu.Unlock()
		if !ok {
			refuse(w, 404, "EntryNotFound")
			return
		}
		w.Header().Set("X-Xet-Hash", oid(content, 0))
		if len(content) <= s.small {
			w.Header().Set("ETag", `"other"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
			return
		}
		s.redirect(w, content)
	default:
		refuse(w, 401, "RepoNotFound")
	}
}

// tree answers with folders first, as the Hub does.
func (s *service) tree(w http.ResponseWriter, r *http.Request, files map[string][]byte, folder string, inBucket bool) {
	type lfs struct {
		OID         string `json:"oid"`
		Size        int    `json:"size"`
		PointerSize int    `json:"pointerSize"`
	}
	type entry struct {
		Type    string `json:"type"`
		OID     string `json:"oid,omitempty"`
		XetHash string `json:"xetHash,omitempty"`
		Size    int    `json:"size"`
		Path    string `json:"path"`
		LFS     *lfs   `json:"lfs,omitempty"`
	}
	folders, entries := map[string]bool{}, []entry{}
	for name, content := range files {
		if folder != "" && !strings.HasPrefix(name, folder+"/") {
			continue
		}
		for at := path.Dir(name); at != "." && at != folder; at = path.Dir(at) {
			folders[at] = true
		}
		e := entry{Type: "file", Path: name, Size: len(content), OID: oid(content, s.small)}
		switch {
		case inBucket:
			e.OID, e.XetHash = "", oid(content, 0)
		case len(content) > s.small:
			e.LFS, e.OID = &lfs{OID: e.OID, Size: len(content)}, "pointer"
		}
		entries = append(entries, e)
	}
	for name := range folders {
		entries = append(entries, entry{Type: "directory", Path: name, OID: "folder"})
	}
	if len(entries) == 0 && folder != "" && !inBucket {
		refuse(w, 404, "EntryNotFound")
		return
	}
	if r.URL.Query().Get("recursive") != "true" {
		entries = slices.DeleteFunc(entries, func(e entry) bool {
			return strings.Contains(strings.TrimPrefix(e.Path, strings.TrimSuffix(folder+"/", "/")+"/"), "/")
		})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Type+a.Path, b.Type+b.Path) })
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+s.pages, len(entries))
	if to < len(entries) {
		q := r.URL.Query()
		q.Set("cursor", strconv.Itoa(to))
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>; rel="next"`, s.url, r.URL.EscapedPath(), q.Encode()))
	}
	json.NewEncoder(w).Encode(entries[from:to])
}

func (s *service) resolve(w http.ResponseWriter, r *http.Request, files map[string][]byte, now, name string) {
	content, ok := files[name]
	switch {
	case now == "":
		refuse(w, 404, "RevisionNotFound")
	case !ok:
		refuse(w, 404, "EntryNotFound")
	case len(content) > s.small:
		w.Header().Set("X-Linked-Etag", `"`+oid(content, s.small)+`"`)
		w.Header().Set("X-Repo-Commit", now)
		s.redirect(w, content)
	default:
		w.Header().Set("Location", "/api/resolve-cache/datasets/o/n/"+now+"/"+url.PathEscape(name)+"?etag=x")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

func (s *service) redirect(w http.ResponseWriter, content []byte) {
	hash := oid(content, 0)
	s.rest.Set(hash, content)
	w.Header().Set("X-Linked-Size", strconv.Itoa(len(content)))
	w.Header().Set("Location", fmt.Sprintf("%s/%s?Expires=%d", s.restURL, hash, time.Now().Add(s.life).Unix()))
	w.WriteHeader(http.StatusFound)
}

func (s *service) serveRest(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" || r.Header.Get("If-Match") != "" {
		s.t.Errorf("the host of large files gets %v", r.Header)
	}
	if expires, _ := strconv.ParseInt(r.URL.Query().Get("Expires"), 10, 64); expires < time.Now().Unix() {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.rest.ServeHTTP(w, r)
}

// below is a store of names below a prefix.
type below struct {
	at   func() *Store
	root string
}

func (b below) Stat(ctx context.Context, name string) (store.Object, error) {
	o, err := b.at().Stat(ctx, b.root+name)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b below) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	o.Name = b.root + o.Name
	return b.at().ReadAt(ctx, o, p, at)
}

func (b below) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range b.at().Objects(ctx, b.root+prefix) {
			o.Name = strings.TrimPrefix(o.Name, b.root)
			if !yield(o, err) {
				return
			}
		}
	}
}

// TestIsAStore: a commit never changes, so each change is seen by another store.
func TestIsAStore(t *testing.T) {
	s := serve(t)
	var now atomic.Pointer[Store]
	now.Store(New())
	storetest.Contract(t, below{now.Load, "datasets/o/n/"}, func(name string, content []byte) {
		s.put(name, content)
		now.Store(New())
	})
}

func TestBucketsAreAStore(t *testing.T) {
	s := serve(t)
	m := New()
	storetest.Contract(t, below{func() *Store { return m }, "buckets/o/n/"}, s.putInBucket)
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"datasets/o/n/a/b.jpg":                    "datasets o/n main datasets/o/n/ a/b.jpg",
		"datasets/o/n":                            "datasets o/n main datasets/o/n/ ",
		"datasets/o/n/":                           "datasets o/n main datasets/o/n/ ",
		"datasets/o/n@v1.0/x":                     "datasets o/n v1.0 datasets/o/n@v1.0/ x",
		"datasets/o/n@v1":                         "datasets o/n v1 datasets/o/n@v1/ ",
		"datasets/o/n@refs/convert/parquet/d/0.p": "datasets o/n refs/convert/parquet datasets/o/n@refs/convert/parquet/ d/0.p",
		"datasets/o/n@refs/pr/12":                 "datasets o/n refs/pr/12 datasets/o/n@refs/pr/12/ ",
		"datasets/o/n@a%2Fb/x":                    "datasets o/n a/b datasets/o/n@a%2Fb/ x",
		"datasets/o/n/x@1.jpg":                    "datasets o/n main datasets/o/n/ x@1.jpg",
		"spaces/o/n/x":                            "spaces o/n main spaces/o/n/ x",
		"o/n/x":                                   "models o/n main o/n/ x",
		"models/o/n/x":                            "models o/n main models/o/n/ x",
		"buckets/o/n/x/y":                         "buckets o/n  buckets/o/n/ x/y",
	} {
		r, root, path, err := split(name)
		if got := strings.Join([]string{r.kind, r.id, r.revision, root, path}, " "); got != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, says := range map[string]string{
		"": "as in hf://datasets/owner/name", "squad": "name one repository", "datasets/squad": "name one repository",
		"datasets/o/*": "name one repository", "dataset/o/n/x": "write hf://datasets/o/n/x", "buckets/o": "as in hf://buckets/owner/name",
		"datasets/o/n@/x": "a branch, a tag or a commit", "buckets/o/n@main/x": "buckets have none", "datasets/o/n@%zz/x": "a branch",
	} {
		if _, _, _, err := split(name); !errors.Is(err, store.ErrName) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for want, r := range map[string]repo{
		"/o/n/resolve/main/a/b%20c":                   {models, "o/n", "main"},
		"/datasets/o/n/resolve/refs%2Fpr%2F1/a/b%20c": {"datasets", "o/n", "refs/pr/1"},
		"/buckets/o/n/resolve/a%2Fb%20c":              {buckets, "o/n", ""},
	} {
		if got := r.file("a/b c"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRequests: a set of n files costs n and some requests of the Hub, however often it
// is read.
func TestRequests(t *testing.T) {
	s := serve(t)
	s.pages = 1000
	const n = 2500
	files := map[string][]byte{}
	for i := range n {
		files[fmt.Sprintf("d%d/%04d", i%3, i)] = bytes.Repeat([]byte{byte(i)}, 1001)
	}
	s.commits = append(s.commits, files)
	m := New()
	all := func() (found []store.Object) {
		for o, err := range m.Objects(t.Context(), "datasets/o/n/") {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, o)
		}
		return found
	}
	found := all()
	if again := all(); len(found) != n || !slices.Equal(found, again) {
		t.Errorf("%d files, and then %d", len(found), len(again))
	}
	for _, o := range found {
		if now, err := m.Stat(t.Context(), o.Name); err != nil || now != o {
			t.Fatalf("%+v, %v, listed as %+v", now, err, o)
		}
	}
	const listed = 1 + 2 + 3 // the commit, two pages of all, and one of each folder
	if got := s.asked.Load(); got != listed {
		t.Errorf("%d requests for a listing of 2,500 files", got)
	}
	const hedged = 600 * 3 / 100 // a slow machine is late
	for range 2 {
		var wait sync.WaitGroup
		for _, o := range found[:100] {
			for range 3 {
				wait.Go(func() {
					if err := m.ReadAt(t.Context(), o, make([]byte, 10), 20); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wait.Wait()
	}
	if got := s.asked.Load() - listed; got < 100 || got > 100+hedged {
		t.Errorf("%d requests for 100 of these files", got)
	}
}

// TestFoldersAreListedAtOnce, if they are few, and each file once.
func TestFoldersAreListedAtOnce(t *testing.T) {
	for folders, want := range map[int]int64{20: 1 + 2 + 20, 100: 1 + 1 + 65} { // of commit, folders, files
		s := serve(t)
		s.pages = 25
		files := map[string][]byte{"README.md": []byte("r")}
		for i := range 15 * folders {
			files[fmt.Sprintf("d%03d/%04d", i%folders, i)] = []byte("x")
		}
		s.commits = append(s.commits, files)
		var within, most atomic.Int64
		s.fault = func(http.ResponseWriter, *http.Request) bool {
			n := within.Add(1)
			defer within.Add(-1)
			for now := most.Load(); n > now && !most.CompareAndSwap(now, n); now = most.Load() {
			}
			time.Sleep(5 * time.Millisecond)
			return false
		}
		var got []string
		for o, err := range New().Objects(t.Context(), "datasets/o/n/") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(o.Name, "datasets/o/n/"))
		}
		if !slices.Equal(got, slices.Sorted(maps.Keys(files))) {
			t.Errorf("%d files of %d, or in another order", len(got), len(files))
		}
		if n := s.asked.Load(); n != want {
			t.Errorf("%d folders: %d requests, want %d", folders, n, want)
		}
		if n := most.Load(); (folders <= mostFolders) != (n > 4) || n > pagesAtOnce {
			t.Errorf("%d folders: %d requests at once", folders, n)
		}
	}
}

// TestPinned: a branch that moves is read as it was.
func TestPinned(t *testing.T) {
	s := serve(t)
	old, now := bytes.Repeat([]byte("o"), 2000), bytes.Repeat([]byte("n"), 2000)
	s.put("x", old)
	m := New()
	o, err := m.Stat(t.Context(), "datasets/o/n/x")
	if err != nil {
		t.Fatal(err)
	}
	s.put("x", now)
	s.put("y", now)
	got := make([]byte, 2000)
	if err := m.ReadAt(t.Context(), o, got, 0); err != nil || !bytes.Equal(got, old) {
		t.Errorf("%.10q, %v", got, err)
	}
	if _, err := m.Stat(t.Context(), "datasets/o/n/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := New().ReadAt(t.Context(), o, got, 0); !errors.Is(err, store.ErrChanged) {
		t.Errorf("another run, with what an earlier one has found: %v", err)
	}
	o.Name = "datasets/o/n@" + sha(1) + "/x"
	before := s.asked.Load()
	if err := New().ReadAt(t.Context(), o, got, 0); err != nil || !bytes.Equal(got, old) || s.asked.Load() != before+1 {
		t.Errorf("of its commit: %.10q, %v, by %d requests", got, err, s.asked.Load()-before)
	}
	facts := fmt.Sprint(m.Tell(t.Context(), "datasets/o/n"))
	if !strings.Contains(facts, "{commit "+sha(1)+"}") || !strings.Contains(facts, "{credentials HF_TOKEN}") ||
		strings.Contains(facts, secret) {
		t.Error(facts)
	}
}

// TestRenamed: a repository that has another name now is read by its old one.
func TestRenamed(t *testing.T) {
	s := serve(t)
	s.put("d/small", []byte("small"))
	s.put("d/large", bytes.Repeat([]byte("large"), 1000))
	m := New()
	for o, err := range m.Objects(t.Context(), "datasets/old/n/d/") {
		got := make([]byte, 5)
		if err == nil {
			err = m.ReadAt(t.Context(), o, got, 0)
		}
		if err != nil || "datasets/old/n/d/"+string(got) != o.Name {
			t.Errorf("%+v has %q, %v", o, got, err)
		}
	}
}

// TestSmallFiles: one that is listed takes two requests to read first, and then one.
func TestSmallFiles(t *testing.T) {
	s := serve(t)
	s.put("x", []byte("small"))
	m := New()
	for o, err := range m.Objects(t.Context(), "datasets/o/n/") {
		for _, want := range []int64{2, 1} {
			before := s.asked.Load()
			if err == nil {
				err = m.ReadAt(t.Context(), o, make([]byte, 5), 0)
			}
			if got := s.asked.Load() - before; got != want || err != nil {
				t.Errorf("%d requests, %v", got, err)
			}
		}
	}
}

// TestPlacesEnd: where a file is is asked for again when its time is over, or its host
// refuses; once, then it is an error.
func TestPlacesEnd(t *testing.T) {
	s := serve(t)
	s.put("x", bytes.Repeat([]byte("x"), 2000))
	m := New()
	o, err := m.Stat(t.Context(), "datasets/o/n/x")
	if err != nil {
		t.Fatal(err)
	}
	read := func() (asked int64, err error) {
		before := s.asked.Load()
		err = m.ReadAt(t.Context(), o, make([]byte, 100), 0)
		return s.asked.Load() - before, err
	}
	if n, err := read(); n != 0 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
	refusals := 1
	s.rest.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		refusals--
		if refusals >= 0 {
			w.WriteHeader(http.StatusForbidden)
		}
		return refusals >= 0
	}
	if n, err := read(); n != 1 || err != nil {
		t.Errorf("a host that refuses: %d requests, %v", n, err)
	}
	refusals = 100
	if n, err := read(); n != 1 || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "see the clock") {
		t.Errorf("a host that refuses again: %d requests, %v", n, err)
	}

	for query, want := range map[string]time.Duration{
		"Expires=1700003600": 59 * time.Minute, "X-Amz-Date=20231114T221320Z&X-Amz-Expires=1800": 29 * time.Minute, "": 59 * time.Minute,
		"Expires=1600000000": 5 * time.Minute, "Expires=x": 59 * time.Minute,
	} {
		got := lifeOf(&url.URL{RawQuery: query}, http.Header{"Date": {time.Unix(1700000000, 0).UTC().Format(http.TimeFormat)}})
		if got != want {
			t.Errorf("%s is used for %v", query, got)
		}
	}
}

// TestRedirects that must not be followed.
func TestRedirects(t *testing.T) {
	s := serve(t)
	for location, says := range map[string]string{
		"": "redirects to nowhere", "file:///etc/passwd": "from http:// to file://", "ftp://h/x": "to ftp://",
		s.url + "/datasets/o/n/resolve/main/x": "more than 5 times",
	} {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			isFile := strings.Contains(r.URL.Path, "/resolve/")
			if isFile {
				w.Header().Set("Location", location)
				w.WriteHeader(http.StatusFound)
			}
			return isFile
		}
		if _, err := New().Stat(t.Context(), "datasets/o/n/x"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", location, err)
		}
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		isFile := strings.Contains(r.URL.Path, "/resolve/")
		if isFile {
			w.Header().Set("Location", s.restURL+"/none?Expires=9999999999")
			w.WriteHeader(http.StatusFound)
		}
		return isFile
	}
	if _, err := New().Stat(t.Context(), "datasets/o/n/x"); err == nil || !strings.Contains(err.Error(), "no size or version") {
		t.Errorf("a redirect that tells nothing: %v", err)
	}
}

func TestTokens(t *testing.T) {
	s := serve(t)
	var got string
	s.fault = func(w http.ResponseWriter, r *http.Request) bool { got = r.Header.Get("Authorization"); return false }
	s.put("x", []byte("x"))
	home := os.Getenv("HOME")
	write := func(name, text string) string {
		t.Helper()
		at := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	has := func(want string) {
		t.Helper()
		if _, err := New().Stat(t.Context(), "datasets/o/n/x"); err != nil {
			t.Error(err)
		}
		if want != "" {
			want = "Bearer " + want
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	has(secret)
	t.Setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
	has("")
	t.Setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "")
	t.Setenv("HF_TOKEN", "")
	has("")
	t.Setenv("HUGGING_FACE_HUB_TOKEN", " old\n")
	has("old")
	t.Setenv("HUGGING_FACE_HUB_TOKEN", "")
	write(".cache/huggingface/token", "file\n")
	has("file")
	t.Setenv("XDG_CACHE_HOME", home+"/xdg")
	write("xdg/huggingface/token", "xdg")
	has("xdg")
	t.Setenv("HF_HOME", "$HOME/hf")
	write("hf/token", "home")
	has("home")
	t.Setenv("HF_TOKEN_PATH", write("token", "path"))
	has("path")
}

func TestSettings(t *testing.T) {
	serve(t)
	for _, wrong := range []string{"host", "ftp://h", "https://a:b@h", "http://h?x"} {
		t.Setenv("HF_ENDPOINT", wrong)
		_, err := New().Stat(t.Context(), "datasets/o/n/x")
		if text := fmt.Sprint(err); !strings.Contains(text, "must be like https://host:port") || strings.Contains(text, "a:b") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	t.Setenv("HF_ENDPOINT", "")
	if set, err := read(); err != nil || set.host != "huggingface.co" || set.scheme != "https" {
		t.Errorf("%+v, %v", set, err)
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	m := New()
	_, err := m.Stat(t.Context(), "datasets/o/n/x")
	if err == nil || !strings.Contains(err.Error(), "unset it") || !strings.Contains(fmt.Sprint(m.Tell(t.Context(), "")), "unset it") {
		t.Error(err)
	}
}

// TestRefusals: each says what is wrong, and what to do, and has no secret.
func TestRefusals(t *testing.T) {
	s := serve(t)
	s.put("x", []byte("x"))
	for _, c := range []struct {
		status        int
		code, message string
		is            error
		says          string
	}{
		{401, "RepoNotFound", "", fs.ErrPermission, "there is no dataset o/n at 127.0.0.1"},
		{404, "RepoNotFound", "", fs.ErrNotExist, "or it is private: check its name and kind"},
		{403, "GatedRepo", "", fs.ErrPermission, "is granted one by one: ask for it at " + s.url + "/datasets/o/n"},
		{401, "GatedRepo", "", fs.ErrPermission, "which is of HF_TOKEN, needs the right"},
		{404, "RevisionNotFound", "", fs.ErrNotExist, `dataset o/n has no branch, tag or commit "main"`},
		{404, "EntryNotFound", "", fs.ErrNotExist, "answers 404"},
		{404, "", "", fs.ErrNotExist, "answers 404"},
		{401, "", "Invalid credentials in Authorization header", fs.ErrPermission, "the token is not valid at 127.0.0.1"},
		{400, "", "", nil, "refuses the request"},
	} {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X-Error-Message", c.message+secret)
			refuse(w, c.status, c.code)
			return true
		}
		_, err := New().Stat(t.Context(), "datasets/o/n/x")
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
		for _, err := range New().Objects(t.Context(), "datasets/o/n/") {
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the listing: %d %s: %v", c.status, c.code, err)
			}
		}
	}
	t.Setenv("HF_TOKEN", "")
	if _, err := New().Stat(t.Context(), "datasets/o/other/x"); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Error(err)
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool { refuse(w, 401, "RepoNotFound"); return true }
	if _, err := New().Stat(t.Context(), "datasets/o/other/x"); err == nil ||
		!strings.Contains(err.Error(), "hf auth login, or set HF_TOKEN (none: tried HF_TOKEN, ") {
		t.Error(err)
	}
	for _, name := range []string{"datasets/o/n", "datasets/o/n/../x", "datasets/o/n/a//b"} {
		s.fault = nil
		t.Setenv("HF_TOKEN", secret)
		if _, err := New().Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestListings: wrong ones are errors.
func TestListings(t *testing.T) {
	s := serve(t)
	for answer, says := range map[string]string{
		"nonsense":                              "it is no list",
		`[{"type":"file","path":"x","size":1}]`: `the file "x" has no path, size or version`,
		`[{"type":"file","path":"x","size":-1,"oid":"a"}]`:             "has no path, size or version",
		`[{"type":"file","path":"x","size":1,"oid":"a"}] `:             "not at 127.0.0.1",
		`[{"type":"directory","path":"x"},{"type":"more","path":"y"}]`: "",
	} {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/tree/") {
				return false
			}
			if strings.HasSuffix(answer, " ") {
				w.Header().Set("Link", `<https://elsewhere.example/x>; rel="next"`)
			}
			fmt.Fprint(w, answer)
			return true
		}
		var last error
		for _, err := range New().Objects(t.Context(), "datasets/o/n/") {
			last = err
		}
		if (says == "") != (last == nil) || last != nil && !strings.Contains(last.Error(), says) {
			t.Errorf("%s: %v", answer, last)
		}
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, "{}"); return true }
	if _, err := New().Stat(t.Context(), "datasets/o/n/x"); err == nil || !strings.Contains(err.Error(), "has no commit") {
		t.Error(err)
	}
}

// TestBucketsThatChange: what was found before a file changed does not count against it.
func TestBucketsThatChange(t *testing.T) {
	s := serve(t)
	m := New()
	const name = "buckets/o/n/x"
	for _, content := range []string{"old", "other"} {
		content := bytes.Repeat([]byte(content), 1000)
		s.putInBucket("x", content)
		o, err := New().Stat(t.Context(), name) // as another program has it
		got := make([]byte, o.Size)
		if err == nil {
			err = m.ReadAt(t.Context(), o, got, 0)
		}
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%.10q, %v", got, err)
		}
	}
	before := s.asked.Load()
	err := m.ReadAt(t.Context(), store.Object{Name: name, Size: 3, Version: "never"}, make([]byte, 3), 0)
	if asked := s.asked.Load() - before; !errors.Is(err, store.ErrChanged) || asked != 1 {
		t.Errorf("%v, after %d requests", err, asked)
	}
}

// TestListingsAreKept: the newest one in any case, each once.
func TestListingsAreKept(t *testing.T) {
	m := New()
	large := &listing{repo{kind: "datasets", id: "o/large"}, "", make([]file, mostListed+1)}
	small := &listing{repo{kind: "datasets", id: "o/small"}, "", make([]file, 1)}
	for _, l := range []*listing{small, large, large} {
		if m.keep(l); m.listing(l.repo, "x") != l {
			t.Errorf("that of %s is not kept", l.id)
		}
	}
	if len(m.listings) != 1 {
		t.Errorf("%d are kept", len(m.listings))
	}
	m.keep(small)
	if m.keep(&listing{small.repo, "d/", nil}); len(m.listings) != 2 || m.listing(large.repo, "x") != nil {
		t.Errorf("%d are kept", len(m.listings))
	}
}

// TestNextPages are of the same host, however they are written.
func TestNextPages(t *testing.T) {
	s := serve(t)
	const at = "/api/datasets/o/n/tree/main"
	for link, want := range map[string]string{
		s.url + at + "?c=2": at + "?c=2", at + "?c=2": at + "?c=2", "?c=2": at + "?c=2",
		".evil.example/x": "/api/datasets/o/n/tree/.evil.example/x?", "@evil.example/x": "/api/datasets/o/n/tree/@evil.example/x?",
		"//evil.example/x": "", strings.Replace(s.url, "http:", "https:", 1) + at: "", "mailto:x": "",
	} {
		path, query, err := New().next(at, "<"+link+`>; rel="next"`)
		if got := path + "?" + query; (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%s is %s, %v", link, got, err)
		}
	}
}
