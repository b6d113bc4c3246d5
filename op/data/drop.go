package data

import (
	"slices"

	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Drop]("drop", recipe.Between, "Drop some fields of each "+
	"sample.").Explained("Nothing is copied.", `.drop("path")`))

// Drop are the arguments of the operation drop.
type Drop struct {
	Fields []string `json:"fields,omitempty" required:"true" example:"[\"key\"]" doc:"the fields to drop"`
}

// Kept implements [recipe.FieldStep].
func (d *Drop) Kept(in sample.Schema) (before, after []string) {
	for _, name := range in.Names() {
		if !slices.Contains(d.Fields, name) {
			before = append(before, name)
		}
	}
	return before, before
}

// Check implements [recipe.Args].
func (d *Drop) Check(in sample.Schema) (sample.Schema, error) {
	err := checkFields(in, d.Fields)
	if kept, _ := d.Kept(in); err == nil && len(kept) == 0 {
		err = recipe.Wrong("fields", "are all the fields: nothing would be left of a sample")
	}
	return keep(in, d, err)
}
