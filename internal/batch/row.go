package batch

import (
	"context"
	"encoding/binary"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// Writer is the last part of a recipe: it writes samples into their rows.
type Writer struct {
	Env      *core.Env
	Last     core.RowPart  // that writes a field; nil: no part does
	Made     int           // which field that is
	Function *RowWriter    // a function of Python, the last step; nil: that is no such function
	Fields   []FieldWriter // all other fields
	Packed   []packedField // of rows into which samples are packed; nil: a sample has its own

	Grouping  *Grouping  // nil: samples come into batches as they come
	Collating *Collating // of which a function makes batches; all else here is nothing then

	write    func(context.Context, rowRef) (struct{}, error) // with all that is done about failures
	retries  bool
	Replaces bool
	Losses   *pipe.Policy
}

// FieldWriter is a field of a batch.
type FieldWriter struct {
	Field  int
	text   int  // of text, an object or a ragged field: which of the batch's
	ragged bool // it has an array of its own size for each row
	Column record.Column

	// Of a sequence:
	pad    []byte // after its end; nil: it is none
	length int    // the field with its length
	bytes  int    // of an element
}

// rowRef is a sample with its row.
type rowRef struct {
	it    *record.Record
	batch *Batch
	row   int
}

// Handle sets the handling of failures. way lists the steps before this one.
func (e *Writer) Handle(name string, h core.Handling, way []core.PathStep) {
	e.write, e.Replaces, e.Losses = e.writeOnce, h.Replaces, h.Policy
	if e.retries = h.Retries > 0; e.retries {
		e.write = pipe.Retry(e.write, pipe.Backoff{Times: h.Retries, First: h.Wait, Most: core.MostWait})
	}
	if !h.Replaces {
		return
	}
	write, w := e.write, e.Env
	e.write = pipe.Replace(write, func(ctx context.Context, s rowRef, err error) (struct{}, error) {
		w.Drop(s.it)
		out, err := w.Substitute(ctx, s.it, err, name, way, func(ctx context.Context, it *record.Record) (*record.Record, error) {
			if _, err := write(ctx, rowRef{it, s.batch, s.row}); err != nil {
				w.Drop(it)
				return nil, err
			}
			return it, nil
		})
		if err == nil {
			w.Drop(out)
		}
		return struct{}{}, err
	})
}

// Calls is the function of Python that makes the rows, or the batches; nil: there is
// none.
func (e *Writer) Calls() *python.Function {
	switch {
	case e.Function != nil:
		return e.Function.Function
	case e.Collating != nil:
		return e.Collating.Function
	}
	return nil
}

// Fill writes a sample into its row. The sample is done with, whatever comes of it.
func (e *Writer) Fill(ctx context.Context, it *record.Record, b *Batch, row int) error {
	defer e.Env.Drop(it)
	if _, err := e.write(ctx, rowRef{it, b, row}); err != nil {
		return core.Blame(it, err)
	}
	return nil
}

// FillList writes a list of samples into a batch, from its first row on. They are done
// with, whatever comes of it.
func (e *Writer) FillList(ctx context.Context, items []*record.Record, b *Batch, _ int) (err error) {
	for i, it := range items {
		if err != nil {
			e.Env.Drop(it)
			continue
		}
		err = e.Fill(ctx, it, b, i)
	}
	b.rows = len(items)
	return err
}

func (e *Writer) writeOnce(ctx context.Context, s rowRef) (_ struct{}, err error) {
	defer core.Catch(&err)
	if e.Grouping != nil && !e.Grouping.takes(s.it, s.batch) {
		return struct{}{}, core.ErrElsewhere // drawn for the place of another
	}
	if e.Last != nil {
		t := e.Env.Tool(s.it)
		defer e.Env.Done(t)
		if err := e.Last.Into(ctx, s.it, t, s.batch.row(e.Made, s.row)); err != nil {
			return struct{}{}, err
		}
	}
	if e.Function != nil {
		if err := e.Function.into(ctx, s.it, s.batch, s.row); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, e.finish(s)
}

// finish writes the fields that earlier steps have not written into the row.
func (e *Writer) finish(s rowRef) error {
	if s.batch.Slots.Layout.Single {
		if err := e.open(s.it.Values, s.batch); err != nil {
			return err
		}
	}
	for _, c := range e.Fields {
		c.write(&e.Env.Memory, s.it.Values, s.batch, s.row)
	}
	if s.batch.samples != nil {
		*s.batch.samples.at(s.row) = s.it.Count()
	}
	s.batch.kept.add(s.it.Kept.Share())
	s.batch.empty(s.row)
	s.batch.origin(s.row, s.it)
	return nil
}

// beside reports whether the field is not in the slot.
func (c FieldWriter) beside() bool {
	return c.ragged || c.Column.Kind == record.Texts || c.Column.Kind == record.Bytes
}

func (c FieldWriter) write(memory *record.Memory, v *record.Values, b *Batch, row int) {
	switch {
	case c.ragged:
		b.texts[c.text].set(row, v.Data(c.Column))
		return
	case c.Column.Kind == record.Texts:
		*b.texts[c.text].at(row) = v.Texts[c.Column.At]
		return
	case c.Column.Kind == record.Bytes: // an object, or as they are
		b.kept.add(memory.Kept(v.Bytes[c.Column.At]))
		b.texts[c.text].set(row, v.Bytes[c.Column.At])
		return
	}

	dst := b.row(c.Field, row)
	switch c.Column.Kind {
	case record.Numbers:
		copy(dst, v.Numbers[c.Column.At:][:c.Column.Size])
	case record.Images:
		v.Images[c.Column.At].CopyTo(dst)
	case record.Arrays:
		n := copy(dst, v.Arrays[c.Column.At].Data)
		if c.pad != nil {
			repeat(dst[n:], c.pad)
			binary.NativeEndian.PutUint64(b.row(c.length, row), uint64(n/c.bytes))
		}
	}
}

// Lay says which of a sample's columns go to which fields of a batch.
func (e *Writer) Lay(l *Layout, plan fuse.Plan, columns map[string]record.Column) {
	for i, f := range l.Fields {
		at := columns[f.Name]
		switch {
		case at.Kind == 0: // made of another
		case f.Kind == sample.Ragged:
			e.Fields = append(e.Fields, FieldWriter{Field: i, text: l.text(i), ragged: true, Column: at})
		case e.Function != nil && e.Function.Makes(f.Name):
		case plan.Batch.Buckets != nil && at.Kind == record.Arrays && plan.Schema[plan.Schema.Find(f.Name)].Type.Ragged():
			e.Fields = append(e.Fields, l.padded(i, at, plan.Batch.Buckets.Pad))
		case e.Last != nil && at == e.Last.Result():
			e.Made = i
		case at.Kind == record.Texts || at.Kind == record.Bytes:
			e.Fields = append(e.Fields, FieldWriter{Field: i, text: l.text(i), Column: at})
		default:
			e.Fields = append(e.Fields, FieldWriter{Field: i, Column: at})
		}
	}
}
