package serve

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// worker is one of the goroutines that work on a task's images.
type worker struct {
	number int    // tells those apart that work at once
	waited func() // says that it has waited, for a disk or a network, so that another one could have worked meanwhile
}

const workersPerCore = 4

// eachImage calls do for every image that has not failed, in the session's order, and
// records the errors. There is a worker for each core, because more threads than cores
// would preempt each other while a core idles. A worker that waits for a disk starts
// another one. Once an image of a strict task has failed, only images before it are
// started, so that the client always sees the first bad one.
func (s *ioSession) eachImage(ctx context.Context, images []image, do func(i int, w worker) error) {
	var next, workers, failed atomic.Int64
	failed.Store(int64(len(images)))
	var others sync.WaitGroup
	most := int64(min(len(s.plans), len(images)))

	var help func()
	work := func(number int) {
		w := worker{number, help}
		for ctx.Err() == nil {
			turn := int(next.Add(1)) - 1
			if turn >= len(images) {
				return
			}
			i := s.order[turn]
			if p := &images[i]; p.err == nil && int64(i) < failed.Load() {
				if p.err = guarded(func() error { return do(i, w) }); p.err != nil {
					p.forget()
					if s.task.Strict {
						lower(&failed, int64(i))
					}
				}
			}
			runtime.Gosched() // a goroutine that never rests has its CPU taken away, though it is in C most of the time
		}
	}

	help = func() {
		if n := workers.Add(1); n < most {
			others.Go(func() { work(int(n)) })
		}
	}

	for range min(s.cores, len(images)) - 1 {
		help()
	}
	work(0)
	others.Wait()
}

// lower sets a number to n if it is larger.
func lower(to *atomic.Int64, n int64) {
	for {
		old := to.Load()
		if old <= n || to.CompareAndSwap(old, n) {
			return
		}
	}
}

// patience is how long a task may look for the sizes of its files.
const patience = time.Millisecond

// sortBySize puts the largest inputs first, so that no core is left with a large one when
// all others are done. Files whose size takes too long to find come last.
func (s *ioSession) sortBySize() {
	s.order, s.sizes = s.order[:0], s.sizes[:0]
	began := time.Now()
	for i, in := range s.message.Inputs {
		size := int64(in.Length)
		if in.Path {
			size = 0
			var stat unix.Stat_t
			more := len(s.message.Inputs) > 1 && time.Since(began) < patience
			if more && unix.Stat(string(s.message.Text[in.At:][:in.Length]), &stat) == nil {
				size = stat.Size
			}
		}
		s.order, s.sizes = append(s.order, i), append(s.sizes, size)
	}
	slices.SortStableFunc(s.order, func(a, b int) int { return cmp.Compare(s.sizes[b], s.sizes[a]) })
}
