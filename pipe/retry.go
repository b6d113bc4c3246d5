package pipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A Backoff says how often an operation is tried again, and how long to wait before.
type Backoff struct {
	Times int              // how often an item is tried again
	First time.Duration    // the wait before the first retry; each further one waits twice as long
	Most  time.Duration    // but not longer than this; 0: no limit
	If    func(error) bool // whether an error may pass; nil: any, also a panic
}

// A RetryError is the failure of the last of several tries.
type RetryError struct {
	Tries int
	Err   error // of the last one
}

func (e *RetryError) Error() string { return fmt.Sprintf("%v (tried %d times)", e.Err, e.Tries) }

func (e *RetryError) Unwrap() error { return e.Err }

// tried says of a failure how often its operation was tried, if more than once.
func tried(err error, again int) error {
	if err == nil || again == 0 || errors.Is(err, failure.Skip) {
		return err
	}
	return &RetryError{again + 1, err}
}

// Retry returns an operation that calls f again when it has failed, for a Map. An item
// has failed when its last try has: of several, with a
// *RetryError. The operation must
// leave its item as it was when it fails. While it waits it holds no permit of a gate.
// Skip is no failure.
func Retry[In, Out any](f func(context.Context, In) (Out, error), b Backoff) func(context.Context, In) (Out, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, in In) (out Out, err error) {
		wait := b.First
		for tries := 0; ; tries++ {
			out, err = failure.Call(ctx, f, in)
			switch {
			case err == nil,
				tries >= b.Times,
				!isFailure(ctx, err) && !passing(ctx, err), // Skip, or the end of the run
				b.If != nil && !b.If(err):
				return out, tried(err, tries)
			}
			if b.Most > 0 {
				wait = min(wait, b.Most)
			}
			if !pause(ctx, wait) {
				return out, tried(err, tries)
			}
			count(ctx, func(w *worker.Worker) { w.Retried.Add(1) })
			wait += min(wait, math.MaxInt64-wait)
		}
	}
}

// passing tells whether an error may pass although it is no item's: others give back what
// the machine lacks.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !failure.Declared(err) && failure.Shortage(err)
}

// pause waits without a permit. It returns false when the run was stopped meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	return Ungated(ctx, func() error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}) == nil
}

// count does something to the counters of the worker that an operation runs in, if it
// does.
func count(ctx context.Context, f func(*worker.Worker)) {
	if w, ok := worker.Of(ctx); ok {
		f(w)
	}
}
