package recipe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/internal/rawjson"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

var selectOp = NewOp[Select]("select", Between, "Keep some fields of each sample, in this order, and drop the others.").Explained(`
Nothing is copied, and image steps before and after still run as one pass.`,
	`.select("image", "label")`)

// Select are the arguments of the operation select.
type Select struct {
	Fields []string `json:"fields,omitempty" required:"true" example:"[\"image\", \"key\"]" doc:"the fields to keep"`
}

var dropOp = NewOp[Drop]("drop", Between, "Drop some fields of each sample.").Explained("Nothing is copied.", `.drop("path")`)

// Drop are the arguments of the operation drop.
type Drop struct {
	Fields []string `json:"fields,omitempty" required:"true" example:"[\"key\"]" doc:"the fields to drop"`
}

var renameOp = NewOp[Rename]("rename", Between, "Rename fields.")

// Rename are the arguments of the operation rename.
type Rename struct {
	Fields NewNames `json:"fields,omitempty" required:"true" example:"{\"image\": \"pixels\"}" doc:"each field's new name; two may swap names"`
}

var copyOp = NewOp[Copy]("copy", Between, "Copy a field under other names, for several views of an image.").Explained(`
Images are only copied in memory if the pipeline has a Python function, which could change one in place. For augmented views, Python has 'views'.`,
	`.copy("image", to=["clean", "noisy"])`)

// Copy are the arguments of the operation copy.
type Copy struct {
	Field string   `json:"field,omitempty" required:"true" example:"image" doc:"the field, which stays"`
	To    []string `json:"to,omitempty" required:"true" example:"[\"view_0\", \"view_1\"]" doc:"names for its copies, which must be new"`
}

// NewNames are names of fields by those that they had; in JSON an object.
type NewNames map[string]string

// Takes implements [Taker].
func (NewNames) Takes() string { return "an object like {old name: new name}" }

// JSONSchema implements [Schemer].
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

// Kept implements [FieldStep].
func (s *Select) Kept(sample.Schema) (before, after []string) { return s.Fields, s.Fields }

// Kept implements [FieldStep].
func (d *Drop) Kept(in sample.Schema) (before, after []string) {
	for _, name := range in.Names() {
		if !slices.Contains(d.Fields, name) {
			before = append(before, name)
		}
	}
	return before, before
}

// Kept implements [FieldStep].
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

// Kept implements [FieldStep].
func (c *Copy) Kept(in sample.Schema) (before, after []string) {
	names := in.Names()
	return append(slices.Clone(names), slices.Repeat([]string{c.Field}, len(c.To))...), append(names, c.To...)
}

// Check implements [Args].
func (s *Select) Check(in sample.Schema) (sample.Schema, error) {
	return keep(in, s, checkFields(in, s.Fields))
}

// Check implements [Args].
func (d *Drop) Check(in sample.Schema) (sample.Schema, error) {
	err := checkFields(in, d.Fields)
	if kept, _ := d.Kept(in); err == nil && len(kept) == 0 {
		err = Wrong("fields", "are all the fields: nothing would be left of a sample")
	}
	return keep(in, d, err)
}

// Check implements [Args].
func (r *Rename) Check(in sample.Schema) (sample.Schema, error) {
	old := slices.Sorted(maps.Keys(r.Fields))
	errs := []error{checkFields(in, old)}
	_, after := r.Kept(in)
	for _, name := range old {
		to := r.Fields[name]
		switch {
		case to == "":
			errs = append(errs, Wrong("fields", "gives %q no name", name))
		case in.Find(name) >= 0 && count(after, to) > 1:
			errs = append(errs, Wrong("fields", "renames %q to %q, the name of another field", name, to))
		}
	}
	return keep(in, r, errors.Join(errs...))
}

// Check implements [Args].
func (c *Copy) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.CheckNames("to", c.To)}
	switch {
	case c.Field == "":
		errs = append(errs, errors.New("lacks the argument field"))
	case in.Find(c.Field) < 0:
		errs = append(errs, Wrong("field", "is an %w", words.Unknown("field", c.Field, in.Names())))
	}
	if c.To == nil {
		errs = append(errs, errors.New("lacks the argument to"))
	} else if len(c.To) == 0 {
		errs = append(errs, Wrong("to", "is empty: give names of new fields"))
	}
	for i, name := range c.To {
		switch {
		case name == "":
			errs = append(errs, Wrong(fmt.Sprintf("to[%d]", i), "is empty: give the name of a new field"))
		case in.Find(name) >= 0:
			errs = append(errs, Wrong(fmt.Sprintf("to[%d]", i), "is %q: the samples have a field of this name already", name))
		}
	}
	return keep(in, c, errors.Join(errs...))
}

func count(all []string, one string) (n int) {
	for _, name := range all {
		if name == one {
			n++
		}
	}
	return n
}

// checkFields says which names are none of a field, or come twice.
func checkFields(in sample.Schema, names []string) error {
	if names == nil {
		return errors.New("lacks the argument fields")
	}
	if len(names) == 0 {
		return Wrong("fields", "is empty: give names of %s", words.List(in.Names()))
	}
	errs := []error{argument.CheckNames("fields", names)}
	for i, name := range names {
		if in.Find(name) < 0 {
			errs = append(errs, Wrong(fmt.Sprintf("fields[%d]", i), "is an %w", words.Unknown("field", name, in.Names())))
		}
	}
	return errors.Join(errs...)
}

// keep returns what a step leaves of a schema, unless something is wrong with it.
func keep(in sample.Schema, s FieldStep, wrong error) (sample.Schema, error) {
	if wrong != nil {
		return nil, wrong
	}
	before, after := s.Kept(in)
	out := make(sample.Schema, len(before))
	for i, name := range before {
		out[i] = sample.Field{Name: after[i], Type: in[in.Find(name)].Type}
	}
	if IsBare(out) && !IsBare(in) && in.Find(routed) < 0 {
		return nil, Wrong("fields", onlyBare, "leaves")
	}
	return out, nil
}

// routed is the field that Python's route by a function puts beside a sample, which may
// be a value that is no dict.
const routed = "route.by"

// Traits implements [Traited].
func (c *Copy) Traits() Traits { return Traits{Copies: c.Field} }
