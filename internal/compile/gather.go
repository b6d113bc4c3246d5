package compile

import (
	"fmt"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// gather appends the stages that make batches in a chain of a merge or route. What goes
// on is a batch, and so a sample to the stages after them.
func (b *builder) gather(p fuse.Part, of *recipe.Batches) (err error) {
	next := &batch.Stacking{Env: b.Env, Rows: of.Size, DropLast: of.DropLast}
	s := &stage{name: p.Name(), steps: p.Names, stacking: next, asks: true,
		known: facts{drops: true, makes: true, uncounted: true, uneven: true}}
	out := sample.Schema{}
	if of.Collate != nil {
		next.Collate, out, err = python.NewListing(b.Env, *p.Step, b.Schema, &b.Columns)
		if err == nil {
			s.python = next.Collate.Function
			s.python.Stage = s.name
		}
	} else if err = b.fits(p, of.Size); err == nil {
		for _, f := range b.Schema {
			next.In = append(next.In, python.Field{Name: f.Name, Type: f.Type, Column: b.Columns.Take(f.Name)})
		}
		rows := tensor.Unknown
		if of.DropLast {
			rows = of.Size
		}
		for _, f := range b.Schema {
			t := f.Type.Rows(rows)
			next.Out = append(next.Out, b.Columns.PutAny(f.Name, t))
			out = append(out, sample.Field{Name: f.Name, Type: t})
		}
	}
	if err != nil {
		return err
	}

	b.samples = max(1, b.samples/int64(of.Size))
	h := b.Policies.Of(p.Failures, b.samples)
	next.Bear(h)
	s.losses, s.known = h.Policy, s.known.with(handles(s.name, h))
	s.op = core.Named(next.Make)
	b.Schema, b.Columns.Rows = out, of.Collate == nil
	b.append(s)
	b.lose()
	return nil
}

// fits refuses batches that could not be in memory.
func (b *builder) fits(p fuse.Part, rows int) error {
	layout, err := batch.NewLayout(b.Schema, batch.Size{Rows: rows})
	if err != nil {
		return err
	}
	if most := b.Lane.Limit(); most > 0 && int64(layout.Bytes) > most {
		return fmt.Errorf("%w: memory is %d bytes, and one batch of %q, of %d rows, takes %d: raise memory or use a smaller batch",
			core.ErrConfig, most, p.Name(), rows, layout.Bytes)
	}
	return nil
}

// gather is the flow of batches that a stage makes of samples, one of which each is.
func (j joiner) gather(in samples, s *stage) samples {
	name := "group " + s.name
	j.note(name, 1, nil)
	in.Flow = pipe.Discard(pipe.Aggregate(in.Flow, s.stacking.Gather,
		pipe.AggregateOpts{Name: name, Buffer: 1, DropLast: s.stacking.DropLast}), s.stacking.Drop)
	return in
}
