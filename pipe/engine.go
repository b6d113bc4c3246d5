package pipe

import (
	"cmp"
	"context"
	"errors"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"headrace/pipe/internal/progress"
)

// An engine is the part of a run that has no types: its stages, its goroutines, its clock.
type engine struct {
	began       time.Time
	ended       atomic.Int64 // nanoseconds from began to Close
	ctx         context.Context
	cancel      context.CancelFunc
	hooks       Hooks
	stages      []*stage      // from the source on
	epoch       int           // the first
	origins     []string      // the names of the sources, by number
	unhook      func()        // forgets the context that Start was given
	discardHeld func()        // disposes of what the consumer has at hand
	label       string        // of its goroutines
	watched     bool          // somebody is told of stalls
	stop        chan struct{} // closed when nobody is to watch any more
	stopWatch   func()
	over        chan struct{} // closed when nobody does
	task        *trace.Task

	halted  atomic.Bool
	crashed atomic.Pointer[StageError]
	unsound atomic.Pointer[StageError] // the hook at a stage's end has panicked

	mu         sync.Mutex
	live       int           // goroutines, and one more until all are started
	idle       chan struct{} // closed when there are none
	complaints []error       // what went wrong where nothing could be done about it
	failures   []itemFailure // what stops the run: of each stage the first in the order of the source
}

func newEngine(ctx context.Context, c Config) *engine {
	e := &engine{hooks: c.Hooks, watched: c.Stall.After > 0, label: strconv.FormatInt(runs.Add(1), 10), began: time.Now(), live: 1, idle: make(chan struct{})}
	ctx, e.task = trace.NewTask(ctx, "pipe.Run")
	e.ctx, e.cancel = context.WithCancel(ctx)
	return e
}

// now is the time since the run began.
func (e *engine) now() time.Duration { return time.Since(e.began) }

func (e *engine) elapsed() time.Duration {
	if ended := e.ended.Load(); ended > 0 {
		return time.Duration(ended)
	}
	return e.now()
}

// begin starts a worker that is held. Besides this, goroutines of a run begin in Limit, apart and watchdog alone.
func (e *engine) begin(w *worker, work func(*worker)) {
	go func() {
		pprof.SetGoroutineLabels(w.stage.labelled())
		returned := false
		w.exited, w.why = false, nil
		defer func() {
			if !returned && !w.exited {
				e.crash(w.stage, errGoexit)
			}
			w.settle()
			w.tellSpans()
			w.stage.ended(w)
			e.gone()
		}()
		work(w)
		returned = true
	}()
}

// hold counts a goroutine that is to begin. It returns false when the run is over.
func (e *engine) hold() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live == 0 {
		return false
	}
	e.live++
	return true
}

// gone counts a goroutine that ends.
func (e *engine) gone() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live--; e.live == 0 {
		e.task.End()
		close(e.idle)
	}
}

// crash ends the run at once, for what has no place among the items.
func (e *engine) crash(s *stage, why error) {
	e.crashed.CompareAndSwap(nil, &StageError{Stage: s.name, Epoch: -1, Pos: -1, Err: why})
	e.halt()
}

// endFailed notes that the hook at a stage's end has panicked. It ends nothing: the stage has done all that it had to do, and what it
// has made, or the failure that it was stopped for, is on its way to the consumer.
func (e *engine) endFailed(s *stage, why error) {
	e.complain(s.wrong("%w", why))
	e.unsound.CompareAndSwap(nil, &StageError{Stage: s.name, Epoch: -1, Pos: -1, Err: why})
}

func (e *engine) complain(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.complaints = append(e.complaints, err)
}

// note remembers a failure that stops the run, if that is read before another one does.
func (e *engine) note(why *failure, what progress.Lineage) {
	if why == nil {
		return // of what ends because another has failed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, f := range e.failures {
		if f.failure.stage != why.stage {
			continue
		}
		if at, ok := what.First(); ok {
			if before, ok := f.lineage.First(); !ok || at < before {
				e.failures[i] = itemFailure{why, what}
			}
		}
		return
	}
	e.failures = append(e.failures, itemFailure{why, what})
}

// others are the failures of other stages than these.
func (e *engine) others(known []itemFailure) []itemFailure {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(e.failures), func(f itemFailure) bool {
		return slices.ContainsFunc(known, func(k itemFailure) bool { return k.failure.stage == f.failure.stage })
	})
	slices.SortFunc(all, func(a, b itemFailure) int { return cmp.Compare(a.failure.stage.rank, b.failure.stage.rank) })
	return all
}

// watch stops the run when ctx ends.
func (e *engine) watch(ctx context.Context) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		e.halt()
	})
	e.unhook = sync.OnceFunc(func() {
		if !stop() {
			<-done
		}
	})
}

// halt stops everything. Nothing more comes out of the last queue.
func (e *engine) halt() {
	e.halted.Store(true)
	e.cancel()
	e.stages[len(e.stages)-1].halt()
}

// close stops everything, waits until it has stopped, but not longer than ctx, and discards what is left. Operations that still run
// dispose of their results themselves.
func (e *engine) close(ctx context.Context) error {
	e.halt()
	e.unhook()
	select {
	case <-e.idle:
	case <-ctx.Done():
	}
	e.endWatch(ctx)
	e.ended.CompareAndSwap(0, int64(e.now()))
	for _, s := range e.stages {
		s.queue.drain()
	}
	e.discardHeld()
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(errors.Join(e.complaints...), e.busy())
}

// busy is an error while operations run.
func (e *engine) busy() error {
	var all []BusyStage
	for _, s := range e.stages {
		if n := s.present.Load() + s.abandoned.Load(); n > 0 {
			all = append(all, BusyStage{s.name, int(n)})
		}
	}
	if all == nil {
		return nil
	}
	return &BusyError{all}
}
