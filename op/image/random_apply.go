package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomApply]("random_apply", recipe.Between,
	"Carry out steps on an image with a probability, or none of them, as torchvision's 'RandomApply'.").
	Explained("", ".random_apply(lambda p: p.adjust_sharpness(2).solarize(128), p=0.2)").
	Called("steps, p").
	Telling("applied", "steps"))

// RandomApply are the arguments of the operation random_apply.
type RandomApply struct {
	Steps recipe.Chain `json:"steps" required:"true"`
	P     *float64     `json:"p,omitempty" min:"0" max:"1" default:"0.5" doc:"the probability"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomApply) Docs() map[string]string {
	return map[string]string{"steps": ofSteps, "steps example": `["invert", {"posterize": {"bits": 4}}]`}
}

// Complete implements [recipe.Completer].
func (s RandomApply) Complete() recipe.Args {
	s.Steps = completeAll(s.Steps)
	return &s
}

// Transform implements [recipe.Transform].
func (s *RandomApply) Transform() media.Op {
	return media.RandomApply{Ops: transforms(s.Steps), P: *s.P}
}

// Check implements [recipe.Args].
func (s *RandomApply) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, checkInside(s.Steps, false, in, s.Images(in)))
}
