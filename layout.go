package headrace

import (
	"fmt"

	"headrace/sample"
	"headrace/tensor"
)

// alignment of every tensor in a batch, in bytes: a cache line, and the widest vector register.
const alignment = 64

// Field is one field of a batch.
type Field struct {
	Name   string       `json:"name"`
	Kind   sample.Kind  `json:"kind"`             // tensor or text
	DType  tensor.DType `json:"dtype,omitempty"`  // of a tensor
	Shape  tensor.Shape `json:"shape,omitzero"`   // of one row; [] of a scalar
	Offset int          `json:"offset,omitempty"` // bytes into the slot at which row 0 lies

	rowBytes int
}

// layout is where the fields of a batch lie in a slot: one contiguous array a tensor field, each aligned; text travels beside the slot.
type layout struct {
	fields []Field
	rows   int // most rows of a batch
	bytes  int // of a slot
	texts  []int
}

// newLayout lays out batches of up to rows samples of the schema, which recipe.Check has found fit for batching.
func newLayout(schema sample.Schema, rows int) (layout, error) {
	l := layout{rows: rows}
	for i, f := range schema {
		field := Field{Name: f.Name, Kind: f.Type.Kind}
		switch f.Type.Kind {
		case sample.Text:
			l.texts = append(l.texts, i)
		case sample.Tensor:
			n, err := f.Type.Shape.Elements()
			if err != nil {
				return layout{}, fmt.Errorf("headrace: field %q: %w", f.Name, err)
			}
			field.DType, field.Shape = f.Type.DType, f.Type.Shape
			if room := (maxSlot - int64(l.bytes)) / int64(rows) / int64(f.Type.DType.Size()); n > room {
				return layout{}, fmt.Errorf("%w: a batch of %d rows takes more than %d bytes: %q alone is %s %v a row; use a smaller batch",
					ErrConfig, rows, int64(maxSlot), f.Name, f.Type.DType, f.Type.Shape)
			}
			field.rowBytes = int(n) * f.Type.DType.Size()
			field.Offset = l.bytes
			l.bytes += (field.rowBytes*rows + alignment - 1) / alignment * alignment
		default:
			return layout{}, fmt.Errorf("headrace: field %q is %v and cannot be batched", f.Name, f.Type)
		}
		l.fields = append(l.fields, field)
	}
	l.bytes = max(l.bytes, alignment) // a batch of text alone still has a slot, for its lease
	return l, nil
}

// maxSlot bounds a batch: half of what a 64-bit address space gives a process on every CPU at hand, and far below where int arithmetic ends.
const maxSlot = 1 << 46

// row returns the bytes of field f in row i of a slot.
func (l *layout) row(slot []byte, f, i int) []byte {
	n := l.fields[f].rowBytes
	start := l.fields[f].Offset + i*n
	return slot[start : start+n : start+n]
}
