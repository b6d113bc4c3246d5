package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// HeadspaceOpts are the settings of MeasureHeadspace.
type HeadspaceOpts struct {
	Items    int // steps that are timed, each way; 0: 100
	Cached   int // items that are kept; 0: 8
	Epoch    int
	Failures Policy // for all stages that have no policy of their own
}

// MeasureHeadspace tells how much faster a consumer would be if its items cost nothing:
// step is called for the items of a flow as they come, and then for some that were kept,
// over and over. step has to leave an item as it was; items are disposed of as Discard
// says. The first ones, which are kept, are not timed. An epoch that is too short is read
// again, as the next one.
func MeasureHeadspace[T any](ctx context.Context, f Flow[T], step func(context.Context, T) error,
	o HeadspaceOpts) (h Headspace, err error) {
	if o.Items < 0 || o.Cached < 0 || o.Items > MaxBuffer || o.Cached > MaxBuffer {
		return h, fmt.Errorf("pipe: HeadspaceOpts has %d Items and %d Cached: each must be from 1 to %d, "+
			"or 0 for the default", o.Items, o.Cached, MaxBuffer)
	}

	if o.Items == 0 {
		o.Items = 100
	}
	if o.Cached == 0 {
		o.Cached = 8
	}

	run, err := Start(ctx, f, Config{Epoch: o.Epoch, Epochs: -1, Failures: o.Failures})
	if err != nil {
		return h, err
	}
	cache := &recording[T]{drop: f.drop}
	defer cache.discardRest()
	defer func() { err = errors.Join(err, run.Close()) }()

	if err := steps(ctx, run, step, o.Cached, cache); err != nil {
		return h, err
	}

	waited, began := run.Stats().Waited, time.Now()
	if err := steps(ctx, run, step, o.Items, &recording[T]{drop: f.drop, discards: true}); err != nil {
		return h, err
	}
	h = Headspace{Items: o.Items, Flow: time.Since(began), Waited: run.Stats().Waited - waited}

	if err := run.Close(); err != nil { // which leaves the machine to the cached ones
		return h, err
	}

	began = time.Now()
	for i := range o.Items {
		if err := step(ctx, cache.items[i%o.Cached]); err != nil {
			return h, err
		}
	}
	h.Cached = time.Since(began)
	return h, nil
}

// steps is the consumer's loop.
func steps[T any](ctx context.Context, run *Run[T], step func(context.Context, T) error, n int, done *recording[T]) error {
	empty := false
	for i := 0; i < n; {
		v, err := run.Next(ctx)
		if err == io.EOF && !empty {
			empty = true
			continue
		}
		if err == io.EOF {
			return errors.New("pipe: there is no headspace to measure: the flow's epochs are empty")
		}
		if err != nil {
			return err
		}
		empty = false
		err = step(ctx, v)
		done.record(v)
		if err != nil {
			return err
		}
		i++
	}
	return nil
}
