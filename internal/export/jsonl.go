package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func init() { kinds["jsonl"] = kind{suffix: ".jsonl", open: openJSONL} }

// objects are lines of JSON: numbers, text, and lists of lists of numbers.
type objects struct{ fields []headrace.Field }

func openJSONL(_ Options, run Run) (records, error) {
	for _, f := range run.Info.Fields {
		if f.Name == "image" || isPicture(f) {
			return nil, fmt.Errorf("%w: --out jsonl: %s is an image, which JSON has no form for: "+
				"leave it out, or use --out parquet or tfrecord", ErrOptions, f.Name)
		}
	}
	return &objects{run.Info.Fields}, nil
}

func (w *objects) encode(block *bytes.Buffer, scratch []byte, columns []column, row int, _ int64, _ int) ([]byte, error) {
	block.Reset()
	for i, f := range w.fields {
		block.WriteByte("{,"[min(i, 1)])
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		block.Write(append(name, ':'))

		c := columns[i]
		if isLists(f) {
			block.Write(c.text.At(row))
			continue
		}
		if f.Kind == sample.Text {
			text, err := json.Marshal(recipe.Path(c.textAt(row)))
			if err != nil {
				return nil, err
			}
			block.Write(text)
			continue
		}
		if scratch, _, err = appendJSON(scratch[:0], f.DType, c.shape, c.row(row)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		block.Write(scratch)
	}
	block.WriteString("}\n")
	return scratch, nil
}

// appendJSON writes an array as a list of lists, and returns the data after it.
func appendJSON(dst []byte, d tensor.DType, shape tensor.Shape, data []byte) (_, rest []byte, err error) {
	if len(shape) == 0 {
		dst, err = appendNumber(dst, d, data)
		return dst, data[d.Size():], err
	}
	dst = append(dst, '[')
	for i := range shape[0] {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, data, err = appendJSON(dst, d, shape[1:], data); err != nil {
			return nil, nil, err
		}
	}
	return append(dst, ']'), data, nil
}

// appendNumber writes a number so that it is read as the same one; what is none is null,
// as pandas has it.
func appendNumber(dst []byte, d tensor.DType, b []byte) ([]byte, error) {
	if text, whole := integer(d, b); whole {
		return append(dst, text...), nil
	}
	if d == tensor.Bool {
		return strconv.AppendBool(dst, b[0] != 0), nil
	}
	v, bits := realNumber(d, b)
	switch {
	case math.IsNaN(v):
		return append(dst, "null"...), nil
	case math.IsInf(v, 0):
		return nil, fmt.Errorf("%v is not a JSON number", v)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits), nil
}

// realNumber is a number with a fraction, and as how many bits it is enough to write it.
func realNumber(d tensor.DType, b []byte) (v float64, bits int) {
	if bits = 32; d == tensor.Float64 {
		bits = 64
	}
	return numbers.Reader(d)(b, 0), bits
}

func (w *objects) describe(_ int, f headrace.Field) FieldFile {
	return FieldFile{Name: f.Name, DType: dtypeName(f), Shape: shapeOf(f)}
}
