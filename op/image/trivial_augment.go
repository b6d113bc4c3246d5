package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[TrivialAugment]("trivial_augment", recipe.Between,
	"Carry out one of 14 changes of an image, of any strength, as torchvision's 'TrivialAugmentWide'.").
	Explained("", ".trivial_augment()").
	Called("bins, filter, fill").
	Replacing("TrivialAugmentWide()").
	Telling("steps"))

// TrivialAugment are the arguments of the operation trivial_augment.
type TrivialAugment struct {
	Bins   *int   `json:"bins,omitempty" min:"2" max:"1000" default:"31" doc:"how many strengths there are"`
	Filter string `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest" doc:"of rotations, shears and shifts"`
	Fill   Fill   `json:"fill,omitempty" default:"0" doc:"the colour beyond the image: one number, or one per channel"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *TrivialAugment) Transform() media.Op {
	return media.TrivialAugment{Bins: *s.Bins, Filter: filter(s.Filter), Fill: s.Fill.color()}
}

// Check implements [recipe.Args].
func (s *TrivialAugment) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, s.Fill.check(in, s.Images(in)))
}
