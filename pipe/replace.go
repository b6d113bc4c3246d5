package pipe

import (
	"context"
	"errors"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Replace returns an operation for a Map that makes something else of an item for which f
// has failed: what by makes of the item and the error. The item has failed only when by
// fails too. Replaced items are counted in the stage's statistics.
func Replace[In, Out any](f func(context.Context, In) (Out, error),
	by func(context.Context, In, error) (Out, error)) func(context.Context, In) (Out, error) {
	if f == nil || by == nil {
		return nil
	}
	return func(ctx context.Context, in In) (Out, error) {
		out, err := failure.Call(ctx, f, in)
		if !isFailure(ctx, err) {
			return out, err
		}
		out, err = by(ctx, in, err)
		if err == nil {
			count(ctx, func(w *worker.Worker) { w.Replaced.Add(1) })
		}
		return out, err
	}
}

// DeadLetters returns an operation for a Map that gives the items for which f has failed
// to sink, with the error. They have failed all the same, and are lost or stop the run as
// the policy says. The sink is called by several workers at once.
func DeadLetters[In, Out any](f func(context.Context, In) (Out, error),
	sink func(ctx context.Context, in In, err error)) func(context.Context, In) (Out, error) {
	if f == nil || sink == nil {
		return nil
	}
	return func(ctx context.Context, in In) (Out, error) {
		out, err := failure.Call(ctx, f, in)
		if isFailure(ctx, err) {
			sink(ctx, in, err)
		}
		return out, err
	}
}

// isFailure tells whether an error is an item's failure: not a dropped item, and not the
// end of the run.
func isFailure(ctx context.Context, err error) bool {
	return err != nil && !errors.Is(err, failure.Skip) && ctx.Err() == nil && !Stops(err)
}
