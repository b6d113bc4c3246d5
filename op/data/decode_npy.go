package data

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[DecodeNPY]("decode_npy", recipe.Between,
	"Read an array in NumPy's format (.npy): numbers or bools, little-endian, in C order.").Explained(`
A file with another dtype or shape is a bad sample. Nothing is evaluated or unpickled.`,
	`tokens = hr.files("tokens/*.npy").shuffle()`,
	`tokens.decode_npy("int32", to="tokens").pack(2048, size=8)`).Called("dtype, shape").
	Begins(recipe.Beginning{Of: "array", Steps: stepsOf}))

// DecodeNPY are the arguments of the operation decode_npy. Files say themselves what they
// hold; it is said here, too, so that everything can be checked before one is read, and a
// file that holds something else is a bad sample.
type DecodeNPY struct {
	Field string         `json:"field,omitempty" default:"bytes"`
	To    string         `json:"to,omitempty" default:"array" doc:"the field for the array"`
	DType string         `json:"dtype,omitempty" python:"a dtype" required:"true" example:"int32"`
	Shape recipe.Extents `json:"shape,omitzero" default:"[null]" example:"[null, 80]"`
}

// Docs implements [argument.Documented].
func (*DecodeNPY) Docs() map[string]string {
	return map[string]string{
		"dtype choices": "bool,uint8,int8,uint16,int16,uint32,int32,uint64,int64,float16,bfloat16,float32,float64",
		"field":         "the field with the file, which is removed; by default where 'files' put it",
		"dtype": "the dtype in the file, in Python also 'numpy.int32' and the like; 'bfloat16' accepts its bits " +
			"as uint16, or as ml_dtypes writes them",
		"shape": "'null' for an extent that differs; by default '[null]', a sequence of numbers",
	}
}

// stepsOf returns the steps for arrays like the first.
func stepsOf(first io.Reader) string {
	head, _ := io.ReadAll(io.LimitReader(first, int64(npy.MaxHeader)))
	layout, err := npy.ReadLayout(head)
	if err != nil {
		return "  - decode_npy: {dtype: float32} # say which, and their shape\n  - batch: {size: 64}\n"
	}
	shape := make([]string, len(layout.Shape))
	for i, n := range layout.Shape {
		shape[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("  - decode_npy: {dtype: %v, shape: [%s]}\n  - batch: {size: 64}\n", layout.DType(), strings.Join(shape, ", "))
}

// Type returns the type of the arrays. The arguments must be complete and checked.
func (d *DecodeNPY) Type() sample.Type {
	t, _ := tensor.ParseDType(d.DType)
	return sample.TensorType(t, d.Shape...)
}

// Check implements [recipe.Args].
func (d *DecodeNPY) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.CheckTags(d)}
	if err := tensor.Shape(d.Shape).Check(); err != nil {
		errs = append(errs, recipe.Wrong("shape", "is %v: must be at least 0, and %d for an extent that differs",
			[]int(d.Shape), tensor.Unknown))
	}
	errs = append(errs, recipe.CheckDecoding(in, d.Field, d.To, false))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if _, err := d.Type().Shape.Bytes(d.Type().DType); err != nil && d.Type().Shape.Fixed() {
		return nil, recipe.Wrong("shape", "is too large: %w", err)
	}
	return in.Replace(d.Field, sample.Field{Name: d.To, Type: d.Type()}), nil
}

// Traits implements [recipe.Traited].
func (*DecodeNPY) Traits() recipe.Traits {
	return recipe.Traits{Content: "array", Suffixes: []string{".npy"}}
}
