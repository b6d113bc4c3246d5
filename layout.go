package headrace

import (
	"fmt"

	"headrace/extern"
	"headrace/sample"
	"headrace/tensor"
)

// alignment of every tensor in a batch, in bytes: a cache line, and the widest vector register. Workers that write whole batches lay them out alike.
const alignment = extern.WholeAlign

// Field is one field of a batch.
type Field struct {
	Name   string       `json:"name"`
	Kind   sample.Kind  `json:"kind"`             // tensor, text or object
	DType  tensor.DType `json:"dtype,omitempty"`  // of a tensor
	Shape  tensor.Shape `json:"shape,omitzero"`   // of one row, [tensor.Unknown] for an extent that differs between batches; [] of a scalar
	Offset int          `json:"offset,omitempty"` // bytes into the slot at which row 0 lies
}

// layout is where the fields of a batch lie in a slot: one contiguous array a tensor field, each aligned; text and objects travel beside the slot.
type layout struct {
	fields []Field
	rows   int // most rows of a batch
	bytes  int // of a slot
	texts  []int
	forms  []form // of batches; where they are padded to their longest sample, of the largest ones
	whole  bool   // a batch is one row, whose values are its fields: these lie one behind the other, where its form says
}

// form is what the layout leaves open: the shapes in one batch, or in several.
type form struct {
	extents []int          // those that are unknown in the fields' shapes, in their order
	shapes  []tensor.Shape // of a row, by field
	sizes   []int          // of a row in bytes, by field
	rows    int            // most of a batch
	offsets []int          // of a batch that is whole, by field
	bytes   int            // likewise, of all fields
}

// open is a form before there is a layout: how many rows a batch has at most, and the extents that the schema leaves open.
type open struct {
	rows    int
	extents []int
}

// newLayout lays out batches of samples of the schema, which recipe.Check has found fit for batching. A slot has room for a batch of any of the forms.
func newLayout(schema sample.Schema, forms ...open) (layout, error) {
	l := layout{}
	for i, f := range schema {
		switch f.Type.Kind {
		case sample.Text, sample.Object:
			l.texts = append(l.texts, i)
		case sample.Tensor:
		default:
			return layout{}, fmt.Errorf("headrace: field %q is %v and cannot be batched", f.Name, f.Type)
		}
		l.fields = append(l.fields, Field{Name: f.Name, Kind: f.Type.Kind, DType: f.Type.DType, Shape: f.Type.Shape})
	}
	for _, o := range forms {
		f, err := l.form(o)
		if err != nil {
			return layout{}, err
		}
		l.forms, l.rows = append(l.forms, f), max(l.rows, o.rows)
	}
	for i := range l.fields {
		l.fields[i].Offset = l.bytes
		most := 0
		for _, f := range l.forms {
			most = max(most, f.rows*f.sizes[i])
		}
		if l.bytes += aligned(most); l.bytes > maxSlot {
			return layout{}, l.tooLarge(l.rows, i)
		}
	}
	l.bytes = max(l.bytes, alignment) // a batch without arrays still has a slot, for its lease
	return l, nil
}

// newWhole lays out batches that are made whole. A slot has room for so many bytes, or for just what a batch has where that is always the same.
func newWhole(schema sample.Schema, room int) (layout, error) {
	l, err := newLayout(schema)
	if err != nil {
		return l, err
	}
	l.whole, l.rows, l.bytes = true, 1, max(room, alignment)
	if l.unknown() == 0 {
		f, err := l.form(open{rows: 1})
		if err != nil {
			return l, err
		}
		l.forms, l.bytes = []form{f}, max(f.bytes, alignment)
	}
	return l, nil
}

// aligned is how many bytes a field takes.
func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

// form is what batches are where the unknown extents are these.
func (l *layout) form(o open) (form, error) {
	f := form{extents: o.extents, rows: o.rows}
	for i, field := range l.fields {
		shape := append(tensor.Shape(nil), field.Shape...)
		for k, n := range shape {
			if n == tensor.Unknown {
				shape[k], o.extents = o.extents[0], o.extents[1:]
			}
		}
		if field.Kind != sample.Tensor {
			f.shapes, f.sizes = append(f.shapes, nil), append(f.sizes, 0)
			continue
		}
		n, err := shape.Bytes(field.DType)
		if err != nil {
			return form{}, fmt.Errorf("headrace: field %q: %w", field.Name, err)
		}
		if n > maxSlot/int64(o.rows) {
			return form{}, l.tooLarge(o.rows, i)
		}
		f.shapes, f.sizes = append(f.shapes, shape), append(f.sizes, int(n))
	}
	if l.whole {
		for _, n := range f.sizes {
			f.offsets = append(f.offsets, f.bytes)
			f.bytes += aligned(n)
		}
		if f.bytes > maxSlot {
			return form{}, l.tooLarge(o.rows, len(f.sizes)-1)
		}
	}
	return f, nil
}

// unknown is the number of extents that forms bring.
func (l *layout) unknown() (n int) {
	for _, f := range l.fields {
		for _, extent := range f.Shape {
			if extent == tensor.Unknown {
				n++
			}
		}
	}
	return n
}

func (l *layout) tooLarge(rows, field int) error {
	f := l.fields[field]
	return fmt.Errorf("%w: a batch of %d rows takes more than %d bytes: %q alone is %s %v a row; use a smaller batch", ErrConfig, rows, int64(maxSlot), f.Name, f.DType, f.Shape)
}

// maxSlot bounds a batch: half of what a 64-bit address space gives a process on every CPU at hand, and far below where int arithmetic ends.
const maxSlot = 1 << 46

// mostBeside bounds the text and objects of a batch. They travel in one message with what else there is to say of it, and messages have at most 1 GiB.
const mostBeside = 960 << 20
