package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/tensor"
)

// typeOf is what a part is, if only its name says that: WebDataset has such names.
func typeOf(f index.Field) sample.Type {
	if f.Type != nil {
		return *f.Type
	}
	switch f.Name[strings.LastIndexByte(f.Name, '.')+1:] {
	case "cls", "cls2", "class", "count", "index", "inx", "id":
		return sample.TensorType(tensor.Int64)
	case "txt", "text", "transcript", "json", "jsn":
		return sample.TextType
	}
	return sample.BytesType
}

// isNumber tells types of single numbers.
func isNumber(t sample.Type) bool { return t.Kind == sample.Tensor && len(t.Shape) == 0 }

func isNamed(all []index.Field, name string) bool {
	return slices.ContainsFunc(all, func(f index.Field) bool { return f.Name == name })
}

func text(t sample.Type) bool {
	return (t.Kind == sample.Text || t.Kind == sample.Bytes) && len(t.Shape) == 0
}

// isTexts tells types of lists of text.
func isTexts(t sample.Type) bool { return t.Kind == sample.Text && len(t.Shape) > 0 }

func typeOfJSON(value json.RawMessage) sample.Type {
	switch c := value[0]; {
	case c == 't' || c == 'f':
		return sample.TensorType(tensor.Bool)
	case c == '-' || '0' <= c && c <= '9':
		if strings.ContainsAny(string(value), ".eE") {
			return sample.TensorType(tensor.Float64)
		}
		return sample.TensorType(tensor.Int64)
	}
	return sample.TextType
}

// isOf tells whether a value in JSON is of the type that the first one had.
func isOf(value json.RawMessage, t sample.Type, as As) bool {
	switch is := typeOfJSON(value); {
	case as == AsSaid:
		return true
	case len(t.Shape) > 0: // of the elements what reads them tells
		return value[0] == '['
	case t.Kind == sample.Text:
		return is.Kind == sample.Text && (value[0] == '"') == (as == AsFound)
	case t.DType == tensor.Float64:
		return is.Kind == sample.Tensor && is.DType != tensor.Bool
	default:
		return is.Equal(t)
	}
}

// fits checks that an array has as many bytes as its type says, and finds its open
// extent.
func fits(t sample.Type, v *Value) error {
	if t.Kind != sample.Tensor {
		return nil
	}
	if v.Shape == nil {
		v.Shape = t.Shape
		if open := slices.Index(t.Shape, tensor.Unknown); open >= 0 {
			v.Shape = slices.Clone(t.Shape)
			v.Shape[open] = 1
			one, err := tensor.Shape(v.Shape).Bytes(t.DType)
			switch {
			case err == nil && one > 0:
				v.Shape[open] = len(v.Bytes) / int(one)
			case len(v.Bytes) == 0:
				v.Shape[open] = 0
			}
		}
	}
	if n, err := tensor.Shape(v.Shape).Bytes(t.DType); err != nil || n != int64(len(v.Bytes)) {
		return fmt.Errorf("%w: %d bytes as %v", ErrCorrupt, len(v.Bytes), t)
	}
	return nil
}

// numbered is where a number of the index is in a segment.
type numbered struct {
	at    int // in Ints or Floats; -1: the shard has none
	real  bool
	dtype tensor.DType
	some  bool // not all samples have it
}

func numberOf(s *index.Segment, name string) numbered {
	of := func(n index.Number) bool { return n.Name == name }
	if at := slices.IndexFunc(s.Ints, of); at >= 0 {
		return numbered{at: at, dtype: s.Ints[at].DType, some: s.Ints[at].Absent}
	}
	if at := slices.IndexFunc(s.Floats, of); at >= 0 {
		return numbered{at: at, dtype: s.Floats[at].DType, real: true, some: s.Floats[at].Absent}
	}
	return numbered{at: -1}
}

// readFull reads all of p, or fails.
func readFull(f File, p []byte, at int64) error {
	n, err := f.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return Wrong(f, at+int64(n), ErrChanged, "it is shorter than when it was indexed")
	}
	return &Error{Shard: f.Name(), At: at, Err: err}
}
