package recipe

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

// RowLengths are the lengths of packed rows: one for the sequences of a sample that are
// equally long, or one for each; in JSON a number or an object.
type RowLengths struct {
	All    int
	Fields map[string]int // nil: All
}

// Of returns the length of a field's rows.
func (l RowLengths) Of(field string) int {
	if l.Fields != nil {
		return l.Fields[field]
	}
	return l.All
}

// IsZero reports whether no length is given.
func (l RowLengths) IsZero() bool { return l.All == 0 && l.Fields == nil }

// Takes implements [Taker].
func (l *RowLengths) Takes() string { return "a whole number, or an object like {field: number}" }

// JSONSchema implements [Schemer].
func (l *RowLengths) JSONSchema() map[string]any {
	number := map[string]any{"type": "integer", "minimum": 1}
	return map[string]any{"anyOf": []any{number, map[string]any{"type": "object", "additionalProperties": jsonschema.OrVariable(number)}}}
}

// MarshalJSON writes the shorter of the two forms.
func (l RowLengths) MarshalJSON() ([]byte, error) {
	if l.Fields != nil {
		return json.Marshal(l.Fields)
	}
	return json.Marshal(l.All)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *RowLengths) UnmarshalJSON(b []byte) (err error) {
	v := rawjson.Value(b)
	*l = RowLengths{}
	switch v.Kind() {
	case rawjson.Number:
		l.All, err = strconv.Atoi(string(v))
		return err
	case rawjson.Object:
		l.Fields = map[string]int{}
		for quoted, member := range v.Members() {
			key, err := rawjson.Unquote(quoted)
			if _, twice := l.Fields[key]; err != nil || twice || member.Kind() != rawjson.Number {
				return rawjson.ErrKind
			}
			if l.Fields[key], err = strconv.Atoi(string(member)); err != nil {
				return err
			}
		}
		return nil
	}
	return rawjson.ErrKind
}

// Check holds the lengths against the sequences that are packed.
func (l RowLengths) Check(sequences []sample.Field) (errs []error) {
	if l.Fields == nil {
		return nil
	}
	names := sample.Schema(sequences).Names()
	for _, name := range names {
		if _, ok := l.Fields[name]; !ok {
			errs = append(errs, Wrong("length", "has none for the sequence %q: give each its own, or one number for sequences that are "+
				"equally long", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		switch n := l.Fields[name]; {
		case !slices.Contains(names, name):
			errs = append(errs, Wrong("length", "names %q: the sequences are %s", name, words.List(names)))
		case n < 1 || n > 1<<31-1:
			errs = append(errs, Wrong("length", "is %d for the field %q: must be from 1 to %d", n, name, 1<<31-1))
		}
	}
	return errs
}
