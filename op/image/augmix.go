package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[AugMix]("augmix", recipe.Between,
	"Mix an image with several changed ones, as torchvision's 'AugMix'.").
	Explained(`
Each of them is changed by a chain of one to three changes. Boxes and points stay where they are.`, ".augmix()").
	Called("severity, mixture_width, chain_depth, alpha, all_ops, filter, fill").
	Replacing("AugMix()").
	Telling("share", "steps"))

// AugMix are the arguments of the operation augmix.
type AugMix struct {
	Severity     *int     `json:"severity,omitempty" min:"1" max:"10" default:"3" doc:"how strong changes are at most"`
	MixtureWidth *int     `json:"mixture_width,omitempty" min:"1" max:"16" default:"3" doc:"how many changed images there are"`
	ChainDepth   *int     `json:"chain_depth,omitempty" min:"1" max:"16" example:"2" doc:"changes of each; by default one to three, evenly"`
	Alpha        *float64 `json:"alpha,omitempty" min:"0.001" max:"1000" default:"1" doc:"of the distributions of shares"`
	AllOps       *bool    `json:"all_ops,omitempty" default:"true" doc:"with brightness, colour, contrast and sharpness among the changes"`
	Filter       string   `json:"filter,omitempty" choices:"nearest,bilinear,bicubic" default:"bilinear" doc:"of shears, turns and shifts"`
	Fill         Fill     `json:"fill,omitempty" default:"0" doc:"the colour beyond the image: one number, or one per channel"`

	recipe.On
}

// Transform implements [recipe.Transform].
func (s *AugMix) Transform() media.Op {
	return media.AugMix{Severity: *s.Severity, Width: *s.MixtureWidth, Depth: argument.OrElse(s.ChainDepth, 0), Alpha: *s.Alpha,
		AllOps: *s.AllOps, Filter: filter(s.Filter), Fill: s.Fill.color()}
}

// Check implements [recipe.Args].
func (s *AugMix) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, s.Fill.check(in, s.Images(in)))
}
