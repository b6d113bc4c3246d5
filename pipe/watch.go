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
		if err := guard(func() error { inner, end = hook(ctx, Task{Stage: s.name, In: in}); return nil }); err != nil {
			lose(in)
			return out, &HookError{err}
		}
		if inner == nil {
			inner = ctx
		}
		began := time.Now()
		out, err = call(inner, f, in)
		if end == nil {
			return out, err
		}
		took := time.Since(began)
		if bad := guard(func() error { end(Outcome{out, err, took}); return nil }); bad != nil {
			if err == nil {
				discard(out)
			}
			return out, &HookError{bad}
		}
		return out, err
	}
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
			err := guard(func() error { _, end = hook(ctx, Task{Stage: s.name, In: pos}); return nil })
			pos++
			if began = time.Now(); err != nil {
				end = nil
				yield(none, &HookError{err})
			}
			return err == nil
		}
		tell := func(out any, err error) (bad error) {
			tell, took := end, time.Since(began)
			if end = nil; tell != nil {
				bad = guard(func() error { tell(Outcome{out, err, took}); return nil })
			}
			return bad
		}
		defer func() {
			if end != nil { // the source has panicked, which is told when the stage has recovered
				_ = tell(nil, errPanicked)
			}
		}()
		if !ask() {
			return
		}
		for v, err := range items {
			if bad := tell(v, err); bad != nil {
				if err == nil {
					discard(v)
				}
				yield(none, &HookError{bad})
				return
			}
			if !yield(v, err) || !ask() {
				return
			}
		}
		if bad := tell(nil, io.EOF); bad != nil {
			yield(none, &HookError{bad})
		}
	}
}

var errPanicked = errors.New("pipe: the source has panicked")

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
