package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomVerticalFlip]("random_vertical_flip", recipe.Between, "Flip an image top to bottom at random.").
	Replacing("RandomVerticalFlip(p)").Telling("flipped"))

// RandomVerticalFlip are the arguments of the operation random_vertical_flip.
type RandomVerticalFlip struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (f *RandomVerticalFlip) Transform() media.Op { return media.RandomVerticalFlip{P: *f.P} }

// Check implements [recipe.Args].
func (f *RandomVerticalFlip) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, f)
}
