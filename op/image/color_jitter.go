package image

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[ColorJitter]("color_jitter", recipe.Between, "Change brightness, contrast, saturation and hue at random, in random order, as torchvision's 'ColorJitter'.").
	Explained("0 changes nothing.", ".color_jitter(0.4, 0.4, 0.4, 0.1)", ".color_jitter(0.4, 0.4, 0.2, 0.1, p=0.8)  # every fifth stays as it is").
	Called("brightness, contrast, saturation, hue"))

// ColorJitter are the arguments of the operation color_jitter. What is not given does not
// change.
type ColorJitter struct {
	Brightness Jitter   `json:"brightness,omitempty" example:"0.4" doc:"x: a factor from 1-x to 1+x, at least 0; or the [least, greatest] factor"`
	Contrast   Jitter   `json:"contrast,omitempty" example:"0.4" doc:"as for brightness"`
	Saturation Jitter   `json:"saturation,omitempty" example:"0.4" doc:"as for brightness"`
	Hue        Jitter   `json:"hue,omitempty" example:"0.1" doc:"x, at most 0.5: from -x to x of a full turn of the hue; or the [least, greatest] part of a turn"`
	P          *float64 `json:"p,omitempty" min:"0" max:"1" example:"0.8" doc:"the probability with which an image is changed; by default 1. The changes are the same with and without it"`

	recipe.On
}

// Jitter is how far something may change: by one number to both sides, or between two; in
// JSON a number or a list of two.
type Jitter []float64

// Takes implements [recipe.Taker].
func (j *Jitter) Takes() string { return "a number, or [least, greatest]" }

// JSONSchema implements [recipe.Schemer].
func (Jitter) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 2) }

// MarshalJSON writes a number or a list.
func (j Jitter) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(j...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (j *Jitter) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, j.Takes(), 2)
	if err == nil {
		*j = n
	}
	return err
}

// bounds are the least and the greatest value, where one number means both sides of
// the middle; none is what changes nothing.
func (j Jitter) bounds(middle float64) [2]float64 {
	switch len(j) {
	case 0:
		return [2]float64{middle, middle}
	case 1:
		if middle == 1 {
			return media.JitterAround(j[0])
		}
		return [2]float64{middle - j[0], middle + j[0]}
	}
	return [2]float64{j[0], j[1]}
}

// complete is the one form: two bounds, or nothing where nothing changes.
func (j Jitter) complete(middle float64) Jitter {
	if !j.valid() {
		return j
	}
	b := j.bounds(middle)
	if b == [2]float64{middle, middle} {
		return nil
	}
	return b[:]
}

// valid reports whether one number is such as can mean two.
func (j Jitter) valid() bool { return len(j) != 1 || j[0] >= 0 }

func (j Jitter) check(name string, least, greatest float64) error {
	must := fmt.Sprintf("at least 0, or two rising numbers of at least %v", least)
	if !math.IsInf(greatest, 0) {
		must = fmt.Sprintf("from 0 to %v, or two rising numbers from %v to %v", greatest, least, greatest)
	}
	ok := j.valid() && len(j) <= 2
	if ok && len(j) == 2 {
		ok = least <= j[0] && j[0] <= j[1] && j[1] <= greatest
	}
	if ok && len(j) == 1 {
		ok = j[0] <= greatest
	}
	if !ok {
		return recipe.Wrong(name, "is %s: must be %s", argument.Written(j), must)
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
func factors(j Jitter) [2]float64 {
	b := j.bounds(1)
	if b == [2]float64{} {
		b[1] = math.SmallestNonzeroFloat64
	}
	return b
}

// Check implements [recipe.Args].
func (c *ColorJitter) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, c,
		c.Brightness.check("brightness", 0, math.Inf(1)),
		c.Contrast.check("contrast", 0, math.Inf(1)),
		c.Saturation.check("saturation", 0, math.Inf(1)),
		c.Hue.check("hue", -0.5, 0.5),
	)
}
