package recipe

import (
	"encoding/json"
	"strconv"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/tensor"
)

// Extents is the shape of an array, of which some extents may differ from sample to
// sample; in JSON a list of whole numbers, null for those.
type Extents tensor.Shape

// Takes implements [Taker].
func (e *Extents) Takes() string { return "a list of whole numbers, null for an extent that differs" }

// JSONSchema implements [Schemer].
func (e *Extents) JSONSchema() map[string]any {
	extent := map[string]any{"anyOf": []any{jsonschema.Scalar("integer", map[string]any{"minimum": 0}), map[string]any{"type": "null"}}}
	return map[string]any{"type": "array", "items": jsonschema.OrVariable(extent)}
}

// MarshalJSON writes the list.
func (e Extents) MarshalJSON() ([]byte, error) {
	all := make([]*int, len(e))
	for i := range e {
		if e[i] != tensor.Unknown {
			all[i] = &e[i]
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Extents) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.List {
		return rawjson.ErrKind
	}
	*e = Extents{}
	for _, extent := range v.Elements() {
		n := tensor.Unknown
		if extent.Kind() != rawjson.Null {
			var err error
			if n, err = strconv.Atoi(string(extent)); err != nil || n < 0 {
				return rawjson.ErrKind
			}
		}
		*e = append(*e, n)
	}
	return nil
}
