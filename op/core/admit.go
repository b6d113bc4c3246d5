package core

import (
	"context"
	"errors"

	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
)

// Admit waits until there are bytes for a sample that was made. Where it fails the sample
// is gone.
func (w *Env) Admit(ctx context.Context, it *record.Record) (err error) {
	if it.Working, err = w.Await(ctx, it, it.Values.Held()); err != nil {
		w.Drop(it)
	}
	return err
}

// Charge counts the bytes of a sample that was made, and waits for none: the worker that
// makes it may be needed by whoever has them.
func (w *Env) Charge(_ context.Context, it *record.Record) error {
	lane, of := it.Lane()
	it.Working = lane.Charge(w.Age(of), ForDecoder, it.Values.Held())
	return nil
}

// Await waits for bytes in the name of a sample, in the middle of what is made of it.
func (w *Env) Await(ctx context.Context, it *record.Record, n int64) (g budget.Grant, err error) {
	lane, of := it.Lane()
	err = pipe.WaitBlocked(ctx, func() error {
		g, err = lane.Acquire(ctx, w.Age(of), ForDecoder, n)
		return err
	})
	if err != nil {
		g.Release() // they were granted, and the run has ended since
		return budget.Grant{}, err
	}
	return g, nil
}

// Lose is why no sample that was gathered can be made again alone.
func (w *Env) Lose(_ context.Context, it *record.Record) (*record.Record, error) {
	w.Drop(it)
	return nil, errGathered
}

var errGathered = errors.New("headrace: what is made of several samples cannot be made again")
