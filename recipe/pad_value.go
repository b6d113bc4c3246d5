package recipe

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// PadValue is the value where samples have nothing: one number, or one for each field
// that it names, and 0 in all others; in JSON a number or an object.
type PadValue struct {
	All    float64            // of fields that are not in Fields
	Fields map[string]float64 // nil: none
}

// Of returns the value for a field.
func (p PadValue) Of(field string) float64 {
	if v, ok := p.Fields[field]; ok {
		return v
	}
	return p.All
}

// Complete is the one form of what names no field.
func (p PadValue) Complete() PadValue {
	if len(p.Fields) == 0 {
		p.Fields = nil
	}
	return p
}

// Takes implements [Taker].
func (p *PadValue) Takes() string { return "a number, or an object like {field: number}" }

// JSONSchema implements [Schemer].
func (p *PadValue) JSONSchema() map[string]any {
	number := map[string]any{"type": "number"}
	return map[string]any{"anyOf": []any{number, map[string]any{"type": "object", "additionalProperties": jsonschema.OrVariable(number)}}}
}

// MarshalJSON writes the shorter of the two forms.
func (p PadValue) MarshalJSON() ([]byte, error) {
	if p.Fields != nil {
		return json.Marshal(p.Fields)
	}
	return json.Marshal(p.All)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *PadValue) UnmarshalJSON(b []byte) (err error) {
	v := rawjson.Value(b)
	*p = PadValue{}
	switch v.Kind() {
	case rawjson.Number:
		p.All, err = strconv.ParseFloat(string(v), 64)
		return err
	case rawjson.Object:
		p.Fields = map[string]float64{}
		for quoted, member := range v.Members() {
			key, err := rawjson.Unquote(quoted)
			if _, twice := p.Fields[key]; err != nil || twice || member.Kind() != rawjson.Number {
				return rawjson.ErrKind
			}
			if p.Fields[key], err = strconv.ParseFloat(string(member), 64); err != nil {
				return err
			}
		}
		return nil
	}
	return rawjson.ErrKind
}

// Check holds the values against the fields that are padded.
func (p PadValue) Check(padded []sample.Field) (errs []error) {
	for _, f := range padded {
		if v := p.Of(f.Name); !HasValue(f.Type.DType, v) {
			errs = append(errs, Wrong("pad", "is %v for the field %q: no %v has this value", v, f.Name, f.Type.DType))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
		if !slices.ContainsFunc(padded, func(f sample.Field) bool { return f.Name == name }) {
			errs = append(errs, Wrong("pad", "names %q: the fields that are padded are %s",
				name, words.List(sample.Schema(padded).Names())))
		}
	}
	return errs
}

// HasValue tells whether an element of a type can have a value, or one as near as
// floating point comes.
func HasValue(d tensor.DType, v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false // no recipe can be written with it
	}
	bits := 8 * d.Size()
	switch d {
	case tensor.Bool:
		return v == 0 || v == 1
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		return v == math.Trunc(v) && v >= 0 && v < math.Ldexp(1, bits)
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		return v == math.Trunc(v) && v >= -math.Ldexp(1, bits-1) && v < math.Ldexp(1, bits-1)
	case tensor.Float16:
		return math.Abs(v) < 65520
	case tensor.Float32, tensor.BFloat16:
		return math.Abs(v) < math.MaxFloat32
	}
	return true
}

// NoSequences says that there is nothing to pad or to pack, and what to do about it.
func NoSequences(in sample.Schema, what string) error {
	if slices.ContainsFunc(in, func(f sample.Field) bool { return f.Type.Kind == sample.Bytes }) {
		return fmt.Errorf("has no sequences to %s, only %v; put decode_npy before it", what, in)
	}
	const sequence = "has no sequences to %s, only %v: a sequence is an array whose first extent alone is unknown. "
	for _, f := range in {
		if f.Type.Kind == sample.Tensor && f.Type.Axes == "" && len(f.Type.Shape) > 0 {
			return fmt.Errorf(sequence+"If %q differs in length, say so in the source or the step that makes it, "+
				"beside its other fields: gives={%q: %s}", what, in, f.Name, f.Name, openEnded(f.Type))
		}
	}
	return fmt.Errorf(sequence+"A source or a function that makes one says so, beside its other fields: "+
		"gives={\"tokens\": (\"int32\", (None,))}", what, in)
}

// openEnded is the type of an array of any length, as Python's gives has it.
func openEnded(t sample.Type) string {
	shape := "(None,"
	for _, n := range t.Shape[1:] {
		if n == tensor.Unknown {
			n = 80
		}
		shape += fmt.Sprintf(" %d,", n)
	}
	if len(t.Shape) > 1 {
		shape = strings.TrimSuffix(shape, ",")
	}
	return fmt.Sprintf("(%q, %s))", t.DType, shape)
}
