package headrace

import (
	"context"
	"errors"
	"fmt"
	"headrace/internal/ops"
	"math"
	"slices"
	"unsafe"

	"headrace/extern"
	"headrace/internal/machine"
	"headrace/internal/record"
	"headrace/pipe"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
	"headrace/tensor"
)

// collating is a function of Python that makes whole batches: it is given lists of samples. Its workers write what it makes into a slot, one array behind the other.
type collating struct {
	*ops.Function
	layout   *layout
	rows     int // samples of a batch
	dropLast bool
	make     func(context.Context, commission) (made, error) // with all that is done about failures
	refuses  bool                                            // the loader replaces samples that fail, which cannot be done with a batch
	losses   *pipe.Policy

	probes bool          // it is to be found out what the function gives
	found  sample.Schema // then
	bytes  int           // likewise: of the first batch
}

// commission is a batch to be made.
type commission struct {
	items []*record.Record
	slot  []byte // where its arrays belong
}

// made is what a function has made.
type made struct {
	values []extern.Value // those that did not fit into the slot lie elsewhere
	names  []string       // of these, where nobody has said what the function gives
}

// collateHands is how many batches are in hand for each worker: one that it makes, and one that waits for it with its slot.
const collateHands = 2

// collate makes what stands at the end of a recipe whose batches a function makes.
func (c *compiler) collate(plan fuse.Plan, rows int) (_ *collating, err error) {
	t := &c.trail
	args := plan.Batch.Collate
	next := &collating{layout: c.layout, Function: &ops.Function{Env: c.work, Name: plan.Last.Name(), PerWorker: collateHands}, rows: rows, dropLast: plan.Batch.DropLast}
	if next.probes = args.Gives.Schema == nil; next.probes {
		next.PerWorker = 1 // the first batch tells
	}
	o := extern.Options{Kind: extern.Collate, In: args.Takes(t.schema), Gives: args.Gives.Schema}
	next.Begin(o.In, &t.places)
	for _, f := range o.Gives {
		next.Out = append(next.Out, ops.Field{Name: f.Name, Type: f.Type})
	}
	if args.Where == "thread" {
		next.Shared = args.Seed
	}
	h := c.failing.Of(plan.Last.Failures, max(1, t.samples/int64(rows)))
	if next.refuses = h.Replaces; !h.Replaces {
		c.limit(next.Name, h)
	}
	next.losses = h.Policy
	next.make = next.makeOnce
	if h.Retries > 0 {
		next.make = pipe.Retry(next.make, pipe.Backoff{Times: h.Retries, First: h.Wait, Most: ops.MostWait})
	}
	if next.Pool, next.Workers, err = c.work.Host.Open(next.Name, &args.Python, o, plan.Last.Failures); err != nil {
		return nil, err
	}
	c.work.Host.Calls = append(c.work.Host.Calls, next.Function)
	return next, nil
}

// collate is the flow of batches behind the samples.
func (j joiner) collate(in pipe.Flow[*record.Record], c *collating) pipe.Flow[*Batch] {
	j.slots.packs = true // a batch is one row
	together := pipe.AggregateOpts{Name: "group " + c.Name, Buffer: 1, DropLast: c.dropLast}
	j.note(together.Name, 1, nil)
	lists := pipe.Discard(pipe.Aggregate(in, func() pipe.Aggregator[*record.Record, []*record.Record] { return &gathered{rows: c.rows} }, together), c.dropAll)

	calls := pipe.FillOpts{
		Name: c.Name, Workers: c.Workers, Hands: c.PerWorker, Staff: c.Pool.SetWorkers, Buffer: j.config.Prefetch, Ordered: j.config.Order == InputOrder, Failures: c.losses,
	}
	j.calling = append(j.calling, c.Name)
	j.note(c.Name, c.Workers, []string{c.Name})
	return pipe.Fill(lists, 1, j.slots, c.into, calls)
}

