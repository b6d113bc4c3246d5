package pipe

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Limit returns an operation for a Map that takes no longer than most for an item, and a tenth of it more: then the context of f ends, and
// an f that does not return within that tenth is abandoned. In both cases the item has failed, with a *LimitError.
//
// An abandoned operation goes on in a goroutine of its own until it returns, holding its item but no place of its Gate, and what it
// makes is given to discard, which may be nil. When more operations of a stage are abandoned at a time than it has Workers, the run
// stops, whatever the policy. It is not for operations that share something with the next one of their worker, as with MapWith.
func Limit[In, Out any](f func(context.Context, In) (Out, error), most time.Duration, discard func(Out)) func(context.Context, In) (Out, error) {
	if f == nil || most <= 0 {
		return f
	}
	return limited(f, most, func(In) {}, func(_ In, out Out, err error) {
		if err == nil && discard != nil {
			discard(out)
		}
	})
}

// limited is Limit for those who have to know which operations are abandoned: left is called when one is, and after that
// returned, when such a one has returned.
func limited[In, Out any](f func(context.Context, In) (Out, error), most time.Duration, left func(In), returned func(In, Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		inner, stop := context.WithTimeout(ctx, most)
		defer stop()
		t := &attempt[Out]{over: make(chan struct{})}
		if w, ok := ctx.Value(workerKey{}).(*worker); ok {
			inner = t.lend(inner, w)
		}

		go func() {
			defer t.end(func() { returned(in, t.out, t.err) })
			t.err = errGoexit
			t.out, t.err = call(inner, f, in)
		}()

		patience := time.NewTimer(most + min(most/10, math.MaxInt64-most))
		defer patience.Stop()
		select {
		case <-t.over:
		case <-patience.C:
			if t.settled.CompareAndSwap(false, true) {
				left(in)
				close(t.over)
				var none Out
				return none, t.abandon(ctx, most)
			}
			<-t.over
		}

		t.giveBack()
		if t.err != nil && inner.Err() == context.DeadlineExceeded && ctx.Err() == nil {
			t.err = &LimitError{Limit: most, Err: t.err}
		}
		return t.out, t.err
	}
}

// An attempt is a call of an operation with a limit. Whoever settles it first, the operation or the clock, decides.
type attempt[Out any] struct {
	settled atomic.Bool
	over    chan struct{} // closed when it is known who was first
	out     Out
	err     error
	worker  *worker // whose time it is; nil outside of a run
	deputy  *worker // stands in for it in the operation, which may outlive it
}

// lend gives the operation a worker of its own, with the permit.
func (t *attempt[Out]) lend(ctx context.Context, w *worker) context.Context {
	t.worker = w
	t.deputy = w.stage.newWorker()
	t.deputy.gate, t.deputy.permit, w.permit = w.gate, w.permit, -1
	t.deputy.ctx = context.WithValue(ctx, workerKey{}, t.deputy)
	return t.deputy.ctx
}

// giveBack ends the loan after an operation that has returned.
func (t *attempt[Out]) giveBack() {
	if t.worker != nil {
		t.worker.permit = t.deputy.permit
		t.deputy.tell(t.worker)
		if t.deputy.reported.Load() {
			t.worker.worked.Add(t.deputy.worked.Load())
			t.worker.reported.Store(true)
		}
	}
}

// abandon lets the worker go on without the operation.
func (t *attempt[Out]) abandon(ctx context.Context, most time.Duration) error {
	e := &LimitError{Limit: most, Abandoned: true}
	if t.worker == nil {
		return e
	}
	s := t.worker.stage
	t.worker.abandoned.Add(1)
	if t.deputy.gate != nil {
		t.deputy.gate.abandon(t.deputy)
		t.worker.enter() // false when the run was stopped, which the caller sees
	}
	e.stops = s.abandoned.Add(1) > s.number.Load()
	return e
}

// end is the operation's return.
func (t *attempt[Out]) end(returned func()) {
	if t.settled.CompareAndSwap(false, true) {
		close(t.over)
		return
	}
	<-t.over
	err := inOwnGoroutine(func() error { returned(); return nil })
	if err != nil && t.worker != nil {
		t.worker.stage.engine.complain(fmt.Errorf("pipe: stage %s: discarding an item: %w", t.worker.stage.name, err))
	}
	if t.worker != nil {
		t.deputy.leave()
		t.deputy.tell(t.worker)
		t.worker.stage.abandoned.Add(-1)
	}
}

// tell adds what a deputy has counted to the worker's counts.
func (w *worker) tell(to *worker) {
	to.bytes.Add(w.bytes.Load())
	to.retried.Add(w.retried.Load())
	to.replaced.Add(w.replaced.Load())
}

// A LimitError is the failure of an item whose operation took longer than its Limit.
type LimitError struct {
	Limit     time.Duration
	Abandoned bool  // it had not returned, and may still run
	Err       error // what it returned, unless it was abandoned
	stops     bool
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("it took longer than %v", e.Limit)
	switch {
	case e.stops:
		text += ", and was abandoned, as one more than the stage has workers"
	case e.Abandoned:
		text += ", and was abandoned"
	case e.Err != nil:
		text += ": " + e.Err.Error()
	}
	return text
}

// Is tells that a LimitError is a context.DeadlineExceeded.
func (e *LimitError) Is(target error) bool { return target == context.DeadlineExceeded }

func (e *LimitError) Unwrap() error { return e.Err }

func (e *LimitError) stopsRun() bool { return e.stops }
