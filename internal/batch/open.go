package batch

import (
	"context"
	"fmt"
	"iter"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Opening makes samples of batches, for stages after the one that makes these. Their
// fields have one more axis, and point into the batch.
type Opening struct {
	Env     *core.Env
	Columns []record.Column // by field of the layout
}

// Schema returns the schema of the samples.
func (l *Layout) Schema() (all sample.Schema) {
	for _, f := range l.Fields {
		t := sample.Type{Kind: f.Kind, DType: f.DType, Shape: f.Shape}
		if !l.Whole {
			t = t.Rows(tensor.Unknown)
		}
		all = append(all, sample.Field{Name: f.Name, Type: t})
	}
	return all
}

// Open makes a sample of a batch, which is done with then.
func (o *Opening) Open(_ context.Context, b *Batch) (*record.Record, error) {
	l := b.Slots.Layout
	it := b.record()
	it.Ticket, it.Kept = b.Ticket(), b.kept.take()

	v := o.Env.Blank(it)
	for i := range l.Fields {
		if err := o.put(v, b, i); err != nil {
			o.Env.Drop(it)
			b.Slots.Drop(b)
			return nil, core.Blame(it, err)
		}
	}

	o.Env.Own(v, b.heap.bytes)
	it.Content = b.heap.grant
	v.Sweep() // a batch without arrays needs no memory
	b.Slots.recycle(b)
	return it, nil
}

// record returns the record of a batch, without its values.
func (b *Batch) record() *record.Record {
	if b.span.Rows > 0 {
		return record.SpanOf(b.span)
	}
	var members []*record.Record
	several := false // samples are in a row
	for _, row := range b.members.first(b.rows) {
		members = append(members, row...)
		several = several || len(row) != 1
	}
	it := record.Batch(members)
	it.Rowless = several || b.Slots.Layout.Whole
	return it
}

// put gives a sample the field i of a batch.
func (o *Opening) put(v *record.Values, b *Batch, i int) (err error) {
	l, at := b.Slots.Layout, o.Columns[i]
	f := &l.Fields[i]
	if f.Kind != sample.Tensor {
		text := ""
		if rows := b.texts[l.text(i)].first(b.rows); l.Whole {
			text = rows[0]
		} else if text, err = record.PackRows(rows); err != nil {
			return fmt.Errorf("%w: in the field %q", err, f.Name)
		}
		if at.Kind == record.Texts {
			v.Texts[at.At] = text
		} else {
			v.Bytes[at.At] = []byte(text)
		}
		return nil
	}

	t, _ := b.Tensor(f.Name)
	if at.Kind == record.Numbers {
		copy(v.Numbers[at.At:][:at.Size], t.Data)
	} else {
		v.Arrays[at.At] = record.Array{Shape: t.Shape, Data: t.Data}
	}
	return nil
}

// Rows takes batches apart: each row becomes a sample again, with a copy of its values.
type Rows struct {
	Env *core.Env
	In  []python.Field
	Out []record.Column
}

// Expand yields the rows of a batch, which is done with then.
func (u *Rows) Expand(ctx context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		defer u.Env.Drop(it)
		n, err := u.count(it)
		if err != nil {
			yield(nil, core.Blame(it, err))
			return
		}

		// Each row has all of the batch's objects: they come one right after the other.
		for _, f := range u.In {
			if f.Column.Kind == record.Bytes {
				it.Kept = append(it.Kept, u.Env.Kept(it.Values.Bytes[f.Column.At])...)
			}
		}
		it.Kept = it.Kept.Together()

		for i := range n {
			row, err := u.row(ctx, it, i)
			if err != nil {
				yield(nil, core.Blame(it, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// count returns the number of rows of a batch, which all of its fields must have.
func (u *Rows) count(it *record.Record) (rows int, err error) {
	rows = it.Rows()

	for _, f := range u.In {
		n, ok := 0, true
		switch v := it.Values; f.Column.Kind {
		case record.Texts:
			n, ok = record.CountRows(v.Texts[f.Column.At])
		case record.Bytes:
			n, ok = record.CountRows(v.Bytes[f.Column.At])
		default:
			n = v.Arrays[f.Column.At].Shape[0]
		}

		switch {
		case !ok:
			return 0, fmt.Errorf("headrace: the field %q has no rows", f.Name)
		case rows < 0:
			rows = n
		case n != rows && it.Rows() >= 0:
			return 0, fmt.Errorf("headrace: the field %q has %d rows, and %d samples are in the batch: "+
				"unbatch needs a row for each", f.Name, n, rows)
		case n != rows:
			return 0, fmt.Errorf("headrace: the field %q has %d rows, and others have %d", f.Name, n, rows)
		}
	}
	return max(0, rows), nil
}

// row is the sample in a row.
func (u *Rows) row(ctx context.Context, it *record.Record, i int) (*record.Record, error) {
	row := it.Row(i)
	row.Kept = it.Kept.Share()
	from, v := it.Values, u.Env.Blank(row)
	for k, f := range u.In {
		to := u.Out[k]
		switch f.Column.Kind {
		case record.Texts:
			v.Texts[to.At] = record.Row(from.Texts[f.Column.At], i)
		case record.Bytes:
			v.Bytes[to.At] = u.Env.Copied(v, record.Row(from.Bytes[f.Column.At], i))
		default:
			a := from.Arrays[f.Column.At]
			size := len(a.Data) / max(1, a.Shape[0])
			if data := a.Data[i*size:][:size]; to.Kind == record.Numbers {
				copy(v.Numbers[to.At:][:to.Size], data)
			} else {
				v.Arrays[to.At] = record.Array{Shape: a.Shape[1:], Data: u.Env.Copied(v, data)}
			}
		}
	}
	return row, u.Env.Admit(ctx, row)
}
