package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// uploads are objects of several parts that are being written.
type uploads struct {
	mu    sync.Mutex
	parts map[string]map[string][]byte // by upload and number
}

func (s *service) refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// change answers a request that changes something.
func (s *service) change(w http.ResponseWriter, r *http.Request, key string) {
	name, q := r.URL.Path[1:], r.URL.Query()
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	if err != nil || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) || key == "" || r.ContentLength < 0 {
		s.refuse(w, 400, "XAmzContentSHA256Mismatch")
		return
	}
	s.uploads.mu.Lock()
	defer s.uploads.mu.Unlock()
	switch id := q.Get("uploadId"); {
	case r.Method == http.MethodPost && q.Has("uploads"):
		id = fmt.Sprintf("id+%d/", len(s.parts))
		if s.parts == nil {
			s.parts = map[string]map[string][]byte{}
		}
		s.parts[id] = map[string][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case id != "" && s.parts[id] == nil:
		s.refuse(w, 404, "NoSuchUpload")
	case id != "" && r.Method == http.MethodDelete:
		delete(s.parts, id)
		w.WriteHeader(http.StatusNoContent)
	case id != "" && r.Method == http.MethodPut:
		s.parts[id][q.Get("partNumber")] = body
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:4])+`"`)
	case id != "":
		var all struct{ Part []part }
		if err := xml.Unmarshal(body, &all); err != nil {
			s.refuse(w, 400, "MalformedXML")
			return
		}
		var whole []byte
		for i, p := range all.Part {
			sum := sha256.Sum256(s.parts[id][fmt.Sprint(p.PartNumber)])
			if p.PartNumber != i+1 || p.ETag != `"`+hex.EncodeToString(sum[:4])+`"` {
				s.refuse(w, 400, "InvalidPart")
				return
			}
			whole = append(whole, s.parts[id][fmt.Sprint(p.PartNumber)]...)
		}
		if o, ok := s.keep(w, r, name, whole); ok {
			delete(s.parts, id)
			fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>&quot;%s&quot;</ETag></CompleteMultipartUploadResult>", o.Version)
		}
	case r.Method == http.MethodDelete:
		s.Memory.Remove(r.Context(), name)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		if o, ok := s.keep(w, r, name, body); ok {
			w.Header().Set("ETag", `"`+o.Version+`"`)
		}
	}
}

// keep makes an object under the conditions of a request.
func (s *service) keep(w http.ResponseWriter, r *http.Request, name string, content []byte) (store.Object, bool) {
	c := store.Condition{Absent: r.Header.Get("If-None-Match") == "*", Version: strings.Trim(r.Header.Get("If-Match"), `"`)}
	_, missing := s.Memory.Stat(r.Context(), name)
	o, err := s.Memory.Put(r.Context(), name, bytes.NewReader(content), int64(len(content)), c)
	switch {
	case err == nil:
		return o, true
	case c.Version != "" && missing != nil:
		s.refuse(w, 404, "NoSuchKey")
	default:
		s.refuse(w, 412, "PreconditionFailed")
	}
	return o, false
}

func (b inBucket) Put(ctx context.Context, name string, content io.ReaderAt, size int64, c store.Condition) (store.Object, error) {
	o, err := b.Store.Put(ctx, b.root+name, content, size, c)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b inBucket) Remove(ctx context.Context, name string) error {
	return b.Store.Remove(ctx, b.root+name)
}

var letters = bytes.Repeat([]byte("abcdefg"), 10_007)

// pattern is content of any size.
type pattern struct{}

func (pattern) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], letters[(at+int64(n))%int64(len(letters)):]) {
	}
	return len(p), nil
}

