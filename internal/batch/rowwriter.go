package batch

import (
	"context"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// RowWriter is a Python function that ends a recipe. Its workers write the results into
// the sample's row of the batch.
type RowWriter struct {
	*python.Function
	Begin  core.Op    // makes the sample first, of which there is only its number; nil: it is there
	fields []rowField // in the order of what it gives
}

// rowField says where in a batch a field is.
type rowField struct {
	field int
	text  int // of text or objects: which of the batch's; -1: it is an array
}

// Foresee implements part. The rows are there already.
func (r *RowWriter) Foresee(*record.Record, *core.Tool) int64 { return 0 }

// into calls the function for a sample. Once it returns, nothing writes into the row any
// more: a worker that has not answered is dead.
func (r *RowWriter) into(ctx context.Context, it *record.Record, b *Batch, row int) error {
	c, err := r.call(ctx, it, b, row)
	if err != nil {
		return err
	}
	defer r.Done(c)
	if r.Land != nil {
		err = python.Final(r.Land(it, c))
	} else {
		err = r.Ask(ctx, c)
	}
	if err != nil {
		return err
	}
	return r.take(ctx, c, b, row)
}

// call returns the call for a sample.
func (r *RowWriter) call(ctx context.Context, it *record.Record, b *Batch, row int) (*extern.Call, error) {
	if r.Begin != nil {
		if err := r.Begin(ctx, it); err != nil {
			return nil, err
		}
	}
	c := r.Call(it)
	for _, f := range r.fields {
		var room []byte
		if f.text < 0 {
			room = b.row(f.field, row)
		}
		c.Room = append(c.Room, room)
	}
	return c, nil
}

// take copies results that are not in the row yet.
func (r *RowWriter) take(ctx context.Context, c *extern.Call, b *Batch, row int) error {
	defer r.giveBack(c)
	if r.Begin != nil {
		pipe.AddBytes(ctx, c.Bytes())
	}

	for i, f := range r.fields {
		if err := r.Out[i].Fits(&c.Out[i]); err != nil {
			return r.Misfit(err)
		}
		switch c.Out[i].Kind {
		case sample.Text:
			*b.texts[f.text].at(row) = c.Out[i].Text
		case sample.Object:
			b.kept.add(r.Env.Kept(c.Out[i].Data))
			*b.texts[f.text].at(row) = string(c.Out[i].Data)
		}
	}
	return nil
}

// giveBack lets go of objects, which were copied.
func (r *RowWriter) giveBack(c *extern.Call) {
	for i, v := range c.Out {
		if v.Kind == sample.Object && c.Same[i] < 0 {
			r.Env.Shared.Give(v.Data)
		}
	}
}

// NewRowWriter makes a function write its results into rows of a layout.
func NewRowWriter(f *python.Function, l *Layout) *RowWriter {
	r := &RowWriter{Function: f}
	for _, s := range f.Out {
		to := rowField{l.field(s.Name), -1}
		if s.Type.Kind != sample.Tensor {
			to.text = l.text(to.field)
		}
		r.fields = append(r.fields, to)
	}
	return r
}
