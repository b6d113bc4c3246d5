package worker

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/gate"
	"github.com/headrace/headrace/pipe/observe"
)

// A workerSet is the workers of a stage, and what they share.
type Set struct {
	failure.Origin
	Run       *Run
	Ctx       context.Context
	Gate      *gate.Gate
	PerWorker int       // operations at once for each worker
	OnResize  func(int) // learns how many workers there are to be; nil: nobody is
	Elsewhere bool      // operations wait for workers elsewhere, and say how long these worked

	Work    func(*Worker)     // what each does, where their number can change
	Fit     func(workers int) // makes the stage fit for so many, and wakes those that wait for an item, or a place for it
	CleanUp func()            // what is left to do after the last; may be nil
	OnEnd   func()            // is called after that

	Number    atomic.Int64 // how many there are to be
	Excess    atomic.Int64 // how many have to leave
	Present   atomic.Int64 // how many have not ended
	Abandoned atomic.Int64 // operations that were abandoned, and still run

	Times   histogram   // of operations
	sampled atomic.Bool // times holds only some of them

	mu      sync.Mutex
	Before  int       // how many workers of other sets are shown as if they were of this stage
	Members []*Worker // all that were ever there at once. A worker takes over the number of one that has left, with its counts
	vacant  []*Worker // of them those that have left
}

// NewSet is a set of workers that are started by nobody: the consumer of a run.
func NewSet(ctx context.Context, run *Run) *Set {
	return &Set{Run: run, Ctx: ctx, PerWorker: 1}
}

// Resize notes how many workers the stage is to have, and says how many operations at
// once that are.
func (s *Set) Resize(n int) (operations int) {
	if s.OnResize != nil {
		s.OnResize(n)
	}
	s.Number.Store(int64(n * s.PerWorker))
	return n * s.PerWorker
}

// SetWorkers is SetWorkers of a stage whose number can change.
func (s *Set) SetWorkers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.Number.Load()
	operations := s.Resize(n)
	more := int64(operations) - before
	if more < 0 {
		s.Excess.Add(-more)
	}
	s.Fit(operations)
	for range more {
		if !s.MustStop() { // otherwise one stays that was about to leave
			s.addWorker()
		}
	}
}

// MustStop tells a worker that it has to leave. Each worker too many is reported once.
func (s *Set) MustStop() bool {
	for n := s.Excess.Load(); n > 0; n = s.Excess.Load() {
		if s.Excess.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// addWorker starts one more worker, unless the stage is over. The lock is held.
func (s *Set) addWorker() {
	if !s.Run.Hold() {
		return
	}
	for {
		n := s.Present.Load()
		if n == 0 {
			s.Run.Gone()
			return
		}
		if s.Present.CompareAndSwap(n, n+1) {
			break
		}
	}
	s.Begin(s.NewMember(), s.Work)
}

// NewMember is a worker of a number that nobody has. The lock is held.
func (s *Set) NewMember() *Worker {
	if last := len(s.vacant) - 1; last >= 0 {
		w := s.vacant[last]
		s.vacant = s.vacant[:last]
		w.Sampler, w.Last = Sampler{}, s.Run.Now()
		if w.Heartbeat != nil {
			w.Heartbeat.At.Store(0)
		}
		return w
	}
	w := s.NewWorker().Traced(s.Before + len(s.Members))
	s.Members = append(s.Members, w)
	return w
}

// Working are the workers that are there.
func (s *Set) Working() (all []*Worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.Members {
		if !slices.Contains(s.vacant, w) {
			all = append(all, w)
		}
	}
	return all
}

// ended ends a worker, and the stage with its last one.
func (s *Set) ended(w *Worker) {
	s.mu.Lock()
	s.vacant = append(s.vacant, w)
	s.mu.Unlock()
	if s.Present.Add(-1) > 0 {
		return
	}
	if s.CleanUp != nil {
		s.CleanUp()
	}
	s.OnEnd()
}

// Begin starts a worker that is held. Besides this, goroutines of a run begin in Limit,
// InOwnGoroutine and watchdog alone.
func (s *Set) Begin(w *Worker, work func(*Worker)) {
	go func() {
		pprof.SetGoroutineLabels(s.labelled())
		returned := false
		w.exited, w.ExitError = false, nil
		defer func() {
			if !returned && !w.exited {
				s.Run.Crash(&s.Origin, failure.ErrGoexit)
			}
			w.Leave()
			w.TellSpans()
			s.ended(w)
			s.Run.Gone()
		}()
		work(w)
		returned = true
	}()
}

// labelled gives the goroutines of a stage labels, which profiles show, and the report of
// a stall.
func (s *Set) labelled() context.Context {
	return pprof.WithLabels(s.Ctx, pprof.Labels("run", s.Run.Label, "stage", s.Stage))
}

// AddTo adds the numbers of all workers, those that have left included.
func (s *Set) AddTo(t *observe.StageStats) {
	t.Workers = int(s.Number.Load()) / s.PerWorker
	t.Lost = s.Lost.Load()
	t.Sampled = s.sampled.Load()

	s.mu.Lock()
	all := slices.Clone(s.Members)
	s.mu.Unlock()
	for _, w := range all {
		t.In += w.In.Load()
		t.Out += w.Out.Load()
		t.Skipped += w.Skipped.Load()
		t.Bytes += w.Bytes.Load()
		t.Moved += w.Moved.Load()
		t.Retried += w.Retried.Load()
		t.Replaced += w.Replaced.Load()
		t.Abandoned += w.Abandoned.Load()
		t.Starved += w.Starved.Of(s.Run)
		t.Busy += w.BusyTime()
		t.Blocked += w.Blocked.Of(s.Run)
		t.Gated += w.Gated.Of(s.Run)
		t.Queued += w.queued.Settled()
		t.Turn += w.InTurn.Of(s.Run)
	}

	if s.Elsewhere {
		t.InFlightPerWorker = s.PerWorker
	}
	*t = t.WithTimes(s.Times.buckets())
}
