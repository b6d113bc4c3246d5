package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Equalize]("equalize", recipe.Between,
	"Make the values of each channel about as frequent, as torchvision's 'equalize'.").
	Replacing("functional.equalize(image)"))

// Equalize has no arguments but those of the operation equalize.
type Equalize struct {
	recipe.On
}

// Transform implements [recipe.Transform].
func (s *Equalize) Transform() media.Op { return media.Equalize{} }

// Check implements [recipe.Args].
func (s *Equalize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}

var _ = Ops.Add(recipe.NewOp[RandomEqualize]("random_equalize", recipe.Between,
	"Make the values of each channel about as frequent, at random, as torchvision's 'RandomEqualize'.").
	Called("p").
	Replacing("RandomEqualize(p)").Telling("equalized"))

// RandomEqualize are the arguments of the operation random_equalize.
type RandomEqualize struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *RandomEqualize) Transform() media.Op { return media.RandomEqualize{P: *s.P} }

// Check implements [recipe.Args].
func (s *RandomEqualize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
