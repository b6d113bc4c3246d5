package group

import (
	"context"

	"github.com/headrace/headrace/pipe"
)

// Gather returns the aggregator of an epoch that makes lists of samples that were placed:
// one of each batch, in its order.
func Gather[T, S any]() pipe.Aggregator[Placed[T, S], []T] { return &gather[T, S]{} }

type gather[T, S any] struct{ held []pipe.Held[Placed[T, S]] }

// Add implements [pipe.Aggregator].
func (g *gather[T, S]) Add(ctx context.Context, v pipe.Held[Placed[T, S]], e *pipe.Emitter[Placed[T, S], []T]) error {
	if g.held = append(g.held, v); v.Value.Last() {
		return g.Flush(ctx, e)
	}
	return nil
}

// Flush implements [pipe.Aggregator].
func (g *gather[T, S]) Flush(_ context.Context, e *pipe.Emitter[Placed[T, S], []T]) error {
	if len(g.held) == 0 {
		return nil
	}
	list := make([]T, len(g.held))
	for i, h := range g.held {
		list[i] = h.Value.Item
	}
	e.Emit(list, g.held...)
	g.held = nil
	return nil
}
