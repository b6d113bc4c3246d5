package pipe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// An engine is the part of a run that has no types: its stages, and what stops them.
type engine struct {
	*worker.Run
	ctx         context.Context
	cancel      context.CancelFunc
	hooks       Hooks
	stages      []*stage      // from the source on
	unhook      func()        // forgets the context that Start was given
	discardHeld func()        // disposes of what the consumer has at hand
	stop        chan struct{} // closed when nobody is to watch any more
	stopWatch   func()
	over        chan struct{} // closed when nobody does

	halted  atomic.Bool
	unsound atomic.Pointer[StageError] // the hook at a stage's end has panicked

	mu       sync.Mutex
	failures []failure.ItemFailure // what stops the run: of each stage the first in the order of the source
}

func newEngine(ctx context.Context, hooks Hooks, watched bool) *engine {
	e := &engine{hooks: hooks}
	ctx, e.Run = worker.NewRun(ctx)
	e.Run.Watched, e.Run.Span, e.Run.Spans, e.Run.Halt = watched, hooks.Span, hooks.Spans, e.halt
	e.ctx, e.cancel = context.WithCancel(ctx)
	e.Run.Ctx = e.ctx
	return e
}

// endFailed notes that the hook at a stage's end has panicked. It ends nothing: the stage
// has done all that it had to do, and what it has made, or the failure that it was
// stopped for, is on its way to the consumer.
func (e *engine) endFailed(s *stage, why error) {
	e.Complain(s.wrong("%w", why))
	e.unsound.CompareAndSwap(nil, &StageError{Stage: s.name, Epoch: -1, Pos: -1, Err: why})
}

// note remembers a failure that stops the run, if that is read before another one does.
func (e *engine) note(why *failure.Failure, what progress.Lineage) {
	if why == nil {
		return // of what ends because another has failed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, f := range e.failures {
		if f.Failure.From != why.From {
			continue
		}
		if at, ok := what.First(); ok {
			if before, ok := f.Lineage.First(); !ok || at < before {
				e.failures[i] = failure.ItemFailure{Failure: why, Lineage: what}
			}
		}
		return
	}
	e.failures = append(e.failures, failure.ItemFailure{Failure: why, Lineage: what})
}

// others are the failures of other stages than these.
func (e *engine) others(known []failure.ItemFailure) []failure.ItemFailure {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(e.failures), func(f failure.ItemFailure) bool {
		return slices.ContainsFunc(known, func(k failure.ItemFailure) bool { return k.Failure.From == f.Failure.From })
	})
	slices.SortFunc(all, func(a, b failure.ItemFailure) int { return cmp.Compare(a.Failure.From.Rank, b.Failure.From.Rank) })
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

// close stops everything, waits until it has stopped, but not longer than ctx, and
// discards what is left. Operations that still run dispose of their results themselves.
func (e *engine) close(ctx context.Context) error {
	e.halt()
	e.unhook()
	select {
	case <-e.Idle:
	case <-ctx.Done():
	}
	e.endWatch(ctx)
	e.End()
	for _, s := range e.stages {
		s.queue.Drain()
	}
	e.discardHeld()
	return errors.Join(e.Complained(), e.busy())
}

// busy is an error while operations run.
func (e *engine) busy() error {
	var all []BusyStage
	for _, s := range e.stages {
		if n := s.Present.Load() + s.Abandoned.Load(); n > 0 {
			all = append(all, BusyStage{Stage: s.name, Operations: int(n)})
		}
	}
	if all == nil {
		return nil
	}
	return &BusyError{Stages: all}
}
