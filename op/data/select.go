package data

import (
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Select]("select", recipe.Between,
	"Keep some fields of each sample, in this order, and drop the others.").Explained(`
Nothing is copied, and image steps before and after still run as one pass.`,
	`.select("image", "label")`))

// Select are the arguments of the operation select.
type Select struct {
	Fields []string `json:"fields,omitempty" required:"true" example:"[\"image\", \"key\"]" doc:"the fields to keep"`
}

// Kept implements [recipe.FieldStep].
func (s *Select) Kept(sample.Schema) (before, after []string) { return s.Fields, s.Fields }

// Check implements [recipe.Args].
func (s *Select) Check(in sample.Schema) (sample.Schema, error) {
	return keep(in, s, checkFields(in, s.Fields))
}
