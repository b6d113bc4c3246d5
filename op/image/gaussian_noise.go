package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[GaussianNoise]("gaussian_noise", recipe.Between,
	"Add a normal number to every value of an image, as torchvision's 'GaussianNoise'.").
	Explained("Sums stay within the range. All frames of a clip get the same numbers.", ".gaussian_noise(sigma=0.05)").
	Called("mean, sigma").
	Replacing("GaussianNoise(sigma=sigma)").Telling("noise"))

// GaussianNoise are the arguments of the operation gaussian_noise.
type GaussianNoise struct {
	Mean  *float64 `json:"mean,omitempty" min:"-1" max:"1" default:"0" doc:"of the numbers, where 1 is the whole range"`
	Sigma *float64 `json:"sigma,omitempty" min:"0" max:"1" default:"0.1" doc:"their standard deviation, also of the whole range"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *GaussianNoise) Transform() media.Op {
	return media.GaussianNoise{Mean: *s.Mean, Sigma: *s.Sigma}
}

// Check implements [recipe.Args].
func (s *GaussianNoise) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s)
}
