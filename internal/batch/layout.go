package batch

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// alignment of every tensor in a batch, in bytes: a cache line, and the widest vector
// register. Workers that write whole batches lay them out alike.
const alignment = extern.WholeAlign

// Field is converted to headrace.Field, whose fields are the same.
type Field struct {
	Name   string       `json:"name"`
	Kind   sample.Kind  `json:"kind"`             // tensor, text, object or ragged; of samples that no step puts into batches bytes, too
	DType  tensor.DType `json:"dtype,omitempty"`  // of a tensor
	Shape  tensor.Shape `json:"shape,omitzero"`   // of one row, [tensor.Unknown] for an extent that differs between batches; [] of a scalar
	Offset int          `json:"offset,omitempty"` // bytes into the slot at which row 0 lies

	Logical *sample.Logical `json:"logical,omitempty"` // what values stand for, as files say; nil: themselves
}

// Layout places the fields of a batch in a slot: one contiguous, aligned array for each
// tensor field. Text, objects and ragged
// fields travel beside the slot.
type Layout struct {
	Fields []Field
	Rows   int // most rows of a batch
	Bytes  int // of a slot
	texts  []int
	ragged []string // the names of these fields
	Forms  []Form   // of batches; where they are padded to their longest sample, of the largest ones
	Whole  bool     // a batch is one row, whose values are its fields: these are one after the other, where its form says
	Single bool     // and that is a sample as it is
	Lists  []int    // of how many samples a function makes one at most, by what they are alike in; nil: no function does
}

// Full returns how many samples, or rows, a full batch of each kind is made of.
func (l *Layout) Full() []int {
	if l.Lists != nil {
		return l.Lists
	}
	full := make([]int, len(l.Forms))
	for i, f := range l.Forms {
		full[i] = f.Rows
	}
	return full
}

// Form holds the shapes that a layout leaves open, for one batch or several.
type Form struct {
	extents []int          // those that are unknown in the fields' shapes, in their order
	shapes  []tensor.Shape // of a row, by field
	sizes   []int          // of a row in bytes, by field
	Rows    int            // most of a batch
	offsets []int          // of a batch that is whole, by field
	bytes   int            // likewise, of all fields
}

// Size is a form before there is a layout: how many rows a batch has at most, and the
// extents that the schema leaves open.
type Size struct {
	Rows    int
	Extents []int
}

// NewLayout lays out batches of samples of the schema, which recipe.Check has found fit
// for batching. A slot has room for a batch of any of the forms.
func NewLayout(schema sample.Schema, forms ...Size) (Layout, error) {
	return (Layout{}).of(schema, forms)
}

// NewRagged is NewLayout with fields whose arrays are not stacked. As nobody knows how
// large those of a batch are before all its samples are there, they travel beside the
// slot.
func NewRagged(schema sample.Schema, ragged []string, forms ...Size) (Layout, error) {
	return (Layout{ragged: ragged}).of(schema, forms)
}

func (l Layout) of(schema sample.Schema, forms []Size) (Layout, error) {
	for i, f := range schema {
		kind := f.Type.Kind
		if slices.Contains(l.ragged, f.Name) {
			kind = sample.Ragged
		}
		switch kind {
		case sample.Text, sample.Object, sample.Ragged:
			l.texts = append(l.texts, i)
		case sample.Tensor:
		case sample.Bytes:
			if l.Single {
				l.texts = append(l.texts, i)
				break
			}
			fallthrough
		default:
			return Layout{}, fmt.Errorf("headrace: field %q is %v and cannot be batched", f.Name, f.Type)
		}
		l.Fields = append(l.Fields, Field{Name: f.Name, Kind: kind, DType: f.Type.DType, Shape: f.Type.Shape, Logical: f.Type.Logical})
	}

	for _, o := range forms {
		f, err := l.form(o)
		if err != nil {
			return Layout{}, err
		}
		l.Forms, l.Rows = append(l.Forms, f), max(l.Rows, o.Rows)
	}

	for i := range l.Fields {
		l.Fields[i].Offset = l.Bytes
		most := 0
		for _, f := range l.Forms {
			most = max(most, f.Rows*f.sizes[i])
		}
		if l.Bytes += aligned(most); l.Bytes > MaxSlot {
			return Layout{}, l.tooLarge(l.Rows, i)
		}
	}

	l.Bytes = max(l.Bytes, alignment) // a batch without arrays still has a slot, for its lease
	return l, nil
}

