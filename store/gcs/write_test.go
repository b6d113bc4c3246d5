package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// change answers a request that changes something.
func (s *service) change(w http.ResponseWriter, r *http.Request, q url.Values) {
	if bucket, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/storage/v1/b/"), "/o/"); r.Method == http.MethodDelete {
		object, _ := url.PathUnescape(rest)
		if err := s.Memory.Remove(r.Context(), bucket+"/"+object); err != nil {
			refuse(w, 404, "notFound", "No such object: "+object)
			return
		}
		delete(s.generations, bucket+"/"+object)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	bucket, ok := strings.CutPrefix(r.URL.Path, "/upload/storage/v1/b/")
	name := strings.TrimSuffix(bucket, "o") + q.Get("name")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it broke off
	}
	isUpload := ok && r.Method == http.MethodPost && q.Get("uploadType") == "media" && q.Get("fields") == "generation,size"
	if !isUpload || int64(len(body)) != r.ContentLength {
		s.t.Errorf("%s %s", r.Method, r.URL)
		return
	}
	has := fmt.Sprint(s.generations[name]) // 0: there is none
	if wants := q.Get("ifGenerationMatch"); wants != "" && wants != has {
		refuse(w, 412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
		return
	}
	s.next++
	s.generations[name] = s.next
	s.Set(name, body)
	s.tell(w, r, name)
}

func (s *service) tell(w http.ResponseWriter, r *http.Request, name string) {
	o, err := s.Memory.Stat(r.Context(), name)
	if err != nil {
		refuse(w, 404, "notFound", "No such object: "+name)
		return
	}
	fmt.Fprintf(w, `{"generation":"%d","size":"%d"}`, s.generations[name], o.Size)
}

func (b inBucket) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	o, err := b.Store.Put(ctx, b.root+name, content, size, c)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b inBucket) Remove(ctx context.Context, name string) error {
	return b.Store.Remove(ctx, b.root+name)
}

// TestWritesInDoubt: a write whose answer is lost is tried again, and then finds the
// object that it has made itself.
func TestWritesInDoubt(t *testing.T) {
	s := serve(t)
	n := 0
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; r.Method == http.MethodPost && n == 1 {
			s.change(w, r, r.URL.Query())
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if o, err := New().Put(t.Context(), "b/x", strings.NewReader("mine"), 4, store.IfAbsent); err != nil || o.Size != 4 {
		t.Errorf("%+v, %v", o, err)
	}
	n = 0
	if _, err := New().Put(t.Context(), "b/x", strings.NewReader("their"), 5, store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool { refuse(w, 403, "forbidden", "no"); return true }
	t.Setenv("STORAGE_EMULATOR_HOST", s.url)
	_, err := New().Put(t.Context(), "b/x", bytes.NewReader(nil), 0, store.Condition{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "denied without credentials") {
		t.Error(err)
	}
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		fmt.Fprint(w, `{"generation":"1","size":"3"}`)
		return true
	}
	if _, err := New().Put(t.Context(), "b/x", strings.NewReader("x"), 1, store.Condition{}); err == nil ||
		!strings.Contains(err.Error(), "1 bytes were written, and 3 have come") {
		t.Error(err)
	}
	if _, err := New().Put(t.Context(), "b/x", strings.NewReader("x"), 2, store.Condition{}); err == nil ||
		!strings.Contains(err.Error(), "has become shorter") {
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
	m := inBucket{New(), root}
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

// TestUntoldVersions: without a generation in the answer, the version is that of the
// object that is there.
func TestUntoldVersions(t *testing.T) {
	s := serve(t)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			s.change(httptest.NewRecorder(), r, r.URL.Query())
			fmt.Fprint(w, `{"size":"4"}`)
		}
		return r.Method == http.MethodPost
	}
	o, err := New().Put(t.Context(), "b/x", strings.NewReader("mine"), 4, store.IfAbsent)
	if now, stat := New().Stat(t.Context(), "b/x"); err != nil || stat != nil || o != now || o.Version == "" {
		t.Errorf("%+v, %v; there is %+v, %v", o, err, now, stat)
	}
}

// TestRemovesInDoubt: what an earlier try has removed is removed.
func TestRemovesInDoubt(t *testing.T) {
	s := serve(t)
	s.Set("b/x", []byte("x"))
	n := 0
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 1 {
			s.change(w, r, r.URL.Query())
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if err := New().Remove(t.Context(), "b/x"); err != nil || n != 2 {
		t.Errorf("%v, after %d tries", err, n)
	}
	if err := New().Remove(t.Context(), "b/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
