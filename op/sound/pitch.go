package sound

import (
	"context"
	"sync"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound/change"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[Pitch]("pitch", recipe.Between,
	"Make a recording higher or lower by a random number of semitones, as torchaudio's 'PitchShift'.").Explained(`
It stays as long as it is. A phase vocoder blurs what is sudden. 'speed' costs a twentieth, and changes the length as well.`,
	`.pitch((-3, 3), p=0.5)`).
	Called("semitones").
	Telling("semitones"))

// Pitch are the arguments of the operation pitch.
type Pitch struct {
	Semitones Range    `json:"semitones,omitempty" required:"true" example:"[-3, 3]"`
	P         *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability with which a recording is changed"`
	FFT       *int     `json:"n_fft,omitempty" min:"16" max:"32768" default:"512" example:"512"`
	Waves
}

// Docs implements [argument.Documented].
func (*Pitch) Docs() map[string]string {
	return map[string]string{
		"n_fft": "length of a frame, in samples; a multiple of 4",
		"semitones": "one number, or [least, greatest], between which it is drawn evenly, from -24 to 24; rounded so that frequencies " +
			"become a multiple of 1/240 of what they are",
	}
}

// mostSemitones is what a pitch moves at most, both ways.
const mostSemitones = 24

// Check implements [recipe.Args].
func (p *Pitch) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(p); err != nil {
		return nil, err
	}
	if err := p.Semitones.checkWithin("semitones", mostSemitones); err != nil {
		return nil, err
	}
	if *p.FFT%4 != 0 {
		return nil, recipe.Wrong("n_fft", "is %d: must be a multiple of 4", *p.FFT)
	}
	_, err := checkWaves(in, p.Field)
	return in, err
}

// Traits implements [recipe.Traited].
func (*Pitch) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }

// higher is the part of a recipe that moves pitches.
type higher struct {
	waves
	name string
	id   uint64
	args *Pitch
	made sync.Map // *change.Pitch, by their ratios: of these there are a thousand at most
}

// Link implements [core.Linker].
func (p *Pitch) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	return &higher{waves: p.waves(w, t), name: name, id: order.OpID(name), args: p}, nil
}

// Run implements [core.Part].
func (p *higher) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	told := map[string]any{"semitones": 0.0}
	if t.Chance.Float64(p.id, 0) < *p.args.P {
		semitones := p.args.Semitones.draw(t.Chance, p.id, 1)
		to, err := p.pitch(change.PitchRatio(semitones))
		if err != nil {
			return err
		}
		p.change(it, p.samples(it.Values), to.Run)
		told["semitones"] = semitones
	}
	if p.env.Ledger {
		it.Drew(p.name, told)
	}
	return nil
}

func (p *higher) pitch(ratio int) (*change.Pitch, error) {
	if made, ok := p.made.Load(ratio); ok {
		return made.(*change.Pitch), nil
	}
	made, err := change.NewPitch(ratio, *p.args.FFT)
	if err == nil {
		p.made.Store(ratio, made)
	}
	return made, err
}
