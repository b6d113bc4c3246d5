package recipe

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Gives are the types of what a function of Python gives; in JSON an object with a type
// for each field: "text", "bytes", "object", or an object with the dtype and the shape of
// an array, which is a number where that is left out. Of text and objects the shape says
// how many there are, in a batch.
type Gives struct {
	Schema sample.Schema // nil: not said
	Tried  bool          // nobody has said it: a first sample has told
	Values sample.Schema // those of a first sample that was a tuple, which functions are given as it is
	Tuple  bool          // samples are tuples, and the names of the fields are the numbers of their values
}

// GivenArray is the type of an array in JSON.
type GivenArray struct {
	DType string  `json:"dtype" required:"true"`
	Shape Extents `json:"shape"`
}

// Takes implements [Taker].
func (g *Gives) Takes() string {
	return `an object like {"image": {"dtype": "uint8", "shape": [224, 224, 3]}, "caption": "text"}`
}

// JSONSchema implements [Schemer].
func (g *Gives) JSONSchema() map[string]any {
	names := []any{"text", "object"}
	for d := tensor.Bool; d.Valid(); d++ {
		names = append(names, d.String())
	}
	array := map[string]any{
		"type": "object", "required": []string{"dtype"}, "additionalProperties": false,
		"properties": map[string]any{
			"dtype": map[string]any{"enum": names},
			"shape": map[string]any{"anyOf": []any{new(Extents).JSONSchema(), map[string]any{"type": "null"}}},
		},
	}
	return map[string]any{"type": "object",
		"additionalProperties": map[string]any{"anyOf": []any{map[string]any{"enum": []any{"text", "bytes", "object"}},
			array}}, "minProperties": 1}
}

// MarshalJSON writes the object, its keys in the order of the fields.
func (g Gives) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range g.Schema {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendQuote(b, f.Name), ':')
		name := f.Type.DType.String()
		if f.Type.Kind != sample.Tensor {
			name = f.Type.Kind.String()
		}
		if f.Type.Kind != sample.Tensor && len(f.Type.Shape) == 0 {
			b = rawjson.AppendQuote(b, name)
			continue
		}
		t, err := json.Marshal(GivenArray{name, Extents(f.Type.Shape)})
		if err != nil {
			return nil, err
		}
		b = append(b, t...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Gives) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.Object {
		return rawjson.ErrKind
	}
	g.Schema = sample.Schema{}
	for quoted, member := range v.Members() {
		name, err := rawjson.Unquote(quoted)
		if err != nil || g.Schema.Find(name) >= 0 {
			return rawjson.ErrKind
		}
		t, err := ParseGiven(member)
		if err != nil {
			return err
		}
		g.Schema = append(g.Schema, sample.Field{Name: name, Type: t})
	}
	return nil
}

// severals are the kinds of which a batch has one value for each row.
var severals = map[string]sample.Kind{"text": sample.Text, "object": sample.Object}

// ParseGiven reads the type of one field, as in [Gives].
func ParseGiven(v rawjson.Value) (sample.Type, error) {
	switch string(v) {
	case `"text"`:
		return sample.TextType, nil
	case `"bytes"`:
		return sample.BytesType, nil
	case `"object"`:
		return sample.ObjectType, nil
	}
	if v.Kind() != rawjson.Object {
		return sample.Type{}, rawjson.ErrKind
	}

	t := sample.Type{Kind: sample.Tensor, Shape: tensor.Shape{}}
	seen := make(map[string]bool)
	for quoted, member := range v.Members() {
		key, err := rawjson.Unquote(quoted)
		if err != nil || seen[key] {
			return t, rawjson.ErrKind
		}
		switch seen[key] = true; {
		case key == "dtype" && member.Kind() == rawjson.Text:
			name, _ := rawjson.Unquote(member)
			if severals[name] != 0 {
				t.Kind = severals[name]
			} else if t.DType, err = tensor.ParseDType(name); err != nil {
				return t, rawjson.ErrKind
			}
		case key == "shape" && member.Kind() == rawjson.Null:
		case key == "shape":
			var e Extents
			if err := e.UnmarshalJSON(member); err != nil {
				return t, err
			}
			t.Shape = tensor.Shape(e)
		default:
			return t, rawjson.ErrKind
		}
	}

	if !seen["dtype"] || t.Kind != sample.Tensor && len(t.Shape) == 0 {
		return t, rawjson.ErrKind
	}
	return t, nil
}

// Check returns what is wrong with the types, which are those of the fields with these
// names; nil: of whatever fields.
func (g Gives) Check(names []string) error {
	if g.Schema == nil {
		return nil
	}
	if len(g.Schema) == 0 {
		return Wrong("gives", "is empty: give the type of at least one field, or null to let the engine find out")
	}
	if err := g.Schema.Check(); err != nil {
		return Wrong("gives", "is not possible: %w", err)
	}

	var errs []error
	for _, f := range g.Schema {
		if n, err := f.Type.Shape.Bytes(f.Type.DType); f.Type.Fixed() && (err != nil || n > maxGiven) {
			errs = append(errs, Wrong("gives", "is too large: the field %q is %v", f.Name, f.Type))
		}
		if names != nil && !slices.Contains(names, f.Name) {
			errs = append(errs, Wrong("gives", "names %q: the function gives %s", f.Name, words.List(names)))
		}
	}

	for _, name := range names {
		if g.Schema.Find(name) < 0 {
			errs = append(errs, Wrong("gives", "lacks the field %q, which the function gives", name))
		}
	}
	return errors.Join(errs...)
}

// maxGiven bounds an array that a function gives.
const maxGiven = 1 << 40

// SourceAxes are those of an array that a source gives as an image, or as its mask.
func SourceAxes(f sample.Field) string {
	switch {
	case f.Name == "image" && CouldBeImage(f.Type):
		return "HWC"
	case f.Name == "mask" && couldBeMask(f.Type):
		return "HW"
	}
	return ""
}

func couldBeMask(t sample.Type) bool {
	whole := t.DType == tensor.Uint8 || t.DType == tensor.Uint16
	return t.Kind == sample.Tensor && len(t.Shape) == 2 && whole && !slices.Contains(t.Shape, 0)
}

// CouldBeImage tells whether an array has the form of images as they are decoded.
func CouldBeImage(t sample.Type) bool {
	whole := t.DType == tensor.Uint8 || t.DType == tensor.Uint16
	if t.Kind != sample.Tensor || len(t.Shape) != 3 || !whole || slices.Contains(t.Shape[:2], 0) {
		return false
	}
	channels := t.Shape[2]
	return channels == 1 || channels == 3 || channels == 4
}
