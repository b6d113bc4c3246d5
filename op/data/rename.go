package data

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Rename]("rename", recipe.Between, "Rename fields."))

// Rename are the arguments of the operation rename.
type Rename struct {
	Fields NewNames `json:"fields,omitempty" required:"true" example:"{\"image\": \"pixels\"}"`
}

// Docs implements [argument.Documented].
func (*Rename) Docs() map[string]string {
	return map[string]string{
		"fields": "each field's new name; two may swap names",
	}
}

// NewNames are names of fields by those that they had; in JSON an object.
type NewNames map[string]string

// Takes implements [recipe.Taker].
func (NewNames) Takes() string { return "an object like {old name: new name}" }

// JSONSchema implements [recipe.Schemer].
func (NewNames) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": jsonschema.Scalar("string")}
}

// UnmarshalJSON reads an object of text. A name that comes twice is refused.
func (n *NewNames) UnmarshalJSON(b []byte) error {
	v := rawjson.Value(b)
	if v.Kind() != rawjson.Object {
		return rawjson.ErrKind
	}
	*n = NewNames{}
	for quoted, member := range v.Members() {
		key, err := rawjson.Unquote(quoted)
		if _, twice := (*n)[key]; err != nil || twice || member.Kind() != rawjson.Text {
			return rawjson.ErrKind
		}
		var name string
		if err := json.Unmarshal(member, &name); err != nil {
			return err
		}
		(*n)[key] = name
	}
	return nil
}

// Kept implements [recipe.FieldStep].
func (r *Rename) Kept(in sample.Schema) (before, after []string) {
	before = in.Names()
	after = slices.Clone(before)
	for i, name := range before {
		if to, ok := r.Fields[name]; ok {
			after[i] = to
		}
	}
	return before, after
}

// Check implements [recipe.Args].
func (r *Rename) Check(in sample.Schema) (sample.Schema, error) {
	old := slices.Sorted(maps.Keys(r.Fields))
	errs := []error{checkFields(in, old)}
	_, after := r.Kept(in)
	for _, name := range old {
		to := r.Fields[name]
		switch {
		case to == "":
			errs = append(errs, recipe.Wrong("fields", "gives %q no name", name))
		case in.Find(name) >= 0 && count(after, to) > 1:
			errs = append(errs, recipe.Wrong("fields", "renames %q to %q, the name of another field", name, to))
		}
	}
	return keep(in, r, errors.Join(errs...))
}
