package joint

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// Column is one value of every sample.
type Column struct {
	Name string
	Size int // of its bytes; 0: each sample says; Rest: all that is left of it
	// Read returns the type of a value, and its content. Extents of the type are open
	// only where others are different, and shape has them all.
	Read func(data []byte) (t sample.Type, shape []int, content []byte, err error)
	// Refused is why the column is no field; Read is nil.
	Refused string
}

// Rest is the size of a column, the last, that has no length.
const Rest = -1

// Pickled is why pickles are refused.
const Pickled = "it is a pickle, and to unpickle may run any program"

// Columns are the values of a sample, in the order in which they are in it.
type Columns []Column

// Refuse says which columns are no fields.
func (c Columns) Refuse(found *index.Builder) {
	for _, column := range c {
		if column.Read == nil {
			found.Refuse(column.Name, column.Refused)
		}
	}
}

// cut calls each with the bytes of every value of a sample.
func (c Columns) cut(record []byte, each func(i int, value []byte) error) error {
	at := int64(0) // of the values
	for _, column := range c {
		if column.Size == 0 {
			at += 4
		}
	}
	if at > int64(len(record)) {
		return fmt.Errorf("%w: a sample of %d bytes has %d of lengths", shard.ErrCorrupt, len(record), at)
	}

	lengths := record[:at]
	for i, column := range c {
		n := int64(column.Size)
		if n == Rest {
			n = int64(len(record)) - at
		}
		if column.Size == 0 {
			n = int64(binary.LittleEndian.Uint32(lengths))
			lengths = lengths[4:]
		}
		if n > int64(len(record))-at {
			return fmt.Errorf("%w: %q has %d bytes, and the sample ends after %d", shard.ErrCorrupt, column.Name, n, int64(len(record))-at)
		}
		if err := each(i, record[at:at+n:at+n]); err != nil {
			return fmt.Errorf("%q: %w", column.Name, err)
		}
		at += n
	}
	if at != int64(len(record)) {
		return fmt.Errorf("%w: a sample has %d bytes after its values", shard.ErrCorrupt, int64(len(record))-at)
	}
	return nil
}

// Schema is that of a sample.
func (c Columns) Schema(record []byte) (s sample.Schema, err error) {
	err = c.cut(record, func(i int, value []byte) error {
		if c[i].Read == nil {
			return nil
		}
		t, _, _, err := c[i].Read(value)
		s = append(s, sample.Field{Name: c[i].Name, Type: t})
		return err
	})
	return s, err
}

// Parse sets into[i] to the value of want[i].
func (c Columns) Parse(record []byte, want []sample.Field, into []shard.Value) error {
	for _, f := range want {
		at := slices.IndexFunc(c, func(column Column) bool { return column.Name == f.Name })
		if at < 0 {
			return fmt.Errorf("%w: %q", shard.ErrNoField, f.Name)
		}
		if c[at].Read == nil {
			return fmt.Errorf("%w: %q: %s", shard.ErrUnsupported, f.Name, c[at].Refused)
		}
	}
	return c.cut(record, func(i int, value []byte) error {
		for k, f := range want {
			if f.Name != c[i].Name {
				continue
			}
			t, shape, content, err := c[i].Read(value)
			if err == nil {
				into[k], err = fit(f.Type, t, shape, content)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fit is the value of type have as one of type want.
func fit(want, have sample.Type, shape []int, content []byte) (shard.Value, error) {
	switch {
	case want.Kind != sample.Tensor && have.Kind != sample.Tensor && want.Kind != sample.Object:
		return shard.Value{Bytes: content}, nil
	case want.Kind != have.Kind || want.DType != have.DType || len(want.Shape) != len(have.Shape):
		return shard.Value{}, fmt.Errorf("%w: it is %v, not %v", shard.ErrUnsupported, have, want)
	}

	if shape == nil {
		shape = have.Shape
	}
	for axis, n := range want.Shape {
		if n != tensor.Unknown && n != shape[axis] {
			return shard.Value{}, fmt.Errorf("%w: its shape is %v, not %v", shard.ErrUnsupported, tensor.Shape(shape), want.Shape)
		}
	}
	v := shard.Value{Bytes: content}
	if !want.Shape.Fixed() {
		v.Shape = shape
	}
	return v, nil
}

// Array reads values that are the elements of an array of a known type and, where shape
// is fixed, shape. One extent may be open.
func Array(d tensor.DType, shape ...int) func([]byte) (sample.Type, []int, []byte, error) {
	t := sample.TensorType(d, shape...)
	return func(data []byte) (sample.Type, []int, []byte, error) {
		all := shape
		if open := slices.Index(shape, tensor.Unknown); open >= 0 {
			all = slices.Clone(shape)
			all[open] = 1
			one, err := tensor.Shape(all).Bytes(d)
			if err != nil {
				return t, nil, nil, err
			}
			if one > 0 {
				all[open] = int(int64(len(data)) / one)
			}
		}
		return t, all, data, sized(d, all, data)
	}
}

// sized is an error if the elements of an array are more or less than its shape has.
func sized(d tensor.DType, shape tensor.Shape, data []byte) error {
	n, err := shape.Bytes(d)
	if err != nil {
		return fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	}
	if n != int64(len(data)) {
		return fmt.Errorf("%w: %v %v has %d bytes, and there are %d", shard.ErrCorrupt, d, shape, n, len(data))
	}
	return nil
}

// Shaped returns the type of an array whose shape is with its elements, and these.
func Shaped(d tensor.DType, shape []int, data []byte) (sample.Type, []int, []byte, error) {
	open := make([]int, len(shape))
	for axis := range open {
		open[axis] = tensor.Unknown
	}
	return sample.TensorType(d, open...), shape, data, sized(d, shape, data)
}

// Plain reads values that are not looked into: bytes or text.
func Plain(t sample.Type) func([]byte) (sample.Type, []int, []byte, error) {
	return func(data []byte) (sample.Type, []int, []byte, error) { return t, nil, data, nil }
}

// picture are Pillow's modes whose pixels are one after the other, and their channels.
var picture = map[string]int{"L": 1, "LA": 2, "RGB": 3, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBA": 4, "RGBX": 4, "CMYK": 4}

// Pillow reads images as both formats write those of Pillow: width, height, the length of
// the mode's name, the name, the pixels.
func Pillow(data []byte) (t sample.Type, shape []int, pixels []byte, err error) {
	if len(data) < 12 {
		return t, nil, nil, fmt.Errorf("%w: an image of %d bytes", shard.ErrCorrupt, len(data))
	}
	width, height := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	named := int64(binary.LittleEndian.Uint32(data[8:]))
	if named > int64(len(data))-12 {
		return t, nil, nil, fmt.Errorf("%w: the name of an image's mode has %d bytes", shard.ErrCorrupt, named)
	}
	mode := string(data[12 : 12+named])
	channels, ok := picture[mode]
	if !ok {
		return t, nil, nil, fmt.Errorf("%w: an image of Pillow's mode %q", shard.ErrUnsupported, mode)
	}
	shape, pixels = []int{int(height), int(width), channels}, data[12+named:]
	t = sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, channels)
	return t, shape, pixels, sized(tensor.Uint8, shape, pixels)
}
