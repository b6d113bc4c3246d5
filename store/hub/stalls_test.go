package hub

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
	"github.com/headrace/headrace/store/storetest"
)

// inMemory returns a service without a network, and a store of it. A request for which
// fails returns true gets no answer, or half of one.
func inMemory(t *testing.T, files map[string][]byte, half bool, fails func(*http.Request) bool) *Store {
	s := &service{t: t, pages: 10, life: time.Hour, small: 10, commits: []map[string][]byte{files}, url: "http://hub.test",
		restURL: "http://rest.test"}
	server := storetest.NewServer(t)
	server.Pause = 50 * time.Millisecond
	server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		answer := s.serve
		if r.Host == "rest.test" {
			answer = s.serveRest
		}
		if !fails(r) {
			answer(w, r)
			return true
		}
		if half {
			whole := httptest.NewRecorder()
			answer(whole, r)
			maps.Copy(w.Header(), whole.Header())
			w.Header().Set("Content-Length", fmt.Sprint(whole.Body.Len()))
			w.WriteHeader(whole.Code)
			w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
			http.NewResponseController(w).Flush()
		}
		storetest.Stall(r)
		return true
	}

	transport := steady.Transport()
	transport.DialContext, transport.Proxy = server.Dial, nil
	t.Cleanup(transport.CloseIdleConnections)
	return &Store{begin: func() (*settings, error) { return &settings{scheme: "http", host: "hub.test"}, nil },
		hub: steady.New(transport, false), rest: steady.New(transport, true), commits: map[repo]string{}, places: map[place]*found{}}
}

// readAll lists all files of a dataset and reads each, and returns how long that took.
func readAll(t *testing.T, m *Store, files map[string][]byte) time.Duration {
	begun := time.Now()
	var all []store.Object
	for o, err := range m.Objects(t.Context(), "datasets/o/n/") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	if len(all) != len(files) {
		t.Fatalf("%d files of %d", len(all), len(files))
	}
	for _, o := range all {
		got := make([]byte, o.Size)
		err := m.ReadAt(t.Context(), o, got, 0)
		if err != nil || !bytes.Equal(got, files[strings.TrimPrefix(o.Name, "datasets/o/n/")]) {
			t.Fatalf("%s: %v, or wrong bytes", o.Name, err)
		}
	}
	return time.Since(begun)
}

// TestStalls: if one in ten of the answers stalls, one reader loses ten seconds by each
// that has begun, and five at most by one that has not.
func TestStalls(t *testing.T) {
	t.Setenv("HF_TOKEN", secret)
	files := map[string][]byte{}
	for i := range 100 {
		files[fmt.Sprintf("%03d", i)] = bytes.Repeat([]byte{byte(i)}, 2000)
	}
	for _, c := range []struct {
		what string // a part of the URLs
		half bool
		most time.Duration
	}{
		{"/tree/", false, 5 * time.Second}, {"/tree/", true, 10 * time.Second},
		{"/resolve/", false, 5 * time.Second},
		{"rest.test", false, 5 * time.Second}, {"rest.test", true, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			without := readAll(t, inMemory(t, files, false, func(*http.Request) bool { return false }), files)
			var n, stalls atomic.Int64
			with := readAll(t, inMemory(t, files, c.half, func(r *http.Request) bool {
				if !strings.Contains(r.Host+r.URL.Path, c.what) {
					return false
				}
				isOne := n.Add(1)%10 == 6
				if isOne {
					stalls.Add(1)
				}
				return isOne
			}), files)
			if stalls.Load() == 0 {
				t.Fatal("nothing has stalled")
			}
			lost := (with - without) / time.Duration(stalls.Load())
			t.Logf("%s, half an answer: %v: %d stalls, %v lost by each", c.what, c.half, stalls.Load(), lost)
			if lost > c.most+300*time.Millisecond { // a pause, and the request that follows
				t.Errorf("%s, half an answer: %v: %v are lost by each stall", c.what, c.half, lost)
			}
		})
	}
}

// TestALargeListing of folders takes as long as the longest of them.
func TestALargeListing(t *testing.T) {
	t.Setenv("HF_TOKEN", secret)
	files := map[string][]byte{}
	for i := range 2000 {
		files[fmt.Sprintf("d%d/%04d", i%8, i)] = []byte{byte(i)}
	}
	synctest.Test(t, func(t *testing.T) {
		m := inMemory(t, files, false, func(*http.Request) bool { return false })
		begun, n := time.Now(), 0
		for o, err := range m.Objects(t.Context(), "datasets/o/n/") {
			if n++; err != nil || o.Size != 1 {
				t.Fatal(o, err)
			}
		}
		took, alone := time.Since(begun), 200*50*time.Millisecond
		t.Logf("%d files in %v, page after page in %v", n, took, alone)
		if n != len(files) || took > alone/5 {
			t.Errorf("%d files in %v", n, took)
		}
	})
}
