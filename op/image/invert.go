package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Invert]("invert", recipe.Between,
	"Make 255 - v of every value, as torchvision's 'invert'.").
	Replacing("functional.invert(image)"))

// Invert has no arguments but those of the operation invert.
type Invert struct {
	recipe.On
}

// Transform implements [recipe.Transform].
func (s *Invert) Transform() media.Op { return media.Invert{} }

// Check implements [recipe.Args].
func (s *Invert) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}

var _ = Ops.Add(recipe.NewOp[RandomInvert]("random_invert", recipe.Between,
	"Make 255 - v of every value, at random, as torchvision's 'RandomInvert'.").
	Called("p").
	Replacing("RandomInvert(p)").Telling("inverted"))

// RandomInvert are the arguments of the operation random_invert.
type RandomInvert struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *RandomInvert) Transform() media.Op { return media.RandomInvert{P: *s.P} }

// Check implements [recipe.Args].
func (s *RandomInvert) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
