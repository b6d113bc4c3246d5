package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomFlip]("random_flip", recipe.Between, "Flip an image left to right at random.").
	Replacing("RandomHorizontalFlip(p)").Telling("flipped"))

// RandomFlip are the arguments of the operation random_flip.
type RandomFlip struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (f *RandomFlip) Transform() media.Op { return media.RandomFlip{P: *f.P} }

// Check implements [recipe.Args].
func (f *RandomFlip) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, f)
}
