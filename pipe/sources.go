package pipe

import (
	"context"
	"iter"
)

// SourceFunc is a function that is a [Source].
type SourceFunc[T any] func(ctx context.Context, epoch int, pos int64) iter.Seq2[T, error]

// Items calls f.
func (f SourceFunc[T]) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[T, error] {
	return f(ctx, epoch, pos)
}

// Slice is a source of the elements of a slice, the same in each epoch. The slice must
// not change while a run reads it.
func Slice[T any](all []T) Source[T] {
	return SourceFunc[T](func(_ context.Context, _ int, pos int64) iter.Seq2[T, error] {
		return func(yield func(T, error) bool) {
			for _, v := range all[min(pos, int64(len(all))):] {
				if !yield(v, nil) {
					return
				}
			}
		}
	})
}

// Count is a source of the numbers 0 … n-1, the same in each epoch; with an n below 0
// they have no end.
func Count(n int) Source[int] {
	return SourceFunc[int](func(_ context.Context, _ int, pos int64) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := int(pos); (n < 0 || i < n) && yield(i, nil); i++ {
			}
		}
	})
}

// Seq is a source of what a sequence yields. Each epoch iterates over it again, so it has
// to yield the same items each time. It has no positions to go to: a resumed run iterates
// from the start, and disposes of what was finished, as Discard says.
func Seq[T any](seq iter.Seq[T]) Source[T] {
	if seq == nil {
		return nil
	}
	return sequence[T](func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	})
}

// Seq2 is [Seq] for sequences that yield errors: each is the failure of its item.
func Seq2[T any](seq iter.Seq2[T, error]) Source[T] {
	if seq == nil {
		return nil
	}
	return sequence[T](seq)
}

// A sequence is a source that can only be read from its start.
type sequence[T any] iter.Seq2[T, error]

// Items leaves out what is before pos.
func (s sequence[T]) Items(ctx context.Context, _ int, pos int64) iter.Seq2[T, error] {
	return s.from(ctx, pos, func(T) {})
}

// from gives discard what is before pos.
func (s sequence[T]) from(ctx context.Context, pos int64, discard func(T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		at := int64(0)
		for v, err := range s {
			if at++; at <= pos {
				if err == nil {
					discard(v)
				}
				if ctx.Err() != nil {
					return
				}
				continue
			}
			if !yield(v, err) {
				return
			}
		}
	}
}
