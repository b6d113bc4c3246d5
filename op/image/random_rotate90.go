package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomRotate90]("random_rotate90", recipe.Between,
	"Rotate an image by 0, 1, 2 or 3 quarter turns, with equal probability.").
	Telling("turns"))

// RandomRotate90 are the arguments of the operation random_rotate90.
type RandomRotate90 struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability of a rotation, which may be by 0 turns"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (r *RandomRotate90) Transform() media.Op { return media.RandomRotate90{P: *r.P} }

// Check implements [recipe.Args].
func (r *RandomRotate90) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, r)
}
