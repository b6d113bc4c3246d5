package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Autocontrast]("autocontrast", recipe.Between,
	"Stretch the values of each channel over all levels, as torchvision's 'autocontrast'.").
	Replacing("functional.autocontrast(image)"))

// Autocontrast has no arguments but those of the operation autocontrast.
type Autocontrast struct {
	recipe.On
}

// Transform implements [recipe.Transform].
func (s *Autocontrast) Transform() media.Op { return media.Autocontrast{} }

// Check implements [recipe.Args].
func (s *Autocontrast) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}

var _ = Ops.Add(recipe.NewOp[RandomAutocontrast]("random_autocontrast", recipe.Between,
	"Stretch the values of each channel over all levels, at random, as torchvision's 'RandomAutocontrast'.").
	Called("p").
	Replacing("RandomAutocontrast(p)").Telling("stretched"))

// RandomAutocontrast are the arguments of the operation random_autocontrast.
type RandomAutocontrast struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *RandomAutocontrast) Transform() media.Op { return media.RandomAutocontrast{P: *s.P} }

// Check implements [recipe.Args].
func (s *RandomAutocontrast) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
