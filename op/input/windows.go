package input

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/recipe"
)

// Windows are the fields of which a sample has the values of several rows. In JSON they
// are an object.
type Windows []Window

// Window is such a field, and which rows: how many after the sample's own, or how many
// seconds.
type Window struct {
	Field   string
	Offsets []float64
}

// mostOffsets bounds how many rows a sample has.
const mostOffsets = 65_536

// Check returns an error if windows are not usable; time tells whether they count
// seconds.
func (w Windows) Check(time bool) error {
	seen := map[string]bool{}
	for _, one := range w {
		whole := !slices.ContainsFunc(one.Offsets, func(v float64) bool { return v != math.Trunc(v) || math.Abs(v) > 1<<40 })
		switch {
		case one.Field == "":
			return recipe.Wrong("window", "has a field without a name")
		case seen[one.Field]:
			return recipe.Wrong("window", "has two fields %q", one.Field)
		case len(one.Offsets) == 0:
			return recipe.Wrong("window", "has no offsets for %q: give at least one, such as [0]", one.Field)
		case len(one.Offsets) > mostOffsets:
			return recipe.Wrong("window", "has %d offsets for %q: at most %d are possible", len(one.Offsets), one.Field, mostOffsets)
		case !whole && !time:
			return recipe.Wrong("window", "has offsets for %q that are not whole numbers of rows: "+
				"name the column of times, as in time=\"timestamp\"", one.Field)
		}
		seen[one.Field] = true
	}
	return nil
}

// Takes implements [recipe.Taker].
func (*Windows) Takes() string { return `an object like {"action": [0, 1, 2]}` }

// JSONSchema implements [recipe.Schemer].
func (*Windows) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "minProperties": 1,
		"additionalProperties": map[string]any{"type": "array", "items": jsonschema.OrVariable(jsonschema.Scalar("number")), "minItems": 1}}
}

// MarshalJSON writes the object.
func (w Windows) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range w {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendQuote(b, one.Field), ':', '[')
		for k, v := range one.Offsets {
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, "%v", v)
		}
		b = append(b, ']')
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *Windows) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.Object {
		return rawjson.ErrKind
	}
	*w = Windows{}
	for quoted, member := range v.Members() {
		name, err := rawjson.Unquote(quoted)
		if err != nil || member.Kind() != rawjson.List {
			return rawjson.ErrKind
		}
		one := Window{Field: name}
		for _, e := range member.Elements() {
			var offset float64
			if e.Kind() != rawjson.Number || json.Unmarshal(e, &offset) != nil {
				return rawjson.ErrKind
			}
			one.Offsets = append(one.Offsets, offset)
		}
		*w = append(*w, one)
	}
	return nil
}
