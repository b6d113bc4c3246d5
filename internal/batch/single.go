package batch

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// open prepares a slot for a sample that is delivered without a batch. The slot has the
// sample's extents and grows if needed.
func (e *Writer) open(v *record.Values, b *Batch) error {
	l := b.Slots.Layout
	if len(l.Forms) > 0 {
		return nil
	}
	extents, err := e.extents(v, l)
	if err != nil {
		return err
	}
	f, err := l.form(Size{Rows: 1, Extents: extents})
	if err != nil {
		return err
	}
	if f.bytes > len(b.data) {
		if err := b.grow(f.bytes); err != nil {
			return pipe.Stop(err)
		}
		b.shed() // nothing is written yet
	}
	b.form.Store(&f)
	return nil
}

// extents returns the extents of a sample that the layout leaves open.
func (e *Writer) extents(v *record.Values, l *Layout) (all []int, err error) {
	for _, c := range e.Fields {
		want := l.Fields[c.Field].Shape
		if l.Fields[c.Field].Kind != sample.Tensor || want.Fixed() {
			continue
		}
		shape := shapeOf(v, c.Column)
		for axis, n := range want {
			if n != tensor.Unknown {
				continue
			}
			if all = append(all, shape[axis]); shape[axis] > math.MaxUint32 {
				return nil, fmt.Errorf("headrace: the field %q has the extent %d: must be at most %d",
					l.Fields[c.Field].Name, shape[axis], uint32(math.MaxUint32))
			}
		}
	}
	return all, nil
}

// shapeOf is the shape of a value whose type leaves some of it open.
func shapeOf(v *record.Values, at record.Column) tensor.Shape {
	if at.Kind == record.Arrays {
		return v.Arrays[at.At].Shape
	}
	return v.Images[at.At].Form().Shape()
}
