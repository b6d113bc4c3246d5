package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[CenterCrop]("center_crop", recipe.Between, "Crop the middle of an image; "+
	"a smaller image gets a black border.").Explained("", ".resize(256).center_crop(224)").
	Replacing("CenterCrop(224)"))

// CenterCrop are the arguments of the operation center_crop.
type CenterCrop struct {
	Size recipe.Size `json:"size,omitzero" required:"true" example:"224" doc:"[height, width], or one number for both"`

	recipe.On
}

// Complete implements [recipe.Completer].
func (c CenterCrop) Complete() recipe.Args {
	c.Size = c.Size.Square()
	return &c
}

// Transform implements [recipe.Transform].
func (c *CenterCrop) Transform() media.Op {
	height, width := c.Size.Both()
	return media.CenterCrop{Height: height, Width: width}
}

// Check implements [recipe.Args].
func (c *CenterCrop) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, c)
}
