package recipe

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/sample"
)

var centerCropOp = NewOp[CenterCrop]("center_crop", Between, "Crop the middle of an image; a smaller image gets a black border.").Explained("", ".resize(256).center_crop(224)")

// CenterCrop are the arguments of the operation center_crop.
type CenterCrop struct {
	Size Size `json:"size,omitzero" required:"true" example:"224" doc:"[height, width], or one number for both"`

	On
}

// Complete implements [Completer].
func (c CenterCrop) Complete() Args {
	c.Size = c.Size.Square()
	return &c
}

// Transform implements [Transform].
func (c *CenterCrop) Transform() media.Op {
	height, width := c.Size.Both()
	return media.CenterCrop{Height: height, Width: width}
}

// Check implements [Args].
func (c *CenterCrop) Check(in sample.Schema) (sample.Schema, error) { return CheckTransform(in, c) }

var randomCropOp = NewOp[RandomCrop]("random_crop", Between, "Crop a random part of an image. A smaller image is a bad sample: 'pad' or 'resize' it first.").Explained("", ".pad(4).random_crop(32)")

// RandomCrop are the arguments of the operation random_crop.
type RandomCrop struct {
	Size Size `json:"size,omitzero" required:"true" example:"32" doc:"[height, width], or one number for both"`

	On
}

// Complete implements [Completer].
func (c RandomCrop) Complete() Args {
	c.Size = c.Size.Square()
	return &c
}

// Transform implements [Transform].
func (c *RandomCrop) Transform() media.Op {
	height, width := c.Size.Both()
	return media.RandomCrop{Height: height, Width: width}
}

// Check implements [Args].
func (c *RandomCrop) Check(in sample.Schema) (sample.Schema, error) { return CheckTransform(in, c) }

var randomResizedCropOp = NewOp[RandomResizedCrop]("random_resized_crop", Between, "Crop a random part of an image and resize it.").Called("size, scale, ratio")

// RandomResizedCrop are the arguments of the operation random_resized_crop.
type RandomResizedCrop struct {
	Size   Size        `json:"size,omitzero" required:"true" example:"224" doc:"[height, width] of the result, or one number for both"`
	Scale  *[2]float64 `json:"scale,omitempty" default:"[0.08, 1]" doc:"least and greatest share of the image's area"`
	Ratio  *[2]float64 `json:"ratio,omitempty" default:"[0.75, 1.3333333333333333]" doc:"least and greatest ratio of width to height, by default 3/4 and 4/3"`
	Filter string      `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear" doc:"the filter, as in Pillow; masks always use nearest"`

	On
}

// Complete implements [Completer].
func (c RandomResizedCrop) Complete() Args {
	c.Size = c.Size.Square()
	return &c
}

// Identity implements [Identifier].
func (c RandomResizedCrop) Identity(Recipe) Args {
	c.Filter = argument.Unless(c.Filter, usualFilter)
	return &c
}

// Transform implements [Transform].
func (c *RandomResizedCrop) Transform() media.Op {
	height, width := c.Size.Both()
	return media.RandomResizedCrop{Height: height, Width: width, Scale: *c.Scale, Ratio: *c.Ratio, Filter: filter(c.Filter)}
}

// Check implements [Args].
func (c *RandomResizedCrop) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	// Zero is a default to package media, and here a mistake.
	if s := c.Scale; s != nil && !(s[0] > 0 && s[0] <= s[1] && s[1] <= 1) {
		errs = append(errs, Wrong("scale", "is [%v, %v]: must be two rising shares, above 0 and up to 1", s[0], s[1]))
	}
	if r := c.Ratio; r != nil && !(r[0] > 0 && r[0] <= r[1]) {
		errs = append(errs, Wrong("ratio", "is [%v, %v]: must be two rising numbers above 0", r[0], r[1]))
	}
	return CheckTransform(in, c, errs...)
}
