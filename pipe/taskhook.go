package pipe

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// watched is an operation with the hook around it: itself where there is none. An item
// for which it is not called goes to lose, and a result that is not handed on to discard.
func watched[In, Out any](s *stage, f func(context.Context, In) (Out, error), lose func(In),
	discard func(Out)) func(context.Context, In) (Out, error) {
	hook := s.engine.hooks.Task
	if hook == nil {
		return f
	}

	return func(ctx context.Context, in In) (out Out, err error) {
		inner, end := ctx, (func(Outcome))(nil)
		lost := func() { lose(in) }
		if err := guardedHook(ctx, func() { inner, end = hook(ctx, Task{Stage: s.name, In: in}) }, lost); err != nil {
			lost()
			return out, err
		}
		if inner == nil {
			inner = ctx
		}

		began := time.Now()
		tell := func() error {
			if end == nil {
				return nil
			}
			took := time.Since(began)
			unused := func() {
				if err == nil {
					discard(out)
				}
			}
			bad := guardedHook(ctx, func() { end(Outcome{out, err, took}) }, unused)
			if bad != nil {
				unused()
			}
			return bad
		}

		op := func() (err error) { out, err = f(inner, in); return err }
		err = failure.Guarded(op, func() {
			err = failure.ErrGoexit
			tell()
		})

		if bad := tell(); bad != nil {
			return out, bad
		}
		return out, err
	}
}

// guardedHook is guarded for a hook of the operation with this context.
func guardedHook(ctx context.Context, hook func(), exit func()) error {
	err := failure.Guarded(func() error { hook(); return nil }, func() {
		count(ctx, func(w *worker.Worker) { w.ExitError = &HookError{Err: failure.ErrGoexit} })
		exit()
	})
	if err != nil {
		err = &HookError{Err: err}
	}
	return err
}

// watchedItems is watched for the items of a source.
func watchedItems[T any](ctx context.Context, s *stage, items iter.Seq2[T, error], pos int64, discard func(T)) iter.Seq2[T, error] {
	hook := s.engine.hooks.Task
	if hook == nil {
		return items
	}

	return func(yield func(T, error) bool) {
		var none T
		var began time.Time
		var end func(Outcome)

		ask := func() bool {
			err := guardedHook(ctx, func() { _, end = hook(ctx, Task{Stage: s.name, In: pos}) }, func() {})
			pos++
			if began = time.Now(); err != nil {
				end = nil
				yield(none, err)
			}
			return err == nil
		}

		tell := func(out any, err error, unused func()) (bad error) {
			tell, took := end, time.Since(began)
			if end = nil; tell != nil {
				bad = guardedHook(ctx, func() { tell(Outcome{out, err, took}) }, unused)
			}
			return bad
		}

		nothing := func() {}
		defer func() {
			if end != nil { // the source has panicked: reported when the stage has recovered
				_ = tell(nil, errPanicked, nothing)
			}
		}()

		if !ask() {
			return
		}

		for v, err := range items {
			unused := func() {
				if err == nil {
					discard(v)
				}
			}
			if bad := tell(v, err, unused); bad != nil {
				unused()
				yield(none, bad)
				return
			}
			if !yield(v, err) || !ask() {
				return
			}
		}

		if bad := tell(nil, io.EOF, nothing); bad != nil {
			yield(none, bad)
		}
	}
}

var errPanicked = errors.New("pipe: the source has panicked, or ended its goroutine")
