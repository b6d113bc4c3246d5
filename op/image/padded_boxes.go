package image

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// PaddedBoxes are the arguments of steps that change the boxes of whole batches.
type PaddedBoxes struct {
	Boxes string   `json:"boxes,omitempty" example:"boxes"`
	Along []string `json:"along,omitzero" example:"[\"labels\"]" doc:"fields with a row for each box, padded alike"`
}

// Docs implements [argument.Documented].
func (PaddedBoxes) Docs() map[string]string {
	return map[string]string{
		"boxes": "the boxes, 'float32' or 'float64 [rows, n, 4]', left, top, right, bottom, as 'bucket_batch' pads them: how many there " +
			"are is in '<field>_length'. Rows beyond are 0",
	}
}

// names returns the fields: the boxes, and those along with them.
func (b *PaddedBoxes) names() []string { return append([]string{b.Boxes}, b.Along...) }

// checkRows returns the fields of batches whose rows have the boxes of several images.
func (b *PaddedBoxes) checkRows(in sample.Schema, of int) (sample.Schema, error) {
	if b.Boxes == "" {
		if len(b.Along) > 0 {
			return nil, recipe.Wrong("along", "goes with boxes: name these, too")
		}
		return in, nil
	}
	errs := []error{argument.CheckNames("along", b.Along)}
	for i, name := range b.names() {
		arg := "boxes"
		if i > 0 {
			arg = fmt.Sprintf("along[%d]", i-1)
		}
		if err := checkBatchField(in, arg, name); err != nil {
			errs = append(errs, err)
			continue
		}
		t := in[in.Find(name)].Type
		fits := t.Kind == sample.Tensor && t.Axes == "" && len(t.Shape) >= 2 && t.Shape[2:].Fixed()
		if i == 0 {
			fits = fits && isFloats(t) && len(t.Shape) == 3 && t.Shape[2] == 4
		}
		count := in.Find(name + "_length")
		switch {
		case !fits && i == 0:
			errs = append(errs, recipe.Wrong(arg, "is %q, which is %v: must be float32 or float64 [rows, n, 4]", name, t))
		case !fits:
			errs = append(errs, recipe.Wrong(arg, "is %q, which is %v: must have a row for each box", name, t))
		case count < 0 || in[count].Type.DType != tensor.Int64 || len(in[count].Type.Shape) != 1:
			errs = append(errs, recipe.Wrong(arg, "is %q, and there is no field %s_length, which bucket_batch makes", name, name))
		default:
			in = in.Replace(name, sample.Field{Name: name, Type: roomy(t, of)})
		}
	}
	return in, errors.Join(errs...)
}

// roomy is the type of rows with room for the boxes of several images.
func roomy(t sample.Type, of int) sample.Type {
	t.Shape = append(tensor.Shape{}, t.Shape...)
	if t.Shape[1] > 0 {
		t.Shape[1] *= of
	}
	return t
}

// boxFields are the padded boxes of batches, and what goes along with them.
type boxFields struct {
	dtype  tensor.DType
	fields []paddedField // boxes first; none: there are no boxes
}

// paddedField is a field of rows that are padded, and how many rows of it there are.
type paddedField struct {
	name         string
	from, to     record.Column
	count, gives record.Column
	row          int // bytes
}

// link finds the fields in a scope.
func (b *PaddedBoxes) link(t *core.Scope, of int) (*boxFields, error) {
	all := &boxFields{}
	if b.Boxes == "" {
		return all, nil
	}
	all.dtype = t.Schema[t.Schema.Find(b.Boxes)].Type.DType
	for _, name := range b.names() {
		is := t.Schema[t.Schema.Find(name)].Type
		row, err := is.Shape[2:].Bytes(is.DType)
		if err != nil {
			return nil, err
		}
		count := name + "_length"
		f := paddedField{name: name, row: int(row), from: t.Columns.Take(name), count: t.Columns.Take(count)}
		f.to = t.Columns.PutAny(name, roomy(is, of))
		f.gives = t.Columns.PutAny(count, t.Schema[t.Schema.Find(count)].Type)
		all.fields = append(all.fields, f)
		t.Schema = t.Schema.Replace(name, sample.Field{Name: name, Type: roomy(is, of)})
	}
	return all, nil
}

