package budget

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Runs in miniature, with budgets of next to nothing: several sources read ahead and
// wait in short queues for the turns of a merge, after it buckets hold samples until
// they have enough of a kind, and a slow consumer takes them. Every run must come to
// its end (a run that stands still is an error of the bubble), with no more bytes in
// use than the limit, the largest item of every lane, and what the buckets held.
func TestRunsWithNextToNothingComeToTheirEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(withoutDeadline{t}, func(rt *rapid.T) {
			newFlow(rt).run(rt, t)
		})
	})
}

const largest = 10 // bytes that one acquisition asks for

type flow struct {
	budget  *Budget
	limit   int64
	turns   []int // the sources, as the merge takes their samples
	counts  []int // samples of each source
	workers int   // that read a source
	queue   int
	kinds   int
	bucket  int // samples of one kind that leave together
	sizes   []int64
	naps    []int

	parked, mostParked int64
}

// held is a sample with what it holds.
type held struct {
	kind   int
	grants [2]Grant
	bytes  int64
}

func newFlow(rt *rapid.T) *flow {
	f := &flow{
		limit:   rapid.Int64Range(0, 40).Draw(rt, "limit"),
		turns:   rapid.SliceOfN(rapid.IntRange(0, rapid.IntRange(0, 2).Draw(rt, "sources")), 1, 60).Draw(rt, "turns"),
		workers: rapid.IntRange(1, 4).Draw(rt, "workers"),
		queue:   rapid.IntRange(0, 3).Draw(rt, "queue"),
		kinds:   rapid.IntRange(1, 3).Draw(rt, "kinds"),
		bucket:  rapid.IntRange(1, 4).Draw(rt, "bucket"),
		sizes:   rapid.SliceOfN(rapid.Int64Range(0, largest), 8, 8).Draw(rt, "sizes"),
		naps:    rapid.SliceOfN(rapid.IntRange(0, 5), 5, 5).Draw(rt, "naps"),
	}
	f.counts = make([]int, 3)
	for _, source := range f.turns {
		f.counts[source]++
	}
	f.budget = New(f.limit)
	return f
}

func (f *flow) run(rt *rapid.T, t *testing.T) {
	lines := make([]chan chan *held, len(f.counts))
	for source, n := range f.counts {
		lane := f.budget.first
		if source > 0 {
			lane = f.budget.Lane()
		}
		lines[source] = f.read(t, lane, source, n)
	}
	buckets := make([][]*held, f.kinds)
	for i, source := range f.turns {
		s := <-<-lines[source]
		for _, g := range s.grants {
			g.Park()
		}
		f.parked += s.bytes
		f.mostParked = max(f.mostParked, f.parked)
		buckets[s.kind] = append(buckets[s.kind], s)
		if len(buckets[s.kind]) == f.bucket {
			f.consume(buckets[s.kind], i)
			buckets[s.kind] = nil
		}
	}
	for kind := range buckets {
		f.consume(buckets[kind], kind)
	}
	wantEmpty(rt, f.budget)
	// An item is the oldest until an older one comes, which is then admitted as well.
	// So where they come in the opposite order, a lane has as many beyond the limit as
	// there are on their way.
	s := f.budget.Stats()
	if most := f.limit + int64(len(f.counts)*f.workers)*2*largest + f.mostParked; s.Peak > most {
		rt.Fatalf("%d bytes at once: limit %d, %d parked at most", s.Peak, f.limit, f.mostParked)
	}
}

// read has workers fetch the samples of a source. They are handed on in order, through
// a queue of few places.
func (f *flow) read(t *testing.T, lane *Lane, source, n int) chan chan *held {
	line := make(chan chan *held, f.queue)
	free := make(chan struct{}, f.workers)
	go func() {
		for i := range n {
			free <- struct{}{}
			out := make(chan *held, 1)
			go func() {
				s := &held{kind: (source + i*i) % f.kinds}
				for k := range s.grants { // the file, and then what the decoder needs
					f.nap(source + i + k)
					size := f.sizes[(source+3*i+k)%len(f.sizes)]
					s.grants[k], _ = lane.Acquire(t.Context(), uint64(i), Purpose(fmt.Sprint("step ", k)), size)
					s.bytes += size
				}
				out <- s
				<-free
			}()
			line <- out
		}
	}()
	return line
}

func (f *flow) consume(batch []*held, i int) {
	f.nap(i)
	for _, s := range batch {
		for _, g := range s.grants {
			g.Release()
		}
		f.parked -= s.bytes
	}
}

func (f *flow) nap(i int) { time.Sleep(time.Duration(f.naps[i%len(f.naps)]) * time.Millisecond) }
