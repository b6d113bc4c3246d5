package image

import (
	"fmt"

	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// MovingBoxes are the boxes of an image, and the fields that have a row for each of them.
type MovingBoxes struct {
	from   int // the first step that moves them
	dtype  tensor.DType
	fields []boxField // the boxes first
}

type boxField struct {
	name string
	at   record.Column
	row  int // bytes
}

// NewMovingBoxes finds the fields of samples with this schema.
func NewMovingBoxes(b *fuse.Boxes, in sample.Schema, where map[string]record.Column) *MovingBoxes {
	boxes := &MovingBoxes{from: b.From, dtype: in[in.Find(b.Field)].Type.DType}
	for _, name := range append([]string{b.Field}, b.Along...) {
		t := in[in.Find(name)].Type
		row, _ := t.Shape[1:].Bytes(t.DType) // checked with the recipe
		boxes.fields = append(boxes.fields, boxField{name, where[name], int(row)})
	}
	return boxes
}

// leastSide is what has to be left of a box in width and in height, in pixels: one with
// less says nothing to a model, and torchvision's SanitizeBoundingBoxes drops it too.
const leastSide = 1

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
	edge, data, kept := numbers.Reader(b.dtype), all[0].Data, 0
	for i := range rows {
		box := plan.Moved(media.Bounds{X0: edge(data, 4*i), Y0: edge(data, 4*i+1), X1: edge(data, 4*i+2), Y1: edge(data, 4*i+3)}, b.from)
		if !(box.X1-box.X0 >= leastSide && box.Y1-box.Y0 >= leastSide) { // nor one that is not a number
			continue
		}
		for k, f := range b.fields {
			copy(all[k].Data[kept*f.row:], all[k].Data[i*f.row:][:f.row])
		}
		moved := data[:kept*b.fields[0].row] // numbers are appended where the box belongs
		for _, v := range [4]float64{box.X0, box.Y0, box.X1, box.Y1} {
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

// bounds are the boxes.
func (b *MovingBoxes) bounds(v *record.Values) (all []media.Bounds) {
	is, edge := v.Arrays[b.fields[0].at.At], numbers.Reader(b.dtype)
	for i := range is.Shape[0] {
		all = append(all, media.Bounds{X0: edge(is.Data, 4*i), Y0: edge(is.Data, 4*i+1),
			X1: edge(is.Data, 4*i+2), Y1: edge(is.Data, 4*i+3)})
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
