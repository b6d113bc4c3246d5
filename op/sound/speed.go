package sound

import (
	"context"
	"math"
	"slices"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[Speed]("speed", recipe.Between,
	"Make a recording faster by a random one of some factors, as torchaudio's 'SpeedPerturbation': shorter and higher.").Explained(`
At 1.1 a recording of 1000 samples has 910. The rate stays what it was. Without windows lengths differ then: 'bucket_batch' and 'pack'
take such samples.`,
	`.speed([0.9, 1.0, 1.1])`).
	Called("factors").
	Telling("factor"))

// Speed are the arguments of the operation speed.
type Speed struct {
	Factors []float64 `json:"factors,omitzero" required:"true" example:"[0.9, 1.0, 1.1]"`
	Waves
}

// Docs implements [argument.Documented].
func (*Speed) Docs() map[string]string {
	return map[string]string{"factors": "from 0.1 to 10, to three decimals; each recording gets one of them, evenly"}
}

// Check implements [recipe.Args].
func (s *Speed) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(s); err != nil {
		return nil, err
	}
	if len(s.Factors) == 0 || len(s.Factors) > 100 {
		return nil, recipe.Wrong("factors", "has %d numbers: must have 1 to 100", len(s.Factors))
	}

	// Factors of more decimals would need filters of more phases than anybody hears.
	for _, f := range s.Factors {
		steps := f * sound.SpeedSteps
		if !(f >= 0.1 && f <= 10) || math.Abs(steps-math.Round(steps)) > 1e-6 {
			return nil, recipe.Wrong("factors", "has %v: must be from 0.1 to 10, with three decimals at most", f)
		}
	}
	t, err := checkWaves(in, s.Field)
	if err != nil {
		return nil, err
	}
	return in.Replace(s.Field, sample.Field{Name: s.Field, Type: s.result(t)}), nil
}

// result returns the type after the step, whose length is known if there is one factor.
func (s *Speed) result(t sample.Type) sample.Type {
	axis := 0
	if s.Layout == "CT" {
		axis = len(t.Shape) - 1
	}
	if n := t.Shape[axis]; n != tensor.Unknown {
		t.Shape = slices.Clone(t.Shape)
		if t.Shape[axis] = tensor.Unknown; len(s.Factors) == 1 {
			steps := int(math.Round(s.Factors[0] * sound.SpeedSteps))
			t.Shape[axis] = (n*sound.SpeedSteps + steps - 1) / steps
		}
	}
	return t
}

// Traits implements [recipe.Traited].
func (*Speed) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }

// faster is the part of a recipe that makes recordings faster.
type faster struct {
	waves
	name   string
	id     uint64
	args   *Speed
	speeds []*sound.Resampler // nil: those that stay
}

// Link implements [core.Linker].
func (s *Speed) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	p := &faster{waves: s.waves(w, t), name: name, id: order.OpID(name), args: s}
	for _, f := range s.Factors {
		r, err := sound.NewSpeed(f)
		if err != nil {
			return nil, err
		}
		if f == 1 {
			r = nil
		}
		p.speeds = append(p.speeds, r)
	}
	out := s.result(p.is)
	t.Schema = t.Schema.Replace(s.Field, sample.Field{Name: s.Field, Type: out})
	return p, nil
}

// Run implements [core.Part].
func (p *faster) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	which := t.Chance.Intn(p.id, 0, len(p.speeds))
	if r := p.speeds[which]; r != nil {
		p.change(it, r.Len(p.samples(it.Values)), r.Run)
	}
	if p.env.Ledger {
		it.Drew(p.name, map[string]any{"factor": p.args.Factors[which]})
	}
	return nil
}