// gathered are the samples of the next batch. Nobody waits for the bytes of those that wait for others.
type gathered struct {
	rows int
	held []pipe.Held[*record.Record]
}

// Add implements pipe.Aggregator.
func (g *gathered) Add(_ context.Context, v pipe.Held[*record.Record], e *pipe.Emitter[*record.Record, []*record.Record]) error {
	v.Value.Content.Park()
	v.Value.Working.Park()
	if g.held = append(g.held, v); len(g.held) == g.rows {
		g.emit(e)
	}
	return nil
}

// Flush implements pipe.Aggregator.
func (g *gathered) Flush(_ context.Context, e *pipe.Emitter[*record.Record, []*record.Record]) error {
	if len(g.held) > 0 {
		g.emit(e)
	}
	return nil
}

func (g *gathered) emit(e *pipe.Emitter[*record.Record, []*record.Record]) {
	list := make([]*record.Record, len(g.held))
	for i, h := range g.held {
		list[i] = h.Value
	}
	held := g.held
	g.held = nil
	e.Emit(list, held...)
}

// into has a batch made of samples, which are done with then, whatever comes of it.
func (c *collating) into(ctx context.Context, items []*record.Record, b *Batch, row int) error {
	defer c.dropAll(items)
	m, err := c.make(ctx, commission{items, b.slot.Bytes()})
	switch {
	case err == nil:
		defer c.free(m)
		return c.settle(items, m, b, row)
	case ctx.Err() != nil || errors.As(err, new(*extern.StartError)):
		return err
	case c.refuses:
		err = fmt.Errorf("on_error=%q has no other batch to put in its place, so it ends the run; .failures(on_error=%q) behind batch leaves it out: %w", ops.Replace, ops.Skip, err)
	}
	return ops.Blame(items[0], fmt.Errorf("the first of %d samples that %s was given: %w", len(items), c.Name, err))
}

// makeOnce is one try.
func (c *collating) makeOnce(ctx context.Context, a commission) (m made, err error) {
	defer ops.Catch(&err)
	call := c.callOf(a)
	if err := c.Ask(ctx, call); err != nil {
		return made{}, err
	}
	m = made{call.Out, call.Names}
	for i := range c.Out {
		if err := c.Out[i].Fits(&call.Out[i]); err != nil {
			c.free(m)
			return made{}, c.Misfit(err)
		}
	}
	return m, nil
}

// callOf is the call for a list of samples. What the function draws depends on the first of them.
func (c *collating) callOf(a commission) *extern.Call {
	first := a.items[0]
	key := c.Env.RandomKey(first)
	call := &extern.Call{ID: first.ID, Key: first.Key, Rows: len(a.items), Whole: a.slot, Random: [2]uint64{key.Uint64(c.DrawID, 0), key.Uint64(c.DrawID, 1)}}
	if c.Env.Ledger {
		first.Drew(c.Name, map[string]any{"key": call.Random})
	}
	for _, it := range a.items {
		for i := range c.In {
			call.In = append(call.In, c.Load(it, &c.In[i]))
		}
	}
	return call
}

// settle makes the slot's batch of what was made: where that is larger than the slot, in a larger one.
func (c *collating) settle(items []*record.Record, m made, b *Batch, row int) error {
	c.sign(items, b, row)
	if c.probes {
		if err := c.note(m); err != nil {
			return ops.Blame(items[0], err)
		}
		return nil
	}
	if len(c.layout.forms) == 0 {
		f, err := c.form(m)
		if err != nil {
			return ops.Blame(items[0], err)
		}
		if f.bytes > len(b.slot.Bytes()) {
			if err := b.slot.Grow(f.bytes); err != nil {
				return pipe.Stop(err)
			}
		}
		b.form.Store(&f)
	}
	text := 0
	for i := range m.values {
		v := &m.values[i]
		if v.Kind == sample.Tensor {
			if to := b.row(i, row); unsafe.SliceData(to) != unsafe.SliceData(v.Data) {
				copy(to, v.Data)
			}
			continue
		}
		if *b.texts[text].at(row) = v.Text; v.Kind != sample.Text {
			*b.texts[text].at(row) = string(v.Data)
		}
		text++
	}
	return nil
}

