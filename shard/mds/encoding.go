package mds

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/joint"
	"github.com/headrace/headrace/tensor"
)

// value reads what a column has of a sample.
type value = func([]byte) (sample.Type, []int, []byte, error)

// columnsOf reads the columns of a shard.
func columnsOf(f shard.File, d described) (joint.Columns, error) {
	if len(d.Names) != len(d.Encodings) || len(d.Names) != len(d.Sizes) {
		return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "%d columns have %d encodings and %d sizes",
			len(d.Names), len(d.Encodings), len(d.Sizes))
	}
	all := make(joint.Columns, len(d.Names))
	for i, column := range d.Names {
		read, err := encoding(d.Encodings[i])
		if err != nil {
			return nil, shard.Wrong(f, -1, shard.ErrUnsupported, "column %q: %v", column, err)
		}
		size := int64(0)
		if d.Sizes[i] != nil {
			size = *d.Sizes[i]
		}
		if column == "" || slices.Contains(d.Names[:i], column) || size < 0 || size > math.MaxUint32 {
			return nil, shard.Wrong(f, -1, shard.ErrCorrupt, "column %q of %d bytes", column, size)
		}
		all[i] = joint.Column{Name: column, Size: int(size), Read: read}
		if read == nil {
			all[i].Refused = joint.Pickled
		}
	}
	return all, nil
}

// encoding is how values of one are read; nil: they are pickles.
func encoding(text string) (value, error) {
	kind, options, _ := strings.Cut(text, ":")
	switch kind {
	case "bytes", "jpeg", "png":
		return joint.Plain(sample.BytesType), nil
	case "str", "str_decimal", "json":
		return joint.Plain(sample.TextType), nil
	case "int":
		return joint.Array(tensor.Int64), nil
	case "str_int":
		return wholeNumber, nil
	case "str_float":
		return otherNumber, nil
	case "pil":
		return joint.Pillow, nil
	case "pkl":
		return nil, nil
	case "ndarray":
		return array(options)
	}
	if d, err := tensor.ParseDType(kind); err == nil && d != tensor.Bool && d != tensor.BFloat16 {
		return joint.Array(d), nil
	}
	return nil, fmt.Errorf("the encoding %q", text)
}

func wholeNumber(data []byte) (sample.Type, []int, []byte, error) {
	t := sample.TensorType(tensor.Int64)
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return t, nil, nil, fmt.Errorf("%w: not a whole number of 8 bytes: %w", shard.ErrUnsupported, err)
	}
	return t, nil, binary.LittleEndian.AppendUint64(nil, uint64(n)), nil
}

func otherNumber(data []byte) (sample.Type, []int, []byte, error) {
	t := sample.TensorType(tensor.Float64)
	x, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return t, nil, nil, fmt.Errorf("%w: not a number: %w", shard.ErrUnsupported, err)
	}
	return t, nil, binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)), nil
}

// codes are the numbers of element types that arrays begin with.
var codes = map[byte]tensor.DType{
	8: tensor.Uint8, 9: tensor.Int8, 16: tensor.Uint16, 17: tensor.Int16, 18: tensor.Float16, 32: tensor.Uint32,
	33: tensor.Int32, 34: tensor.Float32, 64: tensor.Uint64, 65: tensor.Int64, 66: tensor.Float64,
}

// array reads arrays of ndarray, ndarray:type, and ndarray:type:extents.
func array(options string) (value, error) {
	kind, extents, fixed := strings.Cut(options, ":")
	known := tensor.Invalid
	if kind != "" {
		for _, d := range codes {
			if d.String() == kind {
				known = d
			}
		}
		if known == tensor.Invalid {
			return nil, fmt.Errorf("arrays of %q", kind)
		}
	}
	if !fixed {
		return func(data []byte) (sample.Type, []int, []byte, error) { return shaped(known, data) }, nil
	}

	var shape []int
	for text := range strings.SplitSeq(extents, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("arrays of shape %q", extents)
		}
		shape = append(shape, n)
	}
	if _, err := tensor.Shape(shape).Bytes(known); err != nil {
		return nil, err
	}
	return joint.Array(known, shape...), nil
}

// shaped reads an array that says its shape and, where that is not known, its type.
func shaped(d tensor.DType, data []byte) (sample.Type, []int, []byte, error) {
	short := fmt.Errorf("%w: an array ends before its elements", shard.ErrCorrupt)
	if d == tensor.Invalid {
		if len(data) == 0 {
			return sample.Type{}, nil, nil, short
		}
		var ok bool
		if d, ok = codes[data[0]]; !ok {
			return sample.Type{}, nil, nil, fmt.Errorf("%w: an array of type %d", shard.ErrCorrupt, data[0])
		}
		data = data[1:]
	}
	if len(data) == 0 {
		return sample.Type{}, nil, nil, short
	}

	axes, width := int(data[0]>>2), 1<<(data[0]&3)
	if data = data[1:]; len(data) < axes*width {
		return sample.Type{}, nil, nil, short
	}
	shape := make([]int, axes)
	for axis := range shape {
		var wide [8]byte
		copy(wide[:], data[axis*width:(axis+1)*width])
		shape[axis] = int(binary.LittleEndian.Uint64(wide[:]))
		if shape[axis] < 0 {
			return sample.Type{}, nil, nil, fmt.Errorf("%w: an array has an extent of more than 2⁶³", shard.ErrCorrupt)
		}
	}
	return joint.Shaped(d, shape, data[axes*width:])
}
