package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Cutout]("cutout", recipe.Between,
	"Erase a square whose middle is anywhere in the image, as DeVries and Taylor's Cutout.").
	Explained("", ".cutout(56)").
	Called("size, value, p").
	Telling("erased", "x", "y", "width", "height", "noise"))

// Cutout are the arguments of the operation cutout.
type Cutout struct {
	Size  *int     `json:"size,omitempty" required:"true" min:"1" example:"56" doc:"pixels of a side"`
	Value Paint    `json:"value,omitzero" default:"0"`
	P     *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*Cutout) Docs() map[string]string { return map[string]string{"value": ofValue} }

// Transform implements [recipe.Transform].
func (s *Cutout) Transform() media.Op {
	return media.Cutout{Size: *s.Size, P: *s.P, Paint: s.Value.paint()}
}

// Check implements [recipe.Args].
func (s *Cutout) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, s.Value.check(in, s.Images(in)))
}
