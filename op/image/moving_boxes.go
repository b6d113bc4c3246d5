package image

import (
	"fmt"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// MovingBoxes are the boxes of an image, and the fields that have a row for each of them.
type MovingBoxes struct {
	from   int // the first step that moves them
	dtype  tensor.DType
	format boxFormat
	fields []boxField // the boxes first
}

type boxField struct {
	name string
	at   record.Column
	row  int // bytes
}

// newMovingBoxes finds the fields of samples in a scope.
func newMovingBoxes(b *recipe.Tied, from int, t *core.Scope) *MovingBoxes {
	typeOf := func(name string) sample.Type { return t.Schema[t.Schema.Find(name)].Type }
	boxes := &MovingBoxes{from: from, dtype: typeOf(b.Field).DType, format: boxFormats[b.Format]}
	for _, name := range append([]string{b.Field}, b.Along...) {
		is := typeOf(name)
		row, _ := is.Shape[1:].Bytes(is.DType) // checked with the recipe
		boxes.fields = append(boxes.fields, boxField{name, t.Columns.Of[name], int(row)})
	}
	return boxes
}

// move moves the boxes as a plan has moved the pixels, and drops those of which too
// little is left. What other values are in the same memory stays as it is.
func (b *MovingBoxes) move(env *core.Env, v *record.Values, plan *media.Plan) error {
	rows := v.Arrays[b.fields[0].at.At].Shape[0]
	for _, f := range b.fields[1:] {
		if n := v.Arrays[f.at.At].Shape[0]; n != rows {
			return fmt.Errorf("headrace: boxes: %q has %d rows, and %q has %d boxes: it must have one for each",
				f.name, n, b.fields[0].name, rows)
		}
	}

	// Rows move up in place, and another view of the image may have the same boxes in the
	// same memory: so each field is copied first.
	all := make([]record.Array, len(b.fields))
	for i, f := range b.fields {
		is := v.Arrays[f.at.At]
		all[i] = record.Array{Shape: is.Shape, Data: env.Copied(v, is.Data)}
	}
	data, kept := all[0].Data, 0
	for i := range rows {
		box, stays := b.format.moved(b.read(data, i), plan, b.from)
		if !stays {
			continue
		}
		for k, f := range b.fields {
			copy(all[k].Data[kept*f.row:], all[k].Data[i*f.row:][:f.row])
		}
		moved := data[:kept*b.fields[0].row] // numbers are appended where the box belongs
		for _, v := range box[:b.format.numbers] {
			moved = numbers.Append(moved, b.dtype, v)
		}
		kept++
	}
	for i, f := range b.fields {
		shape := append(tensor.Shape{kept}, all[i].Shape[1:]...)
		v.Arrays[f.at.At] = record.Array{Shape: shape, Data: all[i].Data[:kept*f.row]}
	}
	return nil
}

// read returns the numbers of box i, as many as its format has.
func (b *MovingBoxes) read(data []byte, i int) (box boxNumbers) {
	number, n := numbers.Reader(b.dtype), b.format.numbers
	for k := range n {
		box[k] = number(data, i*n+k)
	}
	return box
}

// bounds are the boxes; of those that are turned, the upright ones around them.
func (b *MovingBoxes) bounds(v *record.Values) (all []media.Bounds) {
	is := v.Arrays[b.fields[0].at.At]
	for i := range is.Shape[0] {
		all = append(all, b.format.bounds(b.read(is.Data, i)))
	}
	return all
}

// bytes is what moving takes at most.
func (b *MovingBoxes) bytes(v *record.Values) (n int64) {
	if b == nil {
		return 0
	}
	for _, f := range b.fields {
		n += int64(len(v.Arrays[f.at.At].Data))
	}
	return n
}
