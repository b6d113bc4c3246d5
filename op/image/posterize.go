package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Posterize]("posterize", recipe.Between,
	"Keep so many upper bits of every value, as torchvision's 'posterize'.").
	Replacing("functional.posterize(image, bits)"))

// Posterize are the arguments of the operation posterize.
type Posterize struct {
	Bits *int `json:"bits,omitempty" required:"true" min:"0" max:"8" example:"4"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Posterize) Docs() map[string]string {
	return map[string]string{"bits": "of 8 that are kept; with 0 the image is black"}
}

// Transform implements [recipe.Transform].
func (s *Posterize) Transform() media.Op { return media.Posterize{Bits: *s.Bits} }

// Check implements [recipe.Args].
func (s *Posterize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}

var _ = Ops.Add(recipe.NewOp[RandomPosterize]("random_posterize", recipe.Between,
	"Keep so many upper bits of every value, at random, as torchvision's 'RandomPosterize'.").
	Called("bits, p").
	Replacing("RandomPosterize(bits, p)").Telling("posterized"))

// RandomPosterize are the arguments of the operation random_posterize.
type RandomPosterize struct {
	Bits *int     `json:"bits,omitempty" required:"true" min:"0" max:"8" example:"4"`
	P    *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomPosterize) Docs() map[string]string {
	return map[string]string{"bits": "of 8 that are kept; with 0 the image is black"}
}

// Transform implements [recipe.Transform].
func (s *RandomPosterize) Transform() media.Op { return media.RandomPosterize{Bits: *s.Bits, P: *s.P} }

// Check implements [recipe.Args].
func (s *RandomPosterize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
