package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomResizedCrop]("random_resized_crop", recipe.Between,
	"Crop a random part of an image and resize it.").Called("size, scale, ratio").
	Replacing("RandomResizedCrop(224, scale=scale, ratio=ratio)").
	Telling("x", "y", "width", "height"))

// RandomResizedCrop are the arguments of the operation random_resized_crop.
type RandomResizedCrop struct {
	Size   recipe.Size `json:"size,omitzero" required:"true" example:"224" doc:"[height, width] of the result, or one number for both"`
	Scale  *[2]float64 `json:"scale,omitempty" default:"[0.08, 1]" doc:"least and greatest share of the image's area"`
	Ratio  *[2]float64 `json:"ratio,omitempty" default:"[0.75, 1.3333333333333333]"`
	Filter string      `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomResizedCrop) Docs() map[string]string {
	return map[string]string{
		"ratio":  "least and greatest ratio of width to height, by default 3/4 and 4/3",
		"filter": "the filter, as in Pillow; masks always use nearest",
	}
}

// Complete implements [recipe.Completer].
func (c RandomResizedCrop) Complete() recipe.Args {
	c.Size = c.Size.Square()
	return &c
}

// Identity implements [recipe.Identifier].
func (c RandomResizedCrop) Identity(recipe.Recipe) recipe.Args {
	c.Filter = argument.Unless(c.Filter, usualFilter)
	return &c
}

// Transform implements [recipe.Transform].
func (c *RandomResizedCrop) Transform() media.Op {
	height, width := c.Size.Both()
	return media.RandomResizedCrop{Height: height, Width: width, Scale: *c.Scale, Ratio: *c.Ratio, Filter: filter(c.Filter)}
}

// Check implements [recipe.Args].
func (c *RandomResizedCrop) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	// Zero is a default to package media, and here a mistake.
	if s := c.Scale; s != nil && !(s[0] > 0 && s[0] <= s[1] && s[1] <= 1) {
		errs = append(errs, recipe.Wrong("scale", "is [%v, %v]: must be two rising shares, above 0 and up to 1", s[0], s[1]))
	}
	if r := c.Ratio; r != nil && !(r[0] > 0 && r[0] <= r[1]) {
		errs = append(errs, recipe.Wrong("ratio", "is [%v, %v]: must be two rising numbers above 0", r[0], r[1]))
	}
	return recipe.CheckTransform(in, c, errs...)
}

// Refused implements [recipe.Refuser].
func (*RandomResizedCrop) Refused() map[string]string { return torchvisionsNames }
