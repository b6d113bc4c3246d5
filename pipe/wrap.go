package pipe

import (
	"context"
	"slices"
	"time"
)

// Wrapped is an operation with others around it. Op makes it one for a Map.
type Wrapped[In, Out any] struct {
	f      func(context.Context, In) (Out, error)
	around []func(func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error)
}

// Wrap puts operations around f, from the outside in: each is around those that are named
// after it, and the last around f.
//
//	pipe.Wrap(decode).Replace(gray).Retry(pipe.Backoff{Times: 3}).Limit(time.Second, nil).Op()
//
// gives every try a second, tries three times more, and makes a replacement when the last
// one has failed. It is Replace(Retry(Limit(decode, …), …), gray).
func Wrap[In, Out any](f func(context.Context, In) (Out, error)) Wrapped[In, Out] {
	return Wrapped[In, Out]{f: f}
}

func (w Wrapped[In, Out]) with(one func(func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error)) Wrapped[In, Out] {
	w.around = append(slices.Clip(w.around), one)
	return w
}

// Retry is the function [Retry] around what follows.
func (w Wrapped[In, Out]) Retry(b Backoff) Wrapped[In, Out] {
	return w.with(func(f func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
		return Retry(f, b)
	})
}

// Replace is the function [Replace] around what follows.
func (w Wrapped[In, Out]) Replace(by func(context.Context, In, error) (Out, error)) Wrapped[In, Out] {
	return w.with(func(f func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
		return Replace(f, by)
	})
}

// DeadLetters is the function [DeadLetters] around what follows.
func (w Wrapped[In, Out]) DeadLetters(sink func(ctx context.Context, in In, err error)) Wrapped[In, Out] {
	return w.with(func(f func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
		return DeadLetters(f, sink)
	})
}

// Limit is the function [Limit] around what follows.
func (w Wrapped[In, Out]) Limit(most time.Duration, discard func(Out)) Wrapped[In, Out] {
	return w.with(func(f func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
		return Limit(f, most, discard)
	})
}

// Op is the operation with all that is around it.
func (w Wrapped[In, Out]) Op() func(context.Context, In) (Out, error) {
	f := w.f
	for _, around := range slices.Backward(w.around) {
		f = around(f)
	}
	return f
}
