package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/jsonschema"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[GaussianBlur]("gaussian_blur", recipe.Between,
	"Blur an image by a random amount, as torchvision's 'GaussianBlur'.").
	Explained("", ".gaussian_blur(23)", ".gaussian_blur(9, sigma=1.5)  # each by the same").
	Called("kernel_size, sigma"))

// GaussianBlur are the arguments of the operation gaussian_blur.
type GaussianBlur struct {
	KernelSize *int  `json:"kernel_size,omitempty" required:"true" min:"1" max:"127" example:"23" doc:"pixels across and down that are mixed for one: an odd number"`
	Sigma      Sigma `json:"sigma,omitempty" default:"[0.1, 2]" doc:"the standard deviation in pixels: one number, or [least, greatest], between which it is drawn evenly for each image"`

	recipe.On
}

// Sigma is a standard deviation, or the least and the greatest; in JSON a number or a
// list of two.
type Sigma []float64

// Takes implements [recipe.Taker].
func (s *Sigma) Takes() string { return "a number, or [least, greatest]" }

// JSONSchema implements [recipe.Schemer].
func (Sigma) JSONSchema() map[string]any { return jsonschema.OneOrList("number", nil, 2) }

// MarshalJSON writes a number or a list.
func (s Sigma) MarshalJSON() ([]byte, error) { return argument.MarshalNumbers(s...), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sigma) UnmarshalJSON(b []byte) error {
	n, err := argument.UnmarshalNumbers[float64](b, s.Takes(), 2)
	if err == nil {
		*s = n
	}
	return err
}

// check refuses what no image can be blurred by. Nothing is right: there is a default.
func (s Sigma) check() error {
	n := len(s)
	if n == 0 || n <= 2 && s[0] > 0 && s[0] <= s[n-1] {
		return nil
	}
	return recipe.Wrong("sigma", "is %s: must be above 0, or two rising numbers above 0", argument.Written(s))
}

// Complete implements [recipe.Completer].
func (g GaussianBlur) Complete() recipe.Args {
	g.Sigma = argument.OneIfEqual(g.Sigma)
	return &g
}

// Transform implements [recipe.Transform].
func (g *GaussianBlur) Transform() media.Op {
	return media.GaussianBlur{KernelSize: *g.KernelSize, Sigma: [2]float64{g.Sigma[0], g.Sigma[len(g.Sigma)-1]}}
}

// Check implements [recipe.Args].
func (g *GaussianBlur) Check(in sample.Schema) (sample.Schema, error) {
	var odd error
	if n := argument.OrElse(g.KernelSize, 1); n%2 == 0 {
		odd = recipe.Wrong("kernel_size", "is %d: must be odd, so that a pixel is in the middle", n)
	}
	return recipe.CheckTransform(in, g, odd, g.Sigma.check())
}
