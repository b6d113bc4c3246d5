package image

import (
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Layout]("layout", recipe.Between, "Reorder the axes of an image or clip."))

// Layout are the arguments of the operation layout.
type Layout struct {
	Layout string `json:"layout,omitempty" required:"true" choices:"NHWC,NCHW,THWC,TCHW,CTHW" example:"NCHW"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Layout) Docs() map[string]string {
	return map[string]string{
		"layout": "images: 'NHWC', as decoded, or 'NCHW'; clips: 'THWC', as decoded, 'TCHW' or 'CTHW'. N: batch, " +
			"T: frames, C: channels",
	}
}

// Transform implements [recipe.Transform].
func (l *Layout) Transform() media.Op {
	layout, _ := media.ParseLayout(l.Layout)
	return media.ToLayout{Layout: layout}
}

// checkMoves refuses the layout of an image for clips, and the other way round.
func (l *Layout) checkMoves(in sample.Schema) error {
	for _, name := range l.Images(in) {
		switch moves := recipe.ImageForm(in[in.Find(name)].Type).Moves(); {
		case moves && strings.HasPrefix(l.Layout, "N"):
			return recipe.Wrong("layout", `is %q, but the field %q has clips: must be "THWC", "TCHW" or "CTHW"`, l.Layout, name)
		case !moves && strings.Contains(l.Layout, "T"):
			return recipe.Wrong("layout", `is %q, but the field %q has images: must be "NHWC" or "NCHW"`, l.Layout, name)
		}
	}
	return nil
}

// Check implements [recipe.Args].
func (l *Layout) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, l, l.checkMoves(in))
}
