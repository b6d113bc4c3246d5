package image

import (
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[GaussianBlur]("gaussian_blur", recipe.Between,
	"Blur an image by a random amount, as torchvision's 'GaussianBlur'.").
	Explained("", ".gaussian_blur(23)", ".gaussian_blur(9, sigma=1.5)  # each by the same").
	Called("kernel_size, sigma").
	Replacing("GaussianBlur(kernel_size, sigma)").Telling("sigma"))

// GaussianBlur are the arguments of the operation gaussian_blur.
type GaussianBlur struct {
	KernelSize *int  `json:"kernel_size,omitempty" required:"true" min:"1" max:"127" example:"23"`
	Sigma      Range `json:"sigma,omitempty" default:"[0.1, 2]"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*GaussianBlur) Docs() map[string]string {
	return map[string]string{
		"kernel_size": "pixels across and down that are mixed for one: an odd number",
		"sigma": "the standard deviation in pixels: one number, or [least, greatest], between which it is drawn " +
			"evenly for each image",
	}
}

// Complete implements [recipe.Completer].
func (g GaussianBlur) Complete() recipe.Args {
	g.Sigma = argument.OneIfEqual(g.Sigma)
	return &g
}

// Transform implements [recipe.Transform].
func (g *GaussianBlur) Transform() media.Op {
	return media.GaussianBlur{KernelSize: *g.KernelSize, Sigma: g.Sigma.ends()}
}

// Check implements [recipe.Args].
func (g *GaussianBlur) Check(in sample.Schema) (sample.Schema, error) {
	var odd, sigma error
	if n := argument.OrElse(g.KernelSize, 1); n%2 == 0 {
		odd = recipe.Wrong("kernel_size", "is %d: must be odd, so that a pixel is in the middle", n)
	}
	// Nothing is right: there is a default.
	if s := g.Sigma; len(s) > 0 && !(s[0] > 0 && s.rises(0, math.Inf(1))) {
		sigma = recipe.Wrong("sigma", "is %s: must be above 0, or two rising numbers above 0", argument.Written(s))
	}
	return recipe.CheckTransform(in, g, odd, sigma)
}
