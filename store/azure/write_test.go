package azure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// change answers a request that changes something.
func (s *service) change(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[1:]
	if r.Method == http.MethodDelete {
		if err := s.Memory.Remove(r.Context(), name); err != nil {
			refuse(w, 404, "BlobNotFound")
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it broke off
	}
	if r.Method != http.MethodPut || r.Header.Get("x-ms-blob-type") != "BlockBlob" || int64(len(body)) != r.ContentLength {
		s.t.Errorf("%s %s", r.Method, r.URL)
		return
	}
	if r.Header.Get("If-Match") == `""` {
		s.t.Errorf("%s: a condition without a version", r.URL)
	}
	c := store.Condition{Absent: r.Header.Get("If-None-Match") == "*",
		Version: strings.TrimPrefix(strings.Trim(r.Header.Get("If-Match"), `"`), "0x")}
	_, missing := s.Memory.Stat(r.Context(), name)
	o, err := s.Memory.Put(r.Context(), name, bytes.NewReader(body), int64(len(body)), c)
	switch {
	case err == nil:
		w.Header().Set("ETag", `"0x`+o.Version+`"`)
		w.WriteHeader(http.StatusCreated)
	case c.Absent:
		refuse(w, 409, "BlobAlreadyExists")
	case missing != nil:
		refuse(w, 404, "BlobNotFound")
	default:
		refuse(w, 412, "ConditionNotMet")
	}
}

func (b inContainer) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	o, err := b.Store.Put(ctx, b.root+name, content, size, c)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b inContainer) Remove(ctx context.Context, name string) error {
	return b.Store.Remove(ctx, b.root+name)
}

// TestWritesInDoubt: a write whose answer is lost is tried again, and then finds the blob
// that it has made itself.
func TestWritesInDoubt(t *testing.T) {
	s := serve(t)
	n := 0
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; r.Method == http.MethodPut && n == 1 {
			s.change(w, r)
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if o, err := New("az").Put(t.Context(), "c/x", strings.NewReader("mine"), 4, store.IfAbsent); err != nil || o.Size != 4 {
		t.Errorf("%+v, %v", o, err)
	}
	n = 0
	if _, err := New("az").Put(t.Context(), "c/x", strings.NewReader("their"), 5, store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		refuse(w, 403, "AuthorizationPermissionMismatch")
		return true
	}
	_, err := New("az").Put(t.Context(), "c/x", bytes.NewReader(nil), 0, store.Condition{})
	if !errors.Is(err, fs.ErrPermission) ||
		!strings.Contains(err.Error(), "write and delete blobs, as in the role Storage Blob Data Contr") {
		t.Error(err)
	}
	if _, err := New("az").Put(t.Context(), "c/x", bytes.NewReader(nil), 1<<40, store.Condition{}); err == nil ||
		!strings.Contains(err.Error(), "write smaller files") {
		t.Error(err)
	}
}

var letters = bytes.Repeat([]byte("abcdefg"), 10_007)

// pattern is content of any size.
type pattern struct{}

func (pattern) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], letters[(at+int64(n))%int64(len(letters)):]) {
	}
	return len(p), nil
}

// TestAtServer holds the store against the contract at a server of others: see
// python/tests_stores.
func TestAtServer(t *testing.T) {
	root, ok := os.LookupEnv("HEADRACE_AT_SERVER")
	if !ok {
		return // none is here
	}
	m := inContainer{New("az"), root}
	storetest.Contract(t, m, func(name string, content []byte) {
		t.Helper()
		if _, err := m.Put(context.Background(), name, bytes.NewReader(content), int64(len(content)), store.Condition{}); err != nil {
			t.Error(err)
		}
	})
	if _, err := m.Put(t.Context(), "large", pattern{}, 70<<20, store.IfAbsent); err != nil {
		t.Error(err)
	}
	if _, same := store.Holds(t.Context(), m, "large", pattern{}, 70<<20); !same {
		t.Error("it has other bytes")
	}
}

// TestUntoldVersions: without an ETag in the answer, the version is that of the object
// that is there.
func TestUntoldVersions(t *testing.T) {
	s := serve(t)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			s.change(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusCreated)
		}
		return r.Method == http.MethodPut
	}
	o, err := New("az").Put(t.Context(), "c/x", strings.NewReader("mine"), 4, store.IfAbsent)
	if now, stat := New("az").Stat(t.Context(), "c/x"); err != nil || stat != nil || o != now || o.Version == "" {
		t.Errorf("%+v, %v; there is %+v, %v", o, err, now, stat)
	}
}

// TestRemovesInDoubt: what an earlier try has removed is removed.
func TestRemovesInDoubt(t *testing.T) {
	s := serve(t)
	s.Set("c/x", []byte("x"))
	n := 0
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 1 {
			s.change(w, r)
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if err := New("az").Remove(t.Context(), "c/x"); err != nil || n != 2 {
		t.Errorf("%v, after %d tries", err, n)
	}
	if err := New("az").Remove(t.Context(), "c/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestLeases are no conflicts, nor is what no condition was sent for.
func TestLeases(t *testing.T) {
	s := serve(t)
	code := "LeaseIdMissing"
	s.fault = func(w http.ResponseWriter, r *http.Request) bool { refuse(w, 412, code); return true }
	put := func(c store.Condition) error {
		_, err := New("az").Put(t.Context(), "c/x", strings.NewReader("x"), 1, c)
		return err
	}
	if err := put(store.IfAbsent); err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), code) {
		t.Error(err)
	}
	code = "ConditionNotMet"
	if err := put(store.Condition{}); err == nil || errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	if err := put(store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
}
