package image

import (
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomZoomOut]("random_zoom_out", recipe.Between,
	"Put an image at a random place of a larger canvas, at random, as torchvision's 'RandomZoomOut'.").
	Explained("", ".random_zoom_out(fill=(123, 117, 104)).resize((300, 300))").
	Called("fill, side_range, p").
	Replacing("RandomZoomOut(fill, side_range, p)").Telling("x", "y", "width", "height"))

// RandomZoomOut are the arguments of the operation random_zoom_out.
type RandomZoomOut struct {
	Fill      Fill      `json:"fill,omitempty" default:"0" doc:"the colour of the canvas: one number, or one per channel"`
	SideRange []float64 `json:"side_range,omitzero" example:"[1, 2]" doc:"how much longer sides become; by default [1, 4]"`
	P         *float64  `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Complete implements [recipe.Completer].
func (z RandomZoomOut) Complete() recipe.Args {
	if z.SideRange == nil {
		z.SideRange = []float64{1, 4}
	}
	return &z
}

// Transform implements [recipe.Transform].
func (z *RandomZoomOut) Transform() media.Op {
	return media.RandomZoomOut{SideRange: [2]float64(z.SideRange), P: *z.P, Fill: z.Fill.color()}
}

// Check implements [recipe.Args].
func (z *RandomZoomOut) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, z, z.Fill.check(in, z.Images(in)), checkTwo("side_range", z.SideRange))
}

var _ = Ops.Add(recipe.NewOp[ScaleJitter]("scale_jitter", recipe.Between,
	"Resize an image to fit into a size, times a random factor, as torchvision's 'ScaleJitter'.").
	Explained("", ".scale_jitter((640, 640))  # then pad and crop to one size").
	Called("target_size, scale_range").
	Replacing("ScaleJitter((width, height), scale_range)").Telling("width", "height"))

// ScaleJitter are the arguments of the operation scale_jitter.
type ScaleJitter struct {
	TargetSize recipe.Size `json:"target_size,omitzero" required:"true" example:"640"`
	ScaleRange []float64   `json:"scale_range,omitzero" example:"[0.5, 1.5]" doc:"least and greatest factor; by default [0.1, 2]"`
	Filter     string      `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*ScaleJitter) Docs() map[string]string {
	return map[string]string{
		"target_size": "[height, width], or one number for both; torchvision takes width and height here",
		"filter":      "the filter, as in Pillow; masks always use nearest",
	}
}

// Complete implements [recipe.Completer].
func (s ScaleJitter) Complete() recipe.Args {
	s.TargetSize = s.TargetSize.Square()
	if s.ScaleRange == nil {
		s.ScaleRange = []float64{0.1, 2}
	}
	return &s
}

// Refused implements [recipe.Refuser].
func (*ScaleJitter) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (s *ScaleJitter) Transform() media.Op {
	height, width := s.TargetSize.Both()
	return media.ScaleJitter{Height: height, Width: width, Scale: [2]float64(s.ScaleRange), Filter: filter(s.Filter)}
}

// Check implements [recipe.Args].
func (s *ScaleJitter) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, checkTwo("scale_range", s.ScaleRange))
}

var _ = Ops.Add(recipe.NewOp[RandomShortSize]("random_short_size", recipe.Between,
	"Resize the short side of an image to one of some sizes, at random, as torchvision's 'RandomShortestSize'.").
	Explained("", ".random_short_size(range(480, 801, 32), max_size=1333)  # as DETR").
	Called("sizes, max_size").
	Replacing("RandomShortestSize(sizes, max_size)").Telling("width", "height"))

// RandomShortSize are the arguments of the operation random_short_size.
type RandomShortSize struct {
	Sizes   []int  `json:"sizes,omitzero" required:"true" example:"[480, 512, 544]" doc:"one of these is drawn, evenly"`
	MaxSize int    `json:"max_size,omitempty" min:"0" doc:"limit for the longer edge; by default none"`
	Filter  string `json:"filter,omitempty" choices:"bilinear,box,hamming,bicubic,lanczos,nearest" default:"bilinear"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomShortSize) Docs() map[string]string {
	return map[string]string{"filter": "the filter, as in Pillow; masks always use nearest"}
}

// Refused implements [recipe.Refuser].
func (*RandomShortSize) Refused() map[string]string { return torchvisionsNames }

// Transform implements [recipe.Transform].
func (s *RandomShortSize) Transform() media.Op {
	return media.RandomShortSize{Sizes: s.Sizes, MaxSize: s.MaxSize, Filter: filter(s.Filter)}
}

// Check implements [recipe.Args].
func (s *RandomShortSize) Check(in sample.Schema) (sample.Schema, error) {
	var none error
	if s.Sizes != nil && len(argument.OneIfEqual(s.Sizes)) == 0 {
		none = recipe.Wrong("sizes", "is empty: give at least one")
	}
	return recipe.CheckTransform(in, s, none)
}
