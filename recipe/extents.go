package recipe

import (
	"encoding/json"
	"strconv"

	"headrace/tensor"
)

// Extents is the shape of an array, of which some extents may differ from sample to sample; in JSON a list of whole numbers, null for those.
type Extents tensor.Shape

func (e *Extents) takes() string { return "a list of whole numbers, null for an extent that differs" }

// JSONSchema implements [Schemer].
func (e *Extents) JSONSchema() map[string]any {
	extent := map[string]any{"anyOf": []any{scalarSchema("integer", map[string]any{"minimum": 0}), map[string]any{"type": "null"}}}
	return map[string]any{"type": "array", "items": orVariable(extent)}
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
	v := value(b)
	if v.kind() != '[' {
		return errKind
	}
	*e = Extents{}
	for _, extent := range v.elements() {
		n := tensor.Unknown
		if extent.kind() != 'n' {
			var err error
			if n, err = strconv.Atoi(string(extent)); err != nil || n < 0 {
				return errKind
			}
		}
		*e = append(*e, n)
	}
	return nil
}