// TestLargeObjects are written in parts, which are removed if one fails.
func TestLargeObjects(t *testing.T) {
	s := serve(t)
	const size = 4<<20 + 5
	m := New()
	m.sizes = sizes{1 << 20, 1 << 20}
	o, err := m.Put(t.Context(), "b/large", pattern{}, size, store.IfAbsent)
	if err != nil || o.Size != size {
		t.Fatal(o, err)
	}
	if now, err := m.Stat(t.Context(), "b/large"); err != nil || now != o {
		t.Errorf("%+v, %v; written as %+v", now, err, o)
	}
	if _, same := store.Holds(t.Context(), m, "b/large", pattern{}, size); !same {
		t.Error("it has other bytes")
	}
	if _, err := m.Put(t.Context(), "b/large", strings.NewReader("x"), 1, store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		isLast := r.URL.Query().Get("partNumber") == "4"
		if isLast {
			s.refuse(w, 403, "AccessDenied")
		}
		return isLast
	}
	_, err = m.Put(t.Context(), "b/other", pattern{}, size, store.Condition{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "need s3:PutObject") {
		t.Error(err)
	}
	if _, err := m.Stat(t.Context(), "b/other"); !errors.Is(err, fs.ErrNotExist) || len(s.parts) != 0 {
		t.Errorf("%v, %d uploads are left", err, len(s.parts))
	}
	lost := false
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		isEnd := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
		if isEnd && !lost { // its answer
			lost = true
			s.change(w, r, "x")
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if o, err := m.Put(t.Context(), "b/lost", pattern{}, size, store.IfAbsent); err != nil || o.Size != size || !lost {
		t.Errorf("%+v, %v", o, err)
	}
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		isEnd := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
		if isEnd {
			fmt.Fprint(w, "<Error><Code>InvalidPart</Code></Error>")
		}
		return isEnd
	}
	if _, err = m.Put(t.Context(), "b/other", pattern{}, size, store.Condition{}); err == nil || len(s.parts) != 0 {
		t.Errorf("%v, %d uploads are left", err, len(s.parts))
	}
}

// TestWritesInDoubt: a write whose answer is lost is tried again, and then finds what it
// has made itself.
func TestWritesInDoubt(t *testing.T) {
	s := serve(t)
	lose := func(n int) {
		s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut || n == 0 {
				return false
			}
			n--
			s.change(w, r, "x")
			panic(http.ErrAbortHandler)
		}
	}
	lose(1)
	o, err := New().Put(t.Context(), "b/x", strings.NewReader("mine"), 4, store.IfAbsent)
	if err != nil || o.Size != 4 {
		t.Errorf("%+v, %v", o, err)
	}
	s.Set("b/y", []byte("their"))
	lose(1)
	if _, err := New().Put(t.Context(), "b/y", strings.NewReader("mine!"), 5, store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	lose(0)
	got := make([]byte, 5)
	if o, err := New().Stat(t.Context(), "b/y"); err != nil || New().ReadAt(t.Context(), o, got, 0) != nil || string(got) != "their" {
		t.Errorf("%q, %v", got, err)
	}
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

// TestUntoldVersions: without an ETag in the answer, the version is that of the object
// that is there.
func TestUntoldVersions(t *testing.T) {
	s := serve(t)
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			s.change(httptest.NewRecorder(), r, "x")
		}
		return r.Method == http.MethodPut
	}
	o, err := New().Put(t.Context(), "b/x", strings.NewReader("mine"), 4, store.IfAbsent)
	s.Fault = nil
	if now, stat := New().Stat(t.Context(), "b/x"); err != nil || stat != nil || o != now || o.Version == "" {
		t.Errorf("%+v, %v; there is %+v, %v", o, err, now, stat)
	}
}

// TestErrorsInside an answer of 200 mean what they mean elsewhere.
func TestErrorsInside(t *testing.T) {
	s := serve(t)
	m := New()
	m.sizes = sizes{1 << 20, 1 << 20}
	for code, is := range map[string]error{"PreconditionFailed": store.ErrConflict, "ConditionalRequestConflict": store.ErrConflict,
		"AccessDenied": fs.ErrPermission, "InvalidPart": nil} {
		n := 0
		s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			isEnd := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
			if isEnd {
				n++
				fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
			}
			return isEnd
		}
		_, err := m.Put(t.Context(), "b/"+code, pattern{}, 2<<20, store.IfAbsent)
		if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), code) || n != 1 || len(s.parts) != 0 {
			t.Errorf("%s: %v, after %d tries; %d uploads are left", code, err, n, len(s.parts))
		}
	}
	n := 0
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		isEnd := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
		if n++; isEnd && n < 5 {
			n = 5
			fmt.Fprint(w, " <Error><Code>InternalError</Code></Error>")
			return true
		}
		return false
	}
	if o, err := m.Put(t.Context(), "b/x", pattern{}, 2<<20, store.IfAbsent); err != nil || o.Size != 2<<20 || len(s.parts) != 0 {
		t.Errorf("%+v, %v; %d uploads are left", o, err, len(s.parts))
	}
}
