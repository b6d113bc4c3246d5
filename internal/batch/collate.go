package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Collating is a Python function that makes whole batches from lists of samples. Its
// workers write the arrays into a slot, one after the other.
type Collating struct {
	*python.Function
	layout   *Layout
	Rows     int       // samples of a batch, at most
	By       *Grouping // puts samples together; nil: they are taken as they come
	DropLast bool
	Make     func(context.Context, Job) (Made, error) // with all that is done about failures
	refuses  bool                                     // the loader replaces samples that fail, which cannot be done with a batch
	Losses   *pipe.Policy

	probes bool          // it is to be found out what the function gives
	Found  sample.Schema // then
	Bytes  int           // likewise: of the first batch
}

// Job is a batch to be made.
type Job struct {
	Records []*record.Record
	Slot    []byte // where its arrays belong
}

// Made holds the results of a function that makes batches.
type Made struct {
	Values []extern.Value // those that did not fit into the slot are elsewhere
	names  []string       // of these, where nobody has said what the function gives
}

// JobsPerWorker returns the number of batches in hand for each worker of a function that
// is called there: one that it makes, and one that waits for it with its slot, unless
// calls of one thread must begin in the order of batches.
func JobsPerWorker(where string) int { return min(2, python.InHand(where, nil, nil)) }

// NewCollating makes what collates batches of rows samples with these fields.
func NewCollating(w *core.Env, l *Layout, plan fuse.Plan, rows int, in sample.Schema, where *record.Columns) (*Collating, error) {
	args := plan.Batch.Collate
	next := &Collating{Function: &python.Function{Env: w, Name: plan.Last.Name(), PerWorker: JobsPerWorker(args.Where)},
		layout: l, Rows: rows, DropLast: plan.Batch.DropsLast()}
	if next.probes = args.Gives.Schema == nil; next.probes {
		next.PerWorker = 1 // the first batch tells
	}
	o := extern.Options{Kind: extern.Collate, In: args.Takes(in), Gives: args.Gives.Schema}
	next.Begin(o.In, where)
	for _, f := range o.Gives {
		next.Out = append(next.Out, python.Field{Name: f.Name, Type: f.Type})
	}
	if args.Where == "thread" {
		next.Shared = args.Seed
	}
	next.Make = next.makeOnce
	var err error
	if next.Pool, next.Workers, err = python.HostOf(w).Open(next.Name, &args.Python, o, plan.Last.Failures); err != nil {
		return nil, err
	}
	python.HostOf(w).Calls = append(python.HostOf(w).Calls, next.Function)
	return next, nil
}

// Bear sets the handling of failures.
func (c *Collating) Bear(h core.Handling) {
	c.refuses, c.Losses = h.Replaces, h.Policy
	if h.Retries > 0 {
		c.Make = pipe.Retry(c.Make, pipe.Backoff{Times: h.Retries, First: h.Wait, Most: core.MostWait})
	}
}

// Gathered are the samples of the next batch. Nobody waits for the bytes of those that
// wait for others.
type Gathered struct {
	Rows int // 0: the sampler's lists are the batches
	held []pipe.Held[*record.Record]
}

// Add implements pipe.Aggregator.
func (g *Gathered) Add(_ context.Context, v pipe.Held[*record.Record], e *pipe.Emitter[*record.Record, []*record.Record]) error {
	v.Value.Content.Park()
	v.Value.Working.Park()
	if g.Rows == 0 && len(g.held) > 0 && g.held[0].Value.ID.Pos != v.Value.ID.Pos { // the last of that list is lost
		g.emit(e)
	}
	if g.held = append(g.held, v); len(g.held) == g.Rows || v.Value.EndsRound || g.Rows == 0 && v.Value.InList == v.Value.OfList-1 {
		g.emit(e)
	}
	return nil
}

// Flush implements pipe.Aggregator.
func (g *Gathered) Flush(_ context.Context, e *pipe.Emitter[*record.Record, []*record.Record]) error {
	if len(g.held) > 0 {
		g.emit(e)
	}
	return nil
}

func (g *Gathered) emit(e *pipe.Emitter[*record.Record, []*record.Record]) {
	list := make([]*record.Record, len(g.held))
	for i, h := range g.held {
		list[i] = h.Value
	}
	held := g.held
	g.held = nil
	e.Emit(list, held...)
}