// NewWhole lays out batches that a function makes whole, of samples as the sizes say. A
// slot has room for that many bytes, or exactly a batch if its size is fixed.
func NewWhole(schema sample.Schema, room int, of ...Size) (Layout, error) {
	l := Layout{Whole: true}
	for _, o := range of {
		l.Lists = append(l.Lists, o.Rows)
	}
	return whole(l, schema, room)
}

// NewSingle lays out samples that are given out by themselves, as NewWhole does batches.
func NewSingle(schema sample.Schema, room int) (Layout, error) {
	return whole(Layout{Whole: true, Single: true}, schema, room)
}

func whole(l Layout, schema sample.Schema, room int) (Layout, error) {
	l, err := l.of(schema, nil)
	if err != nil {
		return l, err
	}
	l.Rows, l.Bytes = 1, max(room, alignment)
	if l.unknown() == 0 {
		f, err := l.form(Size{Rows: 1})
		if err != nil {
			return l, err
		}
		l.Forms, l.Bytes = []Form{f}, max(f.bytes, alignment)
	}
	return l, nil
}

// aligned returns the number of bytes that a field takes.
func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

// form returns the form of batches with these unknown extents.
func (l *Layout) form(o Size) (Form, error) {
	f := Form{extents: o.Extents, Rows: o.Rows}

	for i, field := range l.Fields {
		if field.Kind != sample.Tensor {
			f.shapes, f.sizes = append(f.shapes, nil), append(f.sizes, 0)
			continue
		}
		shape := append(tensor.Shape(nil), field.Shape...)
		for k, n := range shape {
			if n == tensor.Unknown {
				shape[k], o.Extents = o.Extents[0], o.Extents[1:]
			}
		}

		n, err := shape.Bytes(field.DType)
		if err != nil {
			return Form{}, fmt.Errorf("headrace: field %q: %w", field.Name, err)
		}
		if n > MaxSlot/int64(o.Rows) {
			return Form{}, l.tooLarge(o.Rows, i)
		}
		f.shapes, f.sizes = append(f.shapes, shape), append(f.sizes, int(n))
	}

	if l.Whole {
		for _, n := range f.sizes {
			f.offsets = append(f.offsets, f.bytes)
			f.bytes += aligned(n)
		}
		if f.bytes > MaxSlot {
			return Form{}, l.tooLarge(o.Rows, len(f.sizes)-1)
		}
	}
	return f, nil
}

// unknown is the number of extents that forms bring.
func (l *Layout) unknown() (n int) {
	for _, f := range l.Fields {
		for _, extent := range f.Shape {
			if extent == tensor.Unknown && f.Kind == sample.Tensor {
				n++
			}
		}
	}
	return n
}

func (l *Layout) tooLarge(rows, field int) error {
	f := l.Fields[field]
	return fmt.Errorf("%w: a batch of %d rows takes more than %d bytes: %q alone is %s %v a row; use a smaller batch",
		core.ErrConfig, rows, int64(MaxSlot), f.Name, f.DType, f.Shape)
}

// MaxSlot bounds a batch: half of what a 64-bit address space gives a process on every
// CPU at hand, and far below where int arithmetic ends.
const MaxSlot = 1 << 46

// mostBeside bounds the text and objects of a batch. They travel in one message with what
// else there is to say of it, and messages have at most 1 GiB.
const mostBeside = 960 << 20

// field is the number of a field in a batch.
func (l *Layout) field(name string) int {
	return slices.IndexFunc(l.Fields, func(f Field) bool { return f.Name == name })
}

// text is the number of a field among those of text and objects.
func (l *Layout) text(field int) int { return slices.Index(l.texts, field) }
