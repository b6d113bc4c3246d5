package group

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/pipe"
)

// BudgetOpts are the settings of [Budget].
type BudgetOpts struct {
	Budget   int // the greatest sum of the costs of a batch: bytes, tokens; required
	Size     int // the most samples of a batch; 0: no limit
	Overlong Overlong
}

// Check returns what is wrong with the settings.
func (o BudgetOpts) Check() error {
	if o.Budget < 1 || o.Size < 0 {
		return fmt.Errorf("group: batches of %d samples and a budget of %d: the budget must be at least 1, "+
			"and no size below 0", o.Size, o.Budget)
	}
	return o.Overlong.check()
}

// Budget makes aggregators that take samples as they come, as long as the sum of their
// costs is at most the budget. The shape of a batch is that sum. A sample without a
// cost counts as one of 1.
//
// A batch ends before the first sample that does not fit, and what is held then is this
// sample alone.
func Budget[T any](cost func(T) int, o BudgetOpts) (begin func() pipe.Aggregator[T, Placed[T, int]], err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return func() pipe.Aggregator[T, Placed[T, int]] { return &budget[T]{cost: cost, opts: o} }, nil
}

type budget[T any] struct {
	cost func(T) int
	opts BudgetOpts
	sum  int
	held []pipe.Held[T]
}

func (b *budget[T]) Add(_ context.Context, v pipe.Held[T], e *pipe.Emitter[T, Placed[T, int]]) error {
	n, err := b.opts.Overlong.Fit(b.cost(v.Value), b.opts.Budget)
	if err != nil {
		return err
	}
	n = max(n, 1) // a batch of samples without a cost would not end
	if n > b.opts.Budget-b.sum {
		b.emit(e)
	}
	b.held, b.sum = append(b.held, v), b.sum+n
	if b.sum == b.opts.Budget || len(b.held) == b.opts.Size {
		b.emit(e)
	}
	return nil
}

func (b *budget[T]) Flush(_ context.Context, e *pipe.Emitter[T, Placed[T, int]]) error {
	b.emit(e)
	return nil
}

func (b *budget[T]) emit(e *pipe.Emitter[T, Placed[T, int]]) {
	emit(e, b.sum, b.held)
	b.held, b.sum = b.held[:0], 0
}