// boxRows are the boxes of a batch, and those that its rows will have.
type boxRows struct {
	*boxFields
	is    []record.Array // of each field
	most  int            // boxes for which a row has room
	count []int          // of the boxes of each row
	rows  []boxList
}

// boxList has the boxes that a row will have, and the places they come from.
type boxList struct {
	boxes []media.Bounds
	from  []boxAt
}

// boxAt is box number i of a row.
type boxAt struct{ row, i int }

// read finds the boxes of a batch.
func (f *boxFields) read(v *record.Values, rows int) (*boxRows, error) {
	b := &boxRows{boxFields: f, rows: make([]boxList, rows)}
	for k, field := range f.fields {
		is, counts := v.Arrays[field.from.At], v.Arrays[field.count.At]
		b.is = append(b.is, is)
		for i := range rows {
			n := int(int64(binary.LittleEndian.Uint64(counts.Data[8*i:])))
			switch {
			case n < 0 || n > is.Shape[1]:
				return nil, fmt.Errorf("headrace: row %d of %q says that it has %d of %d rows", i, field.name, n, is.Shape[1])
			case k == 0:
				b.count = append(b.count, n)
			case n != b.count[i]:
				return nil, fmt.Errorf("headrace: row %d has %d boxes, and %d of %q: it must have one for each",
					i, b.count[i], n, field.name)
			}
		}
		if k == 0 {
			b.most = is.Shape[1]
		}
	}
	return b, nil
}

// box returns the edges of a box.
func (b *boxRows) box(at boxAt) media.Bounds {
	edge, k := numbers.Reader(b.dtype), 4*(at.row*b.most+at.i)
	data := b.is[0].Data
	return media.Bounds{X0: edge(data, k), Y0: edge(data, k+1), X1: edge(data, k+2), Y1: edge(data, k+3)}
}

// of returns the places of the boxes of a row.
func (b *boxRows) of(row int) (all []boxAt) {
	if len(b.fields) == 0 {
		return nil
	}
	for i := range b.count[row] {
		all = append(all, boxAt{row, i})
	}
	return all
}

// add gives a row a box.
func (b *boxRows) add(row int, box media.Bounds, from boxAt) {
	list := &b.rows[row]
	list.boxes, list.from = append(list.boxes, box), append(list.from, from)
}

// write puts the boxes that rows have now into a batch, with room for those of so many
// images.
func (b *boxRows) write(env *core.Env, v *record.Values, images int) {
	for k, field := range b.fields {
		most := b.is[k].Shape[1] * images
		// What is beyond the boxes of a row is 0, whatever was in this memory.
		memory := *v.Borrow(&env.Images, len(b.rows)*most*field.row)
		counts := *v.Borrow(&env.Images, 8*len(b.rows))
		clear(memory)
		for i, list := range b.rows {
			binary.LittleEndian.PutUint64(counts[8*i:], uint64(len(list.boxes)))
			for n, at := range list.from {
				to := memory[(i*most+n)*field.row:][:field.row]
				if k > 0 {
					copy(to, b.is[k].Data[(at.row*b.is[k].Shape[1]+at.i)*field.row:])
					continue
				}
				to = to[:0]
				for _, edge := range [4]float64{list.boxes[n].X0, list.boxes[n].Y0, list.boxes[n].X1, list.boxes[n].Y1} {
					to = numbers.Append(to, b.dtype, edge)
				}
			}
		}
		shape := append(tensor.Shape{len(b.rows), most}, b.is[k].Shape[2:]...)
		number := v.Arrays[field.count.At].Shape
		for _, at := range []record.Column{field.from, field.count} {
			v.Forget(at)
		}
		v.Arrays[field.to.At] = record.Array{Shape: shape, Data: memory}
		v.Arrays[field.gives.At] = record.Array{Shape: number, Data: counts}
	}
}
