package steady_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/steady"
	"github.com/headrace/headrace/store/storetest"
)

// gone has the server break all connections until a time.
func (b *bed) gone(until time.Time) {
	synctest.Wait()
	b.Fault = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if time.Now().Before(until) {
			storetest.Reset(r)
		}
		return false
	}
}

// heard collects what is said of hosts.
func (b *bed) heard() func() []string {
	var mu sync.Mutex
	var all []string
	b.Cleanup(store.Watch(func(s store.Silence) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s.String())
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// TestOutage: while a host is away this is said, and soon after it is back it is asked as
// before, by many readers or by one.
func TestOutage(t *testing.T) {
	if testing.Short() {
		return // it has more requests than the race detector can follow
	}
	for _, readers := range []int{1, 64} {
		in(t, 100, func(b *bed) {
			heard := b.heard()
			b.Pause = 200 * time.Millisecond
			b.readers(readers, 30*time.Second)
			before := float64(b.readers(readers, 20*time.Second)) / 20
			b.gone(time.Now().Add(20 * time.Second))
			during := float64(b.readers(readers, 60*time.Second))
			if lost := 60 - during/before; lost > 25 {
				b.Errorf("%d readers: an outage of 20 s has cost %.1f s", readers, lost)
			} else {
				b.Logf("%d readers: an outage of 20 s has cost %.1f s", readers, lost)
			}
			if after := float64(b.readers(readers, 10*time.Second)) / 10; after < 0.95*before {
				b.Errorf("%d readers: %.1f reads a second before, and %.1f after it", readers, before, after)
			}
			synctest.Wait()
			told := heard()
			isTold := len(told) == 2 && strings.Contains(told[0], "server has sent nothing for 5s")
			if !isTold || !strings.Contains(told[1], "server answers again, after 2") {
				b.Errorf("%q", told)
			}
			if c := b.counts(); c.Retries > 128+c.Requests/10+5*25 {
				b.Errorf("%d retries of %d requests", c.Retries, c.Requests)
			}
		})
	}
}

// TestGoneForGood: a host that has answered is given two minutes, and the error says so.
func TestGoneForGood(t *testing.T) {
	in(t, 100, func(b *bed) {
		heard := b.heard()
		b.gone(time.Now().Add(time.Hour))
		begun := time.Now()
		err := b.c.Fill(b.Context(), b.x, make([]byte, 10), 0, b.ask)
		var u *steady.Unreachable
		took := time.Since(begun)
		if !errors.As(err, &u) || !errors.Is(err, syscall.EREMOTEIO) || took < 2*time.Minute || took > 125*time.Second {
			b.Errorf("%v, after %v", err, took)
		}
		if silent := b.counts().Silent; silent != 0 {
			b.Errorf("it is silent for %v, and asked for nothing", silent)
		}
		if n := len(heard()); n < 3 || n > 6 {
			b.Errorf("%q", heard())
		}
	})
}

// TestLongBodiesAreNoSilence: bytes that come slowly are heard.
func TestLongBodiesAreNoSilence(t *testing.T) {
	in(t, 1000, func(b *bed) {
		heard := b.heard()
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			first, last := storetest.Range(r)
			w.Header().Set("ETag", `"`+b.x.Version+`"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, b.x.Size))
			w.WriteHeader(http.StatusPartialContent)
			for at := first; at <= last; at++ {
				w.Write(b.content[at : at+1])
				http.NewResponseController(w).Flush()
				storetest.Wait(r, time.Second)
			}
			return true
		}
		if err := b.c.Fill(b.Context(), b.x, make([]byte, 60), 0, b.ask); err != nil || len(heard()) > 0 {
			b.Errorf("%v, %q", err, heard())
		}
	})
}

// TestTails: if one request in a hundred takes two seconds, nine tenths of the reads come
// that come without.
func TestTails(t *testing.T) {
	in(t, 100, func(b *bed) {
		b.Pause = 50 * time.Millisecond
		b.readers(16, 20*time.Second)
		before := float64(b.readers(16, 20*time.Second))
		var n atomic.Int64
		synctest.Wait()
		b.Fault = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			if n.Add(1)%100 == 0 {
				storetest.Wait(r, 2*time.Second)
			}
			return false
		}
		after := float64(b.readers(16, 60*time.Second)) / 3
		b.Logf("%.2f of the reads without", after/before)
		if after < 0.9*before {
			b.Errorf("%.0f reads without, and %.0f with one request in a hundred that takes 2 s", before, after)
		}
	})
}