// form is the one that a batch brings.
func (c *collating) form(m made) (form, error) {
	extents, err := c.extents(m)
	if err != nil {
		return form{}, err
	}
	return c.layout.form(open{rows: 1, extents: extents})
}

// note remembers what the first batch is: dtypes and axes, for extents may differ.
func (c *collating) note(m made) error {
	var gives sample.Schema
	for i, name := range m.names {
		v := &m.values[i]
		t := sample.Type{Kind: v.Kind}
		if v.Kind == sample.Tensor {
			t = sample.TensorType(v.DType, v.Shape...)
			for axis := range t.Shape {
				t.Shape[axis] = tensor.Unknown
			}
		}
		gives = append(gives, sample.Field{Name: name, Type: t})
	}
	if len(gives) == 0 {
		return fmt.Errorf("headrace: %s gives a batch without fields", c.Name)
	}
	if c.found == nil {
		c.found = gives
		for i := range m.values {
			if m.values[i].Kind == sample.Tensor {
				c.bytes += aligned(len(m.values[i].Data))
			}
		}
	}
	return nil
}

// sign notes whose samples the batch is made of.
func (c *collating) sign(items []*record.Record, b *Batch, row int) {
	*b.samples.at(row) = len(items)
	b.empty(row)
	for _, it := range items {
		b.origin(row, it)
	}
}

// extents are those that a batch brings, of all axes whose extent the types leave open.
func (c *collating) extents(m made) (all []int, err error) {
	for i, s := range c.Out {
		for axis, n := range s.Type.Shape {
			if n != tensor.Unknown {
				continue
			}
			if all = append(all, m.values[i].Shape[axis]); all[len(all)-1] > math.MaxUint32 {
				return nil, fmt.Errorf("headrace: the field %q has the extent %d: takes at most %d", s.Name, all[len(all)-1], uint32(math.MaxUint32))
			}
		}
	}
	return all, nil
}

// free gives back the memory of the values that lie in none of a batch.
func (c *collating) free(m made) {
	for i := range m.values {
		if b := m.values[i].Data; c.Env.Shared.Has(b) {
			c.Env.Shared.Give(b)
		}
	}
}

func (c *collating) dropAll(items []*record.Record) {
	for _, it := range items {
		c.Env.Drop(it)
	}
}

// collate finds out what a function makes of the first batch. How large that is tells how large slots should be.
func (f *found) collate(ctx context.Context, r recipe.Recipe, before recipe.Chain, s recipe.Step, args *recipe.Batch) error {
	if args.Collate.Gives.Schema != nil {
		return nil
	}
	b := recipe.Batch{Size: args.Size, Collate: args.Collate}
	if b.Size == 0 {
		b.Size = max(1, args.GlobalSize/max(1, f.config.WorldSize))
	}
	only := recipe.Recipe{Seed: r.Seed, Steps: append(slices.Clone(before), recipe.Step{Op: s.Op, Name: s.Name, Args: &b, Failures: s.Failures})}
	l, err := f.first(ctx, only, r, s.Name, func(context.Context) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	args.Collate.Gives.Schema, f.room = l.collating.found, int(min(2*int64(l.collating.bytes), maxSlot))
	return nil
}

// roomFor is how large slots are where batches differ: as twice the first one. Where nobody has seen one, it is some megabytes: pages that nobody writes cost nothing but a place in the
// budget. Larger batches take memory of their own.
func (f *found) roomFor(c Config) int {
	if f.room > 0 {
		return f.room
	}
	limit := machine.Here().Budget(c.LocalWorldSize)
	if c.Memory != nil {
		limit = *c.Memory
	}
	return int(min(max(limit/64, 1<<20), 16<<20))
}
