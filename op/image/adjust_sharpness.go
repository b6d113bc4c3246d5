package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[AdjustSharpness]("adjust_sharpness", recipe.Between,
	"Sharpen an image, or smooth it, as torchvision's 'adjust_sharpness'.").
	Replacing("functional.adjust_sharpness(image, factor)"))

// AdjustSharpness are the arguments of the operation adjust_sharpness.
type AdjustSharpness struct {
	Factor *float64 `json:"factor,omitempty" required:"true" min:"0" example:"2"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*AdjustSharpness) Docs() map[string]string {
	return map[string]string{"factor": "0 smooths, 1 changes nothing, 2 sharpens"}
}

// Transform implements [recipe.Transform].
func (s *AdjustSharpness) Transform() media.Op { return media.AdjustSharpness{Factor: *s.Factor} }

// Check implements [recipe.Args].
func (s *AdjustSharpness) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}

var _ = Ops.Add(recipe.NewOp[RandomAdjustSharpness]("random_adjust_sharpness", recipe.Between,
	"Sharpen an image, or smooth it, at random, as torchvision's 'RandomAdjustSharpness'.").
	Called("factor, p").
	Replacing("RandomAdjustSharpness(factor, p)").Telling("sharpened"))

// RandomAdjustSharpness are the arguments of the operation random_adjust_sharpness.
type RandomAdjustSharpness struct {
	Factor *float64 `json:"factor,omitempty" required:"true" min:"0" example:"2"`
	P      *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomAdjustSharpness) Docs() map[string]string {
	return map[string]string{"factor": "0 smooths, 1 changes nothing, 2 sharpens"}
}

// Transform implements [recipe.Transform].
func (s *RandomAdjustSharpness) Transform() media.Op {
	return media.RandomAdjustSharpness{Factor: *s.Factor, P: *s.P}
}

// Check implements [recipe.Args].
func (s *RandomAdjustSharpness) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
