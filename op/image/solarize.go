package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Solarize]("solarize", recipe.Between, "Invert what is at least as bright as a threshold, as torchvision's 'solarize'."))

// Solarize are the arguments of the operation solarize.
type Solarize struct {
	Threshold *float64 `json:"threshold,omitempty" min:"0" max:"255" default:"128" doc:"the least value that is inverted, in each channel: v becomes 255 - v"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *Solarize) Transform() media.Op { return media.Solarize{Threshold: *s.Threshold} }

// Check implements [recipe.Args].
func (s *Solarize) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
