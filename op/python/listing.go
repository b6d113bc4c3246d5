package python

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Listing is a function that is given the samples of a batch, as a list, and gives the
// fields of the batch, in a chain of a merge or route.
type Listing struct{ *Function }

// NewListing makes such a function of a step, and returns the fields after it.
func NewListing(w *core.Env, s recipe.Step, in sample.Schema, where *record.Columns) (*Listing, sample.Schema, error) {
	args := recipe.TraitsOf(s.Args).Batches.Collate
	next := &Listing{&Function{Env: w, Name: s.Name}}
	o := extern.Options{Kind: extern.Collate, In: args.Takes(in), Gives: args.Gives.Schema}
	next.Begin(o.In, where)
	next.gives(o.Gives, in, o.Gives, where)
	return next, o.Gives, next.open(&args.Python, o, s.Failures)
}

// Make gives a batch the values that the function returns for its members. What it takes
// is known when it is there, and before that there has to be room for as much as workers
// make unasked.
func (c *Listing) Make(ctx context.Context, it *record.Record) error {
	room, err := c.Env.Await(ctx, it, c.Pool.Ahead())
	if err != nil {
		return err
	}
	it.Working.Release() // of the last try
	it.Working = room
	call := c.CallOf(it.Members)
	if err := c.Ask(ctx, call); err != nil {
		return c.blame(it, err)
	}
	if err := c.fill(it, call.Out, nil); err != nil {
		return c.blame(it, err)
	}
	it.Working.Resize(it.Values.Held())
	return nil
}

func (c *Listing) blame(it *record.Record, err error) error {
	if pipe.Stops(err) {
		return err
	}
	return fmt.Errorf("the first of %d samples that %s was given: %w", len(it.Members), c.Name, err)
}

// CallOf returns the function's call for a list of samples. Its random numbers depend on
// the first of them.
func (p *Function) CallOf(all []*record.Record) *extern.Call {
	first := all[0]
	key := p.Env.RandomKey(first)
	call := &extern.Call{ID: first.ID, Key: first.Key, Rows: len(all),
		Random: [2]uint64{key.Uint64(p.DrawID, 0), key.Uint64(p.DrawID, 1)}}
	if p.Env.Ledger {
		first.Drew(p.Name, map[string]any{"key": call.Random})
	}
	for _, it := range all {
		for i := range p.In {
			call.In = append(call.In, p.Load(it, &p.In[i]))
		}
	}
	return call
}
