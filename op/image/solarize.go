package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Solarize]("solarize", recipe.Between,
	"Invert what is at least as bright as a threshold, as torchvision's 'solarize'.").
	Replacing("functional.solarize(image, threshold)"))

// Solarize are the arguments of the operation solarize.
type Solarize struct {
	Threshold *float64 `json:"threshold,omitempty" min:"0" max:"255" default:"128"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Solarize) Docs() map[string]string {
	return map[string]string{
		"threshold": "the least value that is inverted, in each channel: v becomes 255 - v",
	}
}

// Transform implements [recipe.Transform].
func (s *Solarize) Transform() media.Op { return media.Solarize{Threshold: *s.Threshold} }

// Check implements [recipe.Args].
func (s *Solarize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}

var _ = Ops.Add(recipe.NewOp[RandomSolarize]("random_solarize", recipe.Between,
	"Invert what is at least as bright as a threshold, at random, as torchvision's 'RandomSolarize'.").
	Called("threshold, p").
	Replacing("RandomSolarize(threshold, p)").Telling("solarized"))

// RandomSolarize are the arguments of the operation random_solarize.
type RandomSolarize struct {
	Threshold *float64 `json:"threshold,omitempty" min:"0" max:"255" default:"128"`
	P         *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomSolarize) Docs() map[string]string {
	return map[string]string{
		"threshold": "the least value that is inverted, in each channel: v becomes 255 - v",
	}
}

// Transform implements [recipe.Transform].
func (s *RandomSolarize) Transform() media.Op {
	return media.RandomSolarize{Threshold: *s.Threshold, P: *s.P}
}

// Check implements [recipe.Args].
func (s *RandomSolarize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
