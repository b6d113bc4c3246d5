package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[AdjustGamma]("adjust_gamma", recipe.Between,
	"Raise values, as shares of 255, to a power, as torchvision's 'adjust_gamma'.").
	Called("gamma, gain").
	Replacing("functional.adjust_gamma(image, gamma, gain)"))

// AdjustGamma are the arguments of the operation adjust_gamma.
type AdjustGamma struct {
	Gamma *float64 `json:"gamma,omitempty" required:"true" min:"0" example:"0.7"`
	Gain  *float64 `json:"gain,omitempty" min:"0" default:"1"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*AdjustGamma) Docs() map[string]string {
	return map[string]string{
		"gamma": "the power: above 1 an image gets darker, below 1 lighter",
		"gain":  "what all is multiplied by",
	}
}

// Transform implements [recipe.Transform].
func (s *AdjustGamma) Transform() media.Op {
	return media.AdjustGamma{Gamma: *s.Gamma, Gain: *s.Gain}
}

// Check implements [recipe.Args].
func (s *AdjustGamma) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
