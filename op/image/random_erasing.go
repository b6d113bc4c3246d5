package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomErasing]("random_erasing", recipe.Between,
	"Erase a random rectangle of an image, as torchvision's 'RandomErasing'.").
	Explained("", ".random_erasing(p=0.25)",
		`.random_erasing(p=0.25, value="random")`).
	Called("p, scale, ratio, value").
	Replacing("RandomErasing(p, scale, ratio, value)").
	Telling("erased", "x", "y", "width", "height", "noise"))

// RandomErasing are the arguments of the operation random_erasing.
type RandomErasing struct {
	P     *float64    `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`
	Scale *[2]float64 `json:"scale,omitempty" default:"[0.02, 0.33]" doc:"least and greatest share of the image's area"`
	Ratio *[2]float64 `json:"ratio,omitempty" default:"[0.3, 3.3]" doc:"least and greatest ratio of height to width"`
	Value Paint       `json:"value,omitzero" default:"0"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomErasing) Docs() map[string]string { return map[string]string{"value": ofValue} }

const ofValue = `the level that takes its place: one number, or one per channel; or "random": a normal number for each value, ` +
	`with the mean and deviation of ImageNet's images`

// Transform implements [recipe.Transform].
func (s *RandomErasing) Transform() media.Op {
	return media.RandomErasing{P: *s.P, Scale: *s.Scale, Ratio: *s.Ratio, Paint: s.Value.paint()}
}

// Check implements [recipe.Args].
func (s *RandomErasing) Check(in sample.Schema) (sample.Schema, error) {
	var errs []error
	if a := s.Scale; a != nil && !(a[0] >= 0 && a[0] <= a[1] && a[1] <= 1) {
		errs = append(errs, recipe.Wrong("scale", "is [%v, %v]: must be two rising shares from 0 to 1", a[0], a[1]))
	}
	if a := s.Ratio; a != nil && !(a[0] >= 1e-3 && a[0] <= a[1] && a[1] <= 1e3) {
		errs = append(errs, recipe.Wrong("ratio", "is [%v, %v]: must be two rising numbers from 0.001 to 1000", a[0], a[1]))
	}
	return recipe.CheckTransform(in, s, append(errs, s.Value.check(in, s.Images(in)))...)
}
