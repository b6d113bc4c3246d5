package image

import (
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomPhotometricDistort]("random_photometric_distort", recipe.Between,
	"Change brightness, contrast, saturation, hue and the order of colours at random, as torchvision's 'RandomPhotometricDistort'.").
	Explained("", ".random_photometric_distort()").
	Called("brightness, contrast, saturation, hue, p").
	Replacing("RandomPhotometricDistort(p=p)").
	Telling("order", "brightness", "contrast", "saturation", "hue", "channels"))

// RandomPhotometricDistort are the arguments of the operation random_photometric_distort.
type RandomPhotometricDistort struct {
	Brightness Range    `json:"brightness,omitempty" default:"[0.875, 1.125]"`
	Contrast   Range    `json:"contrast,omitempty" default:"[0.5, 1.5]" doc:"the same"`
	Saturation Range    `json:"saturation,omitempty" default:"[0.5, 1.5]" doc:"the same"`
	Hue        Range    `json:"hue,omitempty" default:"[-0.05, 0.05]" doc:"the same, of a full turn of the hue: from -0.5 to 0.5"`
	P          *float64 `json:"p,omitempty" min:"0" max:"1" default:"0.5"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomPhotometricDistort) Docs() map[string]string {
	return map[string]string{
		"brightness": "the factor: one number, or [least, greatest], between which it is drawn evenly",
		"p":          "the probability of each of the five changes",
	}
}

// Transform implements [recipe.Transform].
func (s *RandomPhotometricDistort) Transform() media.Op {
	return media.RandomPhotometricDistort{
		Brightness: s.Brightness.ends(), Contrast: s.Contrast.ends(), Saturation: s.Saturation.ends(), Hue: s.Hue.ends(), P: *s.P,
	}
}

// Check implements [recipe.Args].
func (s *RandomPhotometricDistort) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	for _, r := range []struct {
		name     string
		of       Range
		least    float64
		greatest float64
		must     string
	}{
		{"brightness", s.Brightness, 0, math.MaxFloat32, "at least 0"}, {"contrast", s.Contrast, 0, math.MaxFloat32, "at least 0"},
		{"saturation", s.Saturation, 0, math.MaxFloat32, "at least 0"}, {"hue", s.Hue, -0.5, 0.5, "from -0.5 to 0.5"},
	} {
		if len(r.of) > 0 && !r.of.rises(r.least, r.greatest) {
			errs = append(errs, recipe.Wrong(r.name, "is %s: must be a number %s, or two rising ones", argument.Written(r.of), r.must))
		}
	}
	return recipe.CheckTransform(in, s, errs...)
}
