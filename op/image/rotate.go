package image

import (
	"maps"
	"strings"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// ofWarps returns the texts of the arguments that steps have which move pixels by
// fractions, without those that a step lacks, and more.
func ofWarps(lacks string, more map[string]string) map[string]string {
	docs := map[string]string{
		"filter": "'nearest', 'bilinear' or 'bicubic', as Pillow's 'transform' has them; masks always use nearest",
		"fill":   "what is around the image: one number, or one per channel",
		"center": "[across, down] in pixels: the point that stays where it is; by default the middle",
		"expand": "whether the result is as large as the turned image, instead of as large as the image",
	}
	for name := range strings.FieldsSeq(lacks) {
		delete(docs, name)
	}
	maps.Copy(docs, more)
	return docs
}

var _ = Ops.Add(recipe.NewOp[Rotate]("rotate", recipe.Between,
	"Rotate an image counter-clockwise by an angle, as torchvision's 'rotate'.").
	Explained("", ".rotate(15, filter=\"bilinear\")").
	Replacing("functional.rotate(image, angle)"))

// Rotate are the arguments of the operation rotate.
type Rotate struct {
	Angle  *float64  `json:"angle,omitempty" required:"true" example:"15" doc:"degrees"`
	Filter string    `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest"`
	Expand *bool     `json:"expand,omitempty" default:"false"`
	Center []float64 `json:"center,omitzero" example:"[0, 0]"`
	Fill   Fill      `json:"fill,omitempty" default:"0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Rotate) Docs() map[string]string { return ofWarps("", nil) }

// Refused implements [recipe.Refuser].
func (*Rotate) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (r *Rotate) Transform() media.Op {
	return media.Rotate{Angle: *r.Angle, Filter: filter(r.Filter), Expand: *r.Expand, Center: point(r.Center), Fill: r.Fill.color()}
}

// Check implements [recipe.Args].
func (r *Rotate) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, r, r.Fill.check(in, r.Images(in)), checkTwo("center", r.Center))
}

var _ = Ops.Add(recipe.NewOp[RandomRotation]("random_rotation", recipe.Between,
	"Rotate an image by a random angle, as torchvision's 'RandomRotation'.").
	Explained("", ".random_rotation(15, filter=\"bilinear\")", ".random_rotation((0, 30), expand=True)").
	Replacing("RandomRotation(degrees)").Telling("angle"))

// RandomRotation are the arguments of the operation random_rotation.
type RandomRotation struct {
	Degrees Degrees   `json:"degrees,omitempty" required:"true" example:"15"`
	Filter  string    `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"nearest"`
	Expand  *bool     `json:"expand,omitempty" default:"false"`
	Center  []float64 `json:"center,omitzero" example:"[0, 0]"`
	Fill    Fill      `json:"fill,omitempty" default:"0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomRotation) Docs() map[string]string {
	return ofWarps("", map[string]string{
		"degrees": "the angle is drawn evenly from -degrees to degrees, or between two; counter-clockwise",
	})
}

// Refused implements [recipe.Refuser].
func (*RandomRotation) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (r *RandomRotation) Transform() media.Op {
	return media.RandomRotation{Degrees: r.Degrees.ends(), Filter: filter(r.Filter), Expand: *r.Expand,
		Center: point(r.Center), Fill: r.Fill.color()}
}

// Check implements [recipe.Args].
func (r *RandomRotation) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, r, r.Fill.check(in, r.Images(in)), checkTwo("center", r.Center))
}

// point is a list of two numbers that was checked, or nothing.
func point(list []float64) *[2]float64 {
	if list == nil {
		return nil
	}
	return (*[2]float64)(list)
}

// checkTwo refuses lists of other lengths.
func checkTwo(name string, list []float64) error {
	if list != nil && len(list) != 2 {
		return recipe.Wrong(name, "is %s: must be two numbers", argument.Written(list))
	}
	return nil
}
