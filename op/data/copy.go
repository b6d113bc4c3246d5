package data

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Copy]("copy", recipe.Between, "Copy a field under other names, for several views of an image.").Explained(`
Images are only copied in memory if the pipeline has a Python function, which could change one in place. For augmented
views, Python has 'views'.`,
	`.copy("image", to=["clean", "noisy"])`))

// Copy are the arguments of the operation copy.
type Copy struct {
	Field string   `json:"field,omitempty" required:"true" example:"image" doc:"the field, which stays"`
	To    []string `json:"to,omitempty" required:"true" example:"[\"view_0\", \"view_1\"]" doc:"names for its copies, which must be new"`
}

// Kept implements [recipe.FieldStep].
func (c *Copy) Kept(in sample.Schema) (before, after []string) {
	names := in.Names()
	return append(slices.Clone(names), slices.Repeat([]string{c.Field}, len(c.To))...), append(names, c.To...)
}

// Check implements [recipe.Args].
func (c *Copy) Check(in sample.Schema) (sample.Schema, error) {
	errs := []error{argument.CheckNames("to", c.To)}
	switch {
	case c.Field == "":
		errs = append(errs, errors.New("lacks the argument field"))
	case in.Find(c.Field) < 0:
		errs = append(errs, recipe.Wrong("field", "is an %w", words.Unknown("field", c.Field, in.Names())))
	}
	if c.To == nil {
		errs = append(errs, errors.New("lacks the argument to"))
	} else if len(c.To) == 0 {
		errs = append(errs, recipe.Wrong("to", "is empty: give names of new fields"))
	}
	for i, name := range c.To {
		switch {
		case name == "":
			errs = append(errs, recipe.Wrong(fmt.Sprintf("to[%d]", i), "is empty: give the name of a new field"))
		case in.Find(name) >= 0:
			errs = append(errs, recipe.Wrong(fmt.Sprintf("to[%d]", i), "is %q: the samples have a field of this name already", name))
		}
	}
	return keep(in, c, errors.Join(errs...))
}

// Traits implements [recipe.Traited].
func (c *Copy) Traits() recipe.Traits { return recipe.Traits{Copies: c.Field} }
