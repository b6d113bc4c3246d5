package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomCrop]("random_crop", recipe.Between, "Crop a random part "+
	"of an image. A smaller image is a bad sample: 'pad' or 'resize' it first.").Explained("", ".pad(4).random_crop(32)").
	Replacing("RandomCrop(32)").
	Telling("x", "y", "width", "height"))

// RandomCrop are the arguments of the operation random_crop.
type RandomCrop struct {
	Size recipe.Size `json:"size,omitzero" required:"true" example:"32" doc:"[height, width], or one number for both"`

	recipe.On
}

// Complete implements [recipe.Completer].
func (c RandomCrop) Complete() recipe.Args {
	c.Size = c.Size.Square()
	return &c
}

// Transform implements [recipe.Transform].
func (c *RandomCrop) Transform() media.Op {
	height, width := c.Size.Both()
	return media.RandomCrop{Height: height, Width: width}
}

// Check implements [recipe.Args].
func (c *RandomCrop) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, c)
}
