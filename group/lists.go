package group

import (
	"context"

	"github.com/headrace/headrace/pipe"
)

// Lists makes aggregators for samples whose batches are known before: list says which
// one a sample belongs to, and whether it is the last there. The samples of a list come
// one after the other. Where the last one is lost, the batch ends before the next list.
func Lists[T any](list func(T) (number int64, last bool)) (begin func() pipe.Aggregator[T, Placed[T, int]]) {
	return func() pipe.Aggregator[T, Placed[T, int]] { return &lists[T]{list: list} }
}

type lists[T any] struct {
	list   func(T) (int64, bool)
	number int64 // of the list that is held
	held   []pipe.Held[T]
}

func (l *lists[T]) Add(_ context.Context, v pipe.Held[T], e *pipe.Emitter[T, Placed[T, int]]) error {
	number, last := l.list(v.Value)
	if number != l.number {
		l.emit(e)
	}
	l.number, l.held = number, append(l.held, v)
	if last {
		l.emit(e)
	}
	return nil
}

func (l *lists[T]) Flush(_ context.Context, e *pipe.Emitter[T, Placed[T, int]]) error {
	l.emit(e)
	return nil
}

func (l *lists[T]) emit(e *pipe.Emitter[T, Placed[T, int]]) {
	if len(l.held) > 0 {
		emit(e, 0, l.held)
		l.held = l.held[:0]
	}
}
