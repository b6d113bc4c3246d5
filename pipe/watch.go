package pipe

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// watched is an operation with the hook around it: itself where there is none. An item for which it is not called goes to lose, and a
// result that is not handed on to discard.
func watched[In, Out any](s *stage, f func(context.Context, In) (Out, error), lose func(In), discard func(Out)) func(context.Context, In) (Out, error) {
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
		err = guarded(op, func() {
			err = errGoexit
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
	err := guarded(func() error { hook(); return nil }, func() {
		count(ctx, func(w *worker) { w.why = &HookError{errGoexit} })
		exit()
	})
	if err != nil {
		err = &HookError{err}
	}
	return err
}

// watchedFill is watched for the operation of a Fill.
func watchedFill[In, B any](s *stage, op func(context.Context, In, seat[B]) error, lose func(In)) func(context.Context, In, seat[B]) error {
	if s.engine.hooks.Task == nil {
		return op
	}
	return func(ctx context.Context, in In, to seat[B]) error {
		write := func(ctx context.Context, in In) (B, error) { return to.lot.b, op(ctx, in, to) }
		_, err := watched(s, write, lose, func(B) {})(ctx, in)
		return err
	}
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
			if end != nil { // the source has panicked, which is told when the stage has recovered
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

// watchedAggregator is watched for Add and Flush.
type watchedAggregator[In, Out any] struct {
	of    Aggregator[In, Out]
	stage *stage
}

func (a watchedAggregator[In, Out]) Add(ctx context.Context, v Held[In], e *Emitter[In, Out]) error {
	add := func(ctx context.Context) error { return a.of.Add(ctx, v, e) }
	return a.watch(ctx, v.Value, add, e)
}

func (a watchedAggregator[In, Out]) Flush(ctx context.Context, e *Emitter[In, Out]) error {
	flush := func(ctx context.Context) error { return a.of.Flush(ctx, e) }
	return a.watch(ctx, nil, flush, e)
}

func (a watchedAggregator[In, Out]) watch(ctx context.Context, in any, f func(context.Context) error, e *Emitter[In, Out]) error {
	before := e.emitted
	count := func(ctx context.Context, _ any) (int, error) {
		err := f(ctx)
		return e.emitted - before, err
	}
	_, err := watched(a.stage, count, func(any) {}, func(int) {})(ctx, in)
	return err
}
