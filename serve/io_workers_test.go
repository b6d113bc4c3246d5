package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/wire"
)

// There are as many workers as cores while none waits for a disk, and each that does
// starts another, up to a bound.
func TestWorkersThatWaitStartOthers(t *testing.T) {
	for _, c := range []struct {
		name                  string
		cores, images, atOnce int
		waits                 bool
	}{
		{"as many as cores", 2, 20, 2, false},
		{"help for who waits", 2, 20, 2 * workersPerCore, true},
		{"no more than images", 2, 5, 5, true},
		{"one image", 2, 1, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &ioSession{cores: c.cores, plans: make([]media.Plan, workersPerCore*c.cores)}
			s.message.Inputs = make([]wire.Input, c.images)
			s.sortBySize()
			var mu sync.Mutex
			here, most := 0, 0
			busy := map[int]bool{}
			done := make([]int, c.images)
			s.eachImage(context.Background(), make([]image, c.images), func(i int, w worker) error {
				mu.Lock()
				if busy[w.number] || w.number >= len(s.plans) {
					t.Errorf("%s: worker %d has two images, or no plan", c.name, w.number)
				}
				busy[w.number] = true
				done[i]++
				here++
				most = max(most, here)
				mu.Unlock()
				if c.waits {
					w.waited()
				}
				time.Sleep(time.Second)
				mu.Lock()
				here--
				busy[w.number] = false
				mu.Unlock()
				return nil
			})
			if most != c.atOnce {
				t.Errorf("%s: %d at once, not %d", c.name, most, c.atOnce)
			}
			for i, n := range done {
				if n != 1 {
					t.Errorf("%s: picture %d was worked on %d times", c.name, i, n)
				}
			}
		})
	}
}

// The largest inputs are begun first, whether they are files or in memory, and those of
// which nothing is known last. The bubble's clock stands still meanwhile, however long
// the machine takes.
func TestTheLargestAreBegunFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ioSession{}
		folder := t.TempDir()
		for _, size := range []int64{10, 5000, 0, 700, 30, 5000} {
			path := filepath.Join(folder, fmt.Sprint(len(s.message.Inputs)))
			if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
			s.message.Inputs = append(s.message.Inputs, wire.Input{Path: true, At: uint64(len(s.message.Text)), Length: uint64(len(path))})
			s.message.Text = append(s.message.Text, path...)
		}
		// the latter is no file
		s.message.Inputs = append(s.message.Inputs, wire.Input{At: 3, Length: 1000}, wire.Input{Path: true, At: 0, Length: 2})
		s.sortBySize()
		if want := []int{1, 5, 6, 3, 4, 0, 2, 7}; !slices.Equal(s.order, want) {
			t.Errorf("begun in the order %v, not %v", s.order, want)
		}
	})
}

// Whatever is begun first: of several bad inputs of a strict task the first is the one
// that is reported.
func TestTheFirstFailureIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		bad := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID[int]).Draw(t, "bad")
		s := &ioSession{cores: rapid.IntRange(1, 4).Draw(t, "cores")}
		s.plans = make([]media.Plan, workersPerCore*s.cores)
		s.task.Strict = true
		for range n {
			s.message.Inputs = append(s.message.Inputs, wire.Input{Length: rapid.Uint64Range(0, 9).Draw(t, "size")})
		}
		s.sortBySize()
		images := make([]image, n)
		s.eachImage(context.Background(), images, func(i int, _ worker) error {
			if slices.Contains(bad, i) {
				return fmt.Errorf("bad")
			}
			return nil
		})
		if told := failuresOf(images); len(told) == 0 || *told[0].Index != slices.Min(bad) {
			t.Fatalf("of the bad ones %v, %v are told", bad, told)
		}
	})
}

// What waits is reported from what computes.
func TestWaits(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, before := waits()
	nap := unix.Timespec{Nsec: int64(time.Millisecond)}
	if err := unix.Nanosleep(&nap, nil); err != nil {
		t.Fatal(err)
	}
	if same, after := waits(); same != thread || after <= before {
		t.Errorf("thread %d has waited %d times, then thread %d %d times", thread, before, same, after)
	}
}
