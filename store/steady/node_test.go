package steady_test

import (
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/node"
	"github.com/headrace/headrace/store/steady"
)

// inNode runs a test with a bed and several clients, as if each were of another process
// of the node.
func inNode(t *testing.T, clients int, test func(b *bed, all []*steady.Client)) {
	place, err := node.Open(filepath.Join(t.TempDir(), "node"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Use()()
	in(t, 100, func(b *bed) {
		all := []*steady.Client{b.c}
		for len(all) < clients {
			all = append(all, b.client())
		}
		test(b, all)
	})
}

// TestOnePaceOfANode: processes have the limit of one together, each its part, and what
// the others do not use.
func TestOnePaceOfANode(t *testing.T) {
	if testing.Short() {
		return // it has more requests than the race detector can follow
	}
	inNode(t, 4, func(b *bed, all []*steady.Client) {
		b.Pause = time.Second / 2
		reads := make([]int, len(all))
		var each sync.WaitGroup
		for i, c := range all {
			each.Go(func() {
				one := *b
				one.c = c
				reads[i] = one.readers(60, 90*time.Second)
			})
		}
		each.Wait()
		if n := b.AtOnce(); n < 120 || n > 132 {
			b.Errorf("%d requests at once, of four processes", n)
		}
		for i, n := range reads {
			if n < reads[0]*7/10 || n > reads[0]*13/10 {
				b.Errorf("process %d has read %d, and the first %d", i, n, reads[0])
			}
		}

		// One alone may have all.
		before := b.readers(120, 10*time.Second)
		if rate := float64(before) / 10; rate < 200 {
			b.Errorf("one process, while the others rest, reads %.0f a second", rate)
		}
	})
}

// TestAHostAsksANodeForTime: what one process is told, all obey.
func TestAHostAsksANodeForTime(t *testing.T) {
	inNode(t, 2, func(b *bed, all []*steady.Client) {
		other := *b
		other.c = all[1]
		other.reads(0, 10) // so that it knows the host
		var asked atomic.Int64
		synctest.Wait()
		b.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			if asked.Add(1) > 1 {
				return false
			}
			w.Header().Set("Retry-After", "55")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		begun := time.Now()
		var both sync.WaitGroup
		both.Go(func() { b.reads(0, 10) })
		time.Sleep(time.Second)
		both.Go(func() { other.reads(0, 10) })
		time.Sleep(53 * time.Second)
		if n := asked.Load(); n != 1 {
			b.Errorf("%d requests, while the host asks for time", n)
		}
		both.Wait()
		if took := time.Since(begun); took < 55*time.Second || took > 57*time.Second {
			b.Errorf("both have read after %v", took)
		}
	})
}
