package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Affine]("affine", recipe.Between,
	"Turn, move, scale and shear an image at once, as torchvision's 'affine'.").
	Explained("", ".affine(angle=10, translate=(4, 0), scale=1.1, filter=\"bilinear\")").
	Called("angle, translate, scale, shear").
	Replacing("functional.affine(image, angle, translate, scale, shear)"))

// Affine are the arguments of the operation affine.
type Affine struct {
	Angle     *float64  `json:"angle,omitempty" default:"0" doc:"degrees, clockwise: not as 'rotate', as in torchvision"`
	Translate []float64 `json:"translate,omitzero" example:"[4, 0]" doc:"[across, down] in pixels"`
	Scale     *float64  `json:"scale,omitempty" min:"0.0001" max:"10000" default:"1"`
	Shear     []float64 `json:"shear,omitzero" example:"[10, 0]" doc:"[along x, along y] in degrees between -90 and 90"`
	Filter    string    `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest"`
	Fill      Fill      `json:"fill,omitempty" default:"0"`
	Center    []float64 `json:"center,omitzero" example:"[0, 0]"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Affine) Docs() map[string]string {
	return ofWarps("expand", map[string]string{"scale": "2 makes everything twice as large"})
}

// Refused implements [recipe.Refuser].
func (*Affine) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (a *Affine) Transform() media.Op {
	op := media.Affine{Angle: *a.Angle, Scale: *a.Scale, Filter: filter(a.Filter), Center: point(a.Center), Fill: a.Fill.color()}
	copy(op.Translate[:], a.Translate)
	copy(op.Shear[:], a.Shear)
	return op
}

// Check implements [recipe.Args].
func (a *Affine) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, a, a.Fill.check(in, a.Images(in)),
		checkTwo("translate", a.Translate), checkTwo("shear", a.Shear), checkTwo("center", a.Center))
}

var _ = Ops.Add(recipe.NewOp[RandomAffine]("random_affine", recipe.Between,
	"Turn, move, scale and shear an image at random, as torchvision's 'RandomAffine'.").
	Explained("", ".random_affine(10, translate=(0.1, 0.1), scale=(0.8, 1.2), shear=5)").
	Called("degrees, translate, scale, shear").
	Replacing("RandomAffine(degrees, translate, scale, shear)").
	Telling("angle", "dx", "dy", "scale", "shear_x", "shear_y"))

// RandomAffine are the arguments of the operation random_affine.
type RandomAffine struct {
	Degrees   Degrees   `json:"degrees,omitempty" required:"true" example:"10"`
	Translate []float64 `json:"translate,omitzero" example:"[0.1, 0.1]"`
	Scale     []float64 `json:"scale,omitzero" example:"[0.8, 1.2]"`
	Shear     Shear     `json:"shear,omitempty" example:"5"`
	Filter    string    `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest"`
	Fill      Fill      `json:"fill,omitempty" default:"0"`
	Center    []float64 `json:"center,omitzero" example:"[0, 0]"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomAffine) Docs() map[string]string {
	return ofWarps("expand", map[string]string{
		"degrees":   "the angle is drawn evenly from -degrees to degrees, or between two; clockwise",
		"translate": "[across, down]: shares of the width and height, up to which it is moved by whole pixels both ways",
		"scale":     "least and greatest; by default it is not scaled",
		"shear":     "degrees along x, both ways, or between two; four numbers are two along x and two along y",
	})
}

// Refused implements [recipe.Refuser].
func (*RandomAffine) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (a *RandomAffine) Transform() media.Op {
	op := media.RandomAffine{Degrees: a.Degrees.ends(), Shear: a.Shear.both(), Filter: filter(a.Filter),
		Center: point(a.Center), Fill: a.Fill.color()}
	copy(op.Translate[:], a.Translate)
	copy(op.Scale[:], a.Scale)
	return op
}

// Check implements [recipe.Args].
func (a *RandomAffine) Check(in sample.Schema) (sample.Schema, error) {
	var scale error
	if s := a.Scale; len(s) == 2 && !(s[0] > 0 && s[0] <= s[1]) { // zeros are a default to package media
		scale = recipe.Wrong("scale", "is %s: must be two rising numbers above 0", argument.Written(s))
	}
	return recipe.CheckTransform(in, a, a.Fill.check(in, a.Images(in)), scale,
		checkTwo("translate", a.Translate), checkTwo("scale", a.Scale), checkTwo("center", a.Center))
}
