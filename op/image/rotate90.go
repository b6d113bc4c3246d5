package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Rotate90]("rotate90", recipe.Between, "Rotate an image by quarter turns."))

// Rotate90 are the arguments of the operation rotate90.
type Rotate90 struct {
	Turns *int `json:"turns,omitempty" default:"1" doc:"quarter turns counter-clockwise, as 'numpy.rot90'; negative ones are clockwise"`

	recipe.On
}

// Complete implements [recipe.Completer].
func (r Rotate90) Complete() recipe.Args {
	r.Turns = new((*r.Turns%4 + 4) % 4)
	return &r
}

// Transform implements [recipe.Transform].
func (r *Rotate90) Transform() media.Op { return media.Rotate90{Turns: *r.Turns} }

// Check implements [recipe.Args].
func (r *Rotate90) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, r)
}
