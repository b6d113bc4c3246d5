package image

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[ColorJitter]("color_jitter", recipe.Between,
	"Change brightness, contrast, saturation and hue at random, in random order, as torchvision's 'ColorJitter'.").
	Explained("0 changes nothing.", ".color_jitter(0.4, 0.4, 0.4, 0.1)", ".color_jitter(0.4, "+
		"0.4, 0.2, 0.1, p=0.8)  # every fifth stays as it is").
	Called("brightness, contrast, saturation, hue").
	Replacing("ColorJitter(0.4, 0.4, 0.4, 0.1)").
	Telling("order", "brightness", "contrast", "saturation", "hue", "applied"))

// ColorJitter are the arguments of the operation color_jitter. A property without one
// does not change.
type ColorJitter struct {
	Brightness Range    `json:"brightness,omitempty" default:"0" example:"0.4"`
	Contrast   Range    `json:"contrast,omitempty" default:"0" example:"0.4" doc:"as for brightness"`
	Saturation Range    `json:"saturation,omitempty" default:"0" example:"0.4" doc:"as for brightness"`
	Hue        Range    `json:"hue,omitempty" default:"0" example:"0.1"`
	P          *float64 `json:"p,omitempty" min:"0" max:"1" example:"0.8"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*ColorJitter) Docs() map[string]string {
	return map[string]string{
		"brightness": "x: a factor from 1-x to 1+x, at least 0; or the [least, greatest] factor",
		"hue":        "x, at most 0.5: from -x to x of a full turn of the hue; or the [least, greatest] part of a turn",
		"p": "the probability with which an image is changed; by default 1. The changes are the same with and " +
			"without it",
	}
}

// bounds returns the least and the greatest value. One number means both sides of the
// middle; none changes nothing.
func (r Range) bounds(middle float64) [2]float64 {
	switch len(r) {
	case 0:
		return [2]float64{middle, middle}
	case 1:
		if middle == 1 {
			return media.JitterAround(r[0])
		}
		return [2]float64{middle - r[0], middle + r[0]}
	}
	return [2]float64{r[0], r[1]}
}

// complete is the one form: two bounds, or nothing where nothing changes.
func (r Range) complete(middle float64) Range {
	if !r.valid() {
		return r
	}
	b := r.bounds(middle)
	if b == [2]float64{middle, middle} {
		return nil
	}
	return b[:]
}

// valid reports whether one number is such as can mean two.
func (r Range) valid() bool { return len(r) != 1 || r[0] >= 0 }

func (r Range) checkJitter(name string, least, greatest float64) error {
	must := fmt.Sprintf("at least 0, or two rising numbers of at least %v", least)
	if !math.IsInf(greatest, 0) {
		must = fmt.Sprintf("from 0 to %v, or two rising numbers from %v to %v", greatest, least, greatest)
	}
	// One number is a distance to both sides, and not below 0.
	if len(r) > 0 && !(r.valid() && r.rises(least, greatest)) {
		return recipe.Wrong(name, "is %s: must be %s", argument.Written(r), must)
	}
	return nil
}

// Complete implements [recipe.Completer].
func (c ColorJitter) Complete() recipe.Args {
	c.Brightness, c.Contrast = c.Brightness.complete(1), c.Contrast.complete(1)
	c.Saturation, c.Hue = c.Saturation.complete(1), c.Hue.complete(0)
	if c.P != nil && *c.P == 1 {
		c.P = nil // always, as without it
	}
	return &c
}

// Transform implements [recipe.Transform].
func (c *ColorJitter) Transform() media.Op {
	return media.ColorJitter{
		Brightness: factors(c.Brightness), Contrast: factors(c.Contrast), Saturation: factors(c.Saturation), Hue: c.Hue.bounds(0), P: c.P,
	}
}

// factors returns the bounds of a factor. Two zeros mean to package media that there is
// none.
func factors(r Range) [2]float64 {
	b := r.bounds(1)
	if b == [2]float64{} {
		b[1] = math.SmallestNonzeroFloat64
	}
	return b
}

// Check implements [recipe.Args].
func (c *ColorJitter) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, c,
		c.Brightness.checkJitter("brightness", 0, math.Inf(1)),
		c.Contrast.checkJitter("contrast", 0, math.Inf(1)),
		c.Saturation.checkJitter("saturation", 0, math.Inf(1)),
		c.Hue.checkJitter("hue", -0.5, 0.5),
	)
}
