package headrace

import (
	"context"
	"headrace/internal/ops"

	"headrace/arena"
	"headrace/extern"
	"headrace/internal/record"
	"headrace/recipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// rowWriter is a function of Python that ends a recipe: what it gives is written by its workers, into the sample's row of the batch.
type rowWriter struct {
	*ops.Function
	fields []rowField // in the order of what it gives
}

// rowField says where in a batch a field is.
type rowField struct {
	field int
	text  int // of text or objects: which of the batch's; -1: it is an array
}

// foresee implements part. The rows are there already.
func (r *rowWriter) Foresee(*record.Record, *ops.Tool) int64 { return 0 }

// into calls the function for a sample. When it returns, nobody writes into the row any more: a worker that has not answered is dead.
func (r *rowWriter) into(ctx context.Context, it *record.Record, b *Batch, row int) error {
	c := r.Call(it)
	defer r.Done(c)
	for _, f := range r.fields {
		var room []byte
		if f.text < 0 {
			room = b.row(f.field, row)
		}
		c.Room = append(c.Room, room)
	}
	if err := r.Ask(ctx, c); err != nil {
		return err
	}
	defer r.giveBack(c)
	for i, f := range r.fields {
		if err := r.Out[i].Fits(&c.Out[i]); err != nil {
			return r.Misfit(err)
		}
		switch c.Out[i].Kind {
		case sample.Text:
			*b.texts[f.text].at(row) = c.Out[i].Text
		case sample.Object:
			*b.texts[f.text].at(row) = string(c.Out[i].Data)
		}
	}
	return nil
}

// giveBack lets go of objects, which were copied.
func (r *rowWriter) giveBack(c *extern.Call) {
	for i, v := range c.Out {
		if v.Kind == sample.Object && c.Same[i] < 0 {
			r.Env.Shared.Give(v.Data)
		}
	}
}

// rowWriter makes the end of a recipe of its last step, which is a function of Python.
func (c *compiler) rowWriter(p fuse.Part) (*rowWriter, error) {
	next, err := c.python(*p.Step)
	if err != nil {
		return nil, err
	}
	next.Stage = p.Name()
	r := &rowWriter{Function: next}
	for _, s := range next.Out {
		f := rowField{c.field(s.Name), -1}
		if s.Type.Kind != sample.Tensor {
			f.text = c.text(f.field)
		}
		r.fields = append(r.fields, f)
	}
	c.trail.leg.Parts = append(c.trail.leg.Parts, r)
	return r, nil
}

// announce tells of the memory of batches: a consumer in another process, and workers that write into it. These are told of the pool alone. A segment of one batch comes and goes
// while a consumer holds many, and each worker would have to map it; what lies there is copied.
func (l *Loader) announce(s arena.Segment) error {
	if l.options.Announce != nil {
		if err := l.options.Announce(s); err != nil {
			return err
		}
	}
	if l.writers == nil || !s.Pooled {
		return nil
	}
	return l.writers.Segment(s.FD, s.ID, s.Memory)
}

// inHand is how many batches are filled at a time besides one, since the workers of a function of Python have many samples in hand, or some batches.
func (l *Loader) inHand(p fuse.Plan) int {
	said := func(workers *int) int {
		switch {
		case l.options.trial != nil:
			return l.options.trial.workers
		case workers != nil:
			return *workers
		}
		return l.share()
	}
	if c := p.Batch.Collate; c != nil {
		return said(c.Workers)*collateHands - 1 // each has a slot to itself
	}
	if p.Last.Step == nil {
		return 0
	}
	args := p.Last.Step.Args.(*recipe.Map)
	return (said(args.Workers)*ops.PerWorkerFor(nil, args.Gives.Schema) - 1) / l.layout.rows
}
