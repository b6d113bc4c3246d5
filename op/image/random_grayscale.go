package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomGrayscale]("random_grayscale", recipe.Between,
	"Convert an image to gray at random; it keeps its channels.").
	Replacing("RandomGrayscale(p)").Telling("gray"))

// RandomGrayscale are the arguments of the operation random_grayscale.
type RandomGrayscale struct {
	P *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.1" doc:"the probability"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (g *RandomGrayscale) Transform() media.Op { return media.RandomGrayscale{P: *g.P} }

// Check implements [recipe.Args].
func (g *RandomGrayscale) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, g)
}
