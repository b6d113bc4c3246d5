package recipe

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
)

// When is a value of the field that a route goes by; in JSON text or a whole number.
type When struct {
	Pattern Path   // of text
	Number  *int64 // nil: Pattern is what counts
}

// Takes implements [Taker].
func (*When) Takes() string { return "text, or a whole number" }

// Text is how recipes write it.
func (w When) Text() string {
	b, _ := w.MarshalJSON()
	return string(b)
}

// MarshalJSON writes text or a number.
func (w When) MarshalJSON() ([]byte, error) {
	if w.Number != nil {
		return strconv.AppendInt(nil, *w.Number, 10), nil
	}
	return w.Pattern.MarshalJSON()
}

var errWhen = errors.New("recipe: must be text, or a whole number")

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *When) UnmarshalJSON(b []byte) error {
	switch rawjson.Value(b).Kind() {
	case rawjson.Text:
		*w = When{}
		return w.Pattern.UnmarshalJSON(b)
	case rawjson.Number:
		*w = When{Number: new(int64)}
		if json.Unmarshal(b, w.Number) == nil {
			return nil
		}
	}
	return errWhen
}

// JSONSchema implements [Schemer].
func (When) JSONSchema() map[string]any {
	return map[string]any{"anyOf": []any{jsonschema.Scalar("string"),
		jsonschema.Scalar("integer", map[string]any{"minimum": math.MinInt64, "maximum": math.MaxInt64})}}
}
