package image

import (
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[GridMask]("grid_mask", recipe.Between,
	"Erase a grid of squares, which begins anywhere.").
	Explained("", ".grid_mask((64, 128))", ".grid_mask(96, 0.4, p=0.7)  # a square every 96 pixels, of 38").
	Called("size, ratio, value, p").
	Telling("erased", "period", "x", "y"))

// GridMask are the arguments of the operation grid_mask.
type GridMask struct {
	Size  WholeRange `json:"size,omitempty" required:"true" example:"96"`
	Ratio *float64   `json:"ratio,omitempty" min:"0" max:"1" default:"0.5" doc:"the side of a square, as a share of that distance"`
	Value Fill       `json:"value,omitempty" default:"0" doc:"the level that takes its place: one number, or one per channel"`
	P     *float64   `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*GridMask) Docs() map[string]string {
	return map[string]string{
		"size": "pixels from square to square, from 2: one number, or [least, greatest], between which it is drawn evenly for each image",
	}
}

// Transform implements [recipe.Transform].
func (s *GridMask) Transform() media.Op {
	return media.GridMask{Size: s.Size.ends(), Ratio: *s.Ratio, P: *s.P, Paint: Paint{Fill: s.Value}.paint()}
}

// Check implements [recipe.Args].
func (s *GridMask) Check(in sample.Schema) (sample.Schema, error) {
	var size error
	if len(s.Size) > 0 && !s.Size.rises(2, math.MaxInt32) {
		size = recipe.Wrong("size", "is %s: must be at least 2, or two rising numbers from 2 on", argument.Written(s.Size))
	}
	return recipe.CheckTransform(in, s, size, Paint{Fill: s.Value}.check(in, s.Images(in)))
}
