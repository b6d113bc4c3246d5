package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[PillowGaussianBlur]("pillow_gaussian_blur", recipe.Between,
	"Blur an image by a random amount, as Pillow's 'ImageFilter.GaussianBlur'.").
	Explained("That is three box blurs each way, as DINO's own code has them, and nearly a Gauss curve.",
		".pillow_gaussian_blur()", ".pillow_gaussian_blur(2)  # each by the same").
	Called("radius").
	Telling("radius"))

// PillowGaussianBlur are the arguments of the operation pillow_gaussian_blur.
type PillowGaussianBlur struct {
	Radius Range `json:"radius,omitempty" default:"[0.1, 2]"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*PillowGaussianBlur) Docs() map[string]string {
	return map[string]string{
		"radius": "the standard deviation in pixels, from 0 to 100: one number, or [least, greatest], between which it is " +
			"drawn evenly for each image",
	}
}

// Complete implements [recipe.Completer].
func (b PillowGaussianBlur) Complete() recipe.Args {
	b.Radius = argument.OneIfEqual(b.Radius)
	return &b
}

// Transform implements [recipe.Transform].
func (b *PillowGaussianBlur) Transform() media.Op {
	return media.PillowGaussianBlur{Radius: b.Radius.ends()}
}

// Check implements [recipe.Args].
func (b *PillowGaussianBlur) Check(in sample.Schema) (sample.Schema, error) {
	var radius error
	if r := b.Radius; len(r) > 0 && !r.rises(0, media.MostRadius) {
		radius = recipe.Wrong("radius", "is %s: must be from 0 to %d, or two rising numbers of these",
			argument.Written(r), media.MostRadius)
	}
	return recipe.CheckTransform(in, b, radius)
}
