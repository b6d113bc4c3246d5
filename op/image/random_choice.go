package image

import (
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[RandomChoice]("random_choice", recipe.Between,
	"Carry out one of several steps on an image, as torchvision's 'RandomChoice'.").
	Explained("", ".random_choice([lambda p: p.invert(), lambda p: p.equalize()], p=[1, 2])").
	Called("steps, p").
	Telling("steps"))

// RandomChoice are the arguments of the operation random_choice.
type RandomChoice struct {
	Steps recipe.Chain `json:"steps" required:"true"`
	P     []float64    `json:"p,omitempty"`

	recipe.On
}

// Docs implements [argument.Documented].
func (*RandomChoice) Docs() map[string]string {
	return map[string]string{
		"steps":         ofSteps + "; several are one by random_apply",
		"steps example": `["equalize", {"posterize": {"bits": 4}}]`,
		"p":             "how likely each is, as a share of their sum; by default all are alike",
	}
}

// Complete implements [recipe.Completer].
func (s RandomChoice) Complete() recipe.Args {
	s.Steps = completeAll(s.Steps)
	return &s
}

// Transform implements [recipe.Transform].
func (s *RandomChoice) Transform() media.Op {
	return media.RandomChoice{Ops: transforms(s.Steps), P: s.P}
}

// Check implements [recipe.Args].
func (s *RandomChoice) Check(in sample.Schema) (sample.Schema, error) {
	var p error
	if s.P != nil && len(s.P) != len(s.Steps) {
		p = recipe.Wrong("p", "has %d numbers for %d steps", len(s.P), len(s.Steps))
	}
	return recipe.CheckTransform(in, s, p, checkInside(s.Steps, true, in, s.Images(in)))
}