// Into has a batch made of samples, which are done with then, whatever comes of it.
func (c *Collating) Into(ctx context.Context, items []*record.Record, b *Batch, row int) error {
	defer c.DropAll(items)
	slot := b.data
	m, err := c.Make(ctx, Job{items, slot})
	switch {
	case err == nil:
		defer c.free(m, slot)
		defer b.shed()
		return c.settle(items, m, b, row)
	case ctx.Err() != nil || errors.As(err, new(*extern.StartError)):
		return err
	case c.refuses:
		err = fmt.Errorf("on_error=%q cannot replace a batch, so the run ends; .failures(on_error=%q) "+
			"after batch leaves it out: %w", core.Replace, core.Skip, err)
	}
	return core.Blame(items[0], fmt.Errorf("the first of %d samples that %s was given: %w", len(items), c.Name, err))
}

// makeOnce is one try.
func (c *Collating) makeOnce(ctx context.Context, a Job) (m Made, err error) {
	defer core.Catch(&err)
	call := c.CallOf(a.Records)
	call.Whole = a.Slot
	if err := c.Ask(ctx, call); err != nil {
		return Made{}, err
	}
	m = Made{call.Out, call.Names}
	for i := range c.Out {
		if err := c.Out[i].Fits(&call.Out[i]); err != nil {
			c.free(m, a.Slot)
			return Made{}, c.Misfit(err)
		}
	}
	return m, nil
}

// settle turns the results into the slot's batch. If they are larger than the slot, it
// takes a larger one.
func (c *Collating) settle(items []*record.Record, m Made, b *Batch, row int) error {
	c.sign(items, b, row)

	if c.probes {
		if err := c.note(m); err != nil {
			return core.Blame(items[0], err)
		}
		return nil
	}

	if len(c.layout.Forms) == 0 {
		f, err := c.form(m)
		if err != nil {
			return core.Blame(items[0], err)
		}
		if f.bytes > len(b.data) {
			if err := b.grow(f.bytes); err != nil {
				return pipe.Stop(err)
			}
		}
		b.form.Store(&f)
	}

	text := 0
	for i := range m.Values {
		v := &m.Values[i]
		if v.Kind == sample.Tensor {
			if to := b.row(i, row); unsafe.SliceData(to) != unsafe.SliceData(v.Data) {
				copy(to, v.Data)
			}
			continue
		}
		if *b.texts[text].at(row) = v.Text; v.Kind != sample.Text {
			b.kept.add(c.Env.Kept(v.Data))
			*b.texts[text].at(row) = string(v.Data)
		}
		text++
	}
	return nil
}

// form is the one that a batch brings.
func (c *Collating) form(m Made) (Form, error) {
	extents, err := c.extents(m)
	if err != nil {
		return Form{}, err
	}
	return c.layout.form(Size{Rows: 1, Extents: extents})
}

// note remembers the dtypes and axes of the first batch. Extents may differ later.
func (c *Collating) note(m Made) error {
	var gives sample.Schema
	for i, name := range m.names {
		v := &m.Values[i]
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
	if c.Found == nil {
		c.Found = gives
		for i := range m.Values {
			if m.Values[i].Kind == sample.Tensor {
				c.Bytes += aligned(len(m.Values[i].Data))
			}
		}
	}
	return nil
}

// sign notes whose samples the batch is made of.
func (c *Collating) sign(items []*record.Record, b *Batch, row int) {
	n := 0
	b.empty(row)
	for _, it := range items {
		n += it.Count()
		b.origin(row, it)
	}
	*b.samples.at(row) = n
}

// extents returns the batch's extents on all axes that the types leave open.
func (c *Collating) extents(m Made) (all []int, err error) {
	for i, s := range c.Out {
		for axis, n := range s.Type.Shape {
			if n != tensor.Unknown || s.Type.Kind != sample.Tensor {
				continue
			}
			if all = append(all, m.Values[i].Shape[axis]); all[len(all)-1] > math.MaxUint32 {
				return nil, fmt.Errorf("headrace: the field %q has the extent %d: must be at most %d",
					s.Name, all[len(all)-1], uint32(math.MaxUint32))
			}
		}
	}
	return all, nil
}

// free gives back the memory of the values that did not fit into the batch. Those that
// did are in its own, which may be shared as well.
func (c *Collating) free(m Made, slot []byte) {
	for i := range m.Values {
		if b := m.Values[i].Data; c.Env.Shared.Has(b) && !record.Overlap(slot, b) {
			c.Env.Shared.Give(b)
		}
	}
}

// DropAll gives back what samples hold.
func (c *Collating) DropAll(items []*record.Record) {
	for _, it := range items {
		c.Env.Drop(it)
	}
}
