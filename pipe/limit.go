package pipe

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Limit returns an operation for a Map that takes no longer than most for an item, and a
// tenth of it more: then the context of f ends, and an f that does not return within that
// tenth is abandoned. In both cases the item has failed, with a *LimitError.
//
// An abandoned operation goes on in a goroutine of its own until it returns, holding its
// item but no place of its Gate, and what it makes is given to discard, which may be nil.
// When more operations of a stage are abandoned at a time than it has Workers, the run
// stops, whatever the policy. It is not for operations that share something with the next
// one of their worker, as with MapWith.
func Limit[In, Out any](f func(context.Context, In) (Out, error), most time.Duration,
	discard func(Out)) func(context.Context, In) (Out, error) {
	if f == nil || most <= 0 {
		return f
	}
	return limited(f, most, func(In) {}, func(_ In, out Out, err error) {
		if err == nil && discard != nil {
			discard(out)
		}
	})
}

// limited is Limit for those who have to know which operations are abandoned: left is
// called when one is, and after that returned, when such a one has returned.
func limited[In, Out any](f func(context.Context, In) (Out, error), most time.Duration, left func(In),
	returned func(In, Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		inner, stop := context.WithTimeout(ctx, most)
		defer stop()
		t := &attempt[Out]{over: make(chan struct{})}
		if w, ok := worker.Of(ctx); ok {
			inner = t.lend(inner, w)
		}

		go func() {
			defer t.end(func() { returned(in, t.out, t.err) })
			t.err = failure.ErrGoexit
			t.out, t.err = failure.Call(inner, f, in)
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
				return none, t.abandon(most)
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

// RunContext returns the context of the run to which the context of an operation belongs.
// It lasts until the run is stopped, and so longer than the operation and its stage:
// files that an operation opens for one of a later stage need it.
func RunContext(ctx context.Context) context.Context {
	if w, ok := worker.Of(ctx); ok {
		return w.Set.Run.Ctx
	}
	return ctx
}

// An attempt is a call of an operation with a limit. Anyone who settles it first, the
// operation or the clock, decides.
type attempt[Out any] struct {
	settled atomic.Bool
	over    chan struct{} // closed when it is known who was first
	out     Out
	err     error
	worker  *worker.Worker // whose time it is; nil outside of a run
	standIn *worker.Worker // stands in for it in the operation, which may outlive it
}

// lend gives the operation a worker of its own, with the permit.
func (t *attempt[Out]) lend(ctx context.Context, w *worker.Worker) context.Context {
	t.worker = w
	t.standIn = w.Set.NewWorker()
	t.standIn.Gate, t.standIn.Permit.Permit, w.Permit.Permit = w.Gate, w.Permit.Permit, -1
	t.standIn.OnBehalf(ctx)
	return t.standIn.Ctx
}

// giveBack ends the loan after an operation that has returned.
func (t *attempt[Out]) giveBack() {
	if t.worker != nil {
		t.worker.Permit.Permit = t.standIn.Permit.Permit
		t.worker.AddCounts(t.standIn)
		t.worker.Worked.Add(t.standIn.Worked.Load())
	}
}

// abandon lets the worker go on without the operation.
func (t *attempt[Out]) abandon(most time.Duration) error {
	if t.worker == nil {
		return failure.AbandonedAfter(most, false)
	}
	s := t.worker.Set
	t.worker.Abandoned.Add(1)
	if t.standIn.Gate != nil {
		t.standIn.Permit.Abandon(t.standIn.Gate)
		t.worker.EnterGate() // false when the run was stopped, which the caller sees
	}
	return failure.AbandonedAfter(most, s.Abandoned.Add(1) > s.Number.Load())
}

// end is the operation's return.
func (t *attempt[Out]) end(returned func()) {
	if t.settled.CompareAndSwap(false, true) {
		close(t.over)
		return
	}
	<-t.over
	err := failure.InOwnGoroutine(func() error { returned(); return nil })
	if err != nil && t.worker != nil {
		t.worker.Set.Run.Complain(fmt.Errorf("pipe: stage %s: discarding an item: %w", t.worker.Set.Stage, err))
	}
	if t.worker != nil {
		t.standIn.LeaveGate()
		t.worker.AddCounts(t.standIn)
		t.worker.Set.Abandoned.Add(-1)
	}
}
