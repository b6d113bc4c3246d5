package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomOrder]("random_order", recipe.Between,
	"Carry out steps on an image in random order, as torchvision's 'RandomOrder'.").
	Explained("", ".random_order(lambda p: p.equalize().posterize(4))").
	Called("steps").
	Telling("steps"))

// RandomOrder are the arguments of the operation random_order.
type RandomOrder struct {
	Steps recipe.Chain `json:"steps" required:"true"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomOrder) Docs() map[string]string {
	return map[string]string{"steps": ofSteps, "steps example": `["equalize", {"posterize": {"bits": 4}}]`}
}

// Complete implements [recipe.Completer].
func (s RandomOrder) Complete() recipe.Args {
	s.Steps = completeAll(s.Steps)
	return &s
}

// Transform implements [recipe.Transform].
func (s *RandomOrder) Transform() media.Op { return media.RandomOrder{Ops: transforms(s.Steps)} }

// Check implements [recipe.Args].
func (s *RandomOrder) Check(in sample.Schema) (sample.Schema, error) {
	return recipe.CheckTransform(in, s, checkInside(s.Steps, false, in, s.Images(in)))
}
