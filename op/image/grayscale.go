package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Grayscale]("grayscale", recipe.Between, "Convert an image to gray.").
	Replacing("Grayscale()"))

// Grayscale are the arguments of the operation grayscale.
type Grayscale struct {
	Channels *int `json:"channels,omitempty" choices:"1,3" default:"1" doc:"1, or 3 equal ones"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (g *Grayscale) Transform() media.Op { return media.ToGrayscale{Channels: *g.Channels} }

// Check implements [recipe.Args].
func (g *Grayscale) Check(in sample.Schema) (sample.Schema, error) {
	var wrong error
	if n := argument.OrElse(g.Channels, 1); n != 1 && n != 3 {
		wrong = recipe.Wrong("channels", "is %d: must be 1 or 3", n)
	}
	return recipe.CheckTransform(in, g, wrong)
}
