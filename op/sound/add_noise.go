package sound

import (
	"context"
	"errors"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound/change"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

var _ = Ops.Add(recipe.NewOp[AddNoise]("add_noise", recipe.Between,
	"Add a random stretch of a random recording of noise, as torchaudio's 'AddNoise'.").Explained(`
Noise is the mean of its channels, at the rate of the samples. What is too short is repeated. The ratio is that of the energies of each
channel and the stretch; silence, of either, adds nothing. Decoded noise stays in memory, up to 256 MiB and a quarter of the byte
budget, of which it is a part; the rest is decoded again at each use. A state fits the same files only.`,
	`.add_noise("noises/*.wav", snr=(5, 20), p=0.5)`).
	Called("noises, snr").
	Telling("added", "noise", "start", "snr"))

// AddNoise are the arguments of the operation add_noise.
type AddNoise struct {
	Noises recipe.Path `json:"noises,omitempty" required:"true" example:"noises"`
	SNR    Range       `json:"snr,omitempty" required:"true" example:"[5, 20]"`
	P      *float64    `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability with which a recording gets noise"`
	Rate   *int        `json:"rate,omitempty" min:"1" max:"1000000" example:"16000"`
	Waves
}

// Docs implements [argument.Documented].
func (*AddNoise) Docs() map[string]string {
	return map[string]string{
		"noises": "files of noise, as for 'files': a folder, a file or a pattern; each is as likely",
		"snr": "decibels that the noise is weaker than the samples: one number, or [least, greatest], between which it is " +
			"drawn evenly",
		"rate": rateDoc,
	}
}

const rateDoc = "samples per second, to which the files are brought; by default as 'decode_audio(rate=…)' says"

// Check implements [recipe.Args].
func (a *AddNoise) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(a); err != nil {
		return nil, err
	}
	t, err := checkWaves(in, a.Field)
	if err == nil {
		_, err = rateOf(t, a.Rate, "noise is brought to that")
	}
	return in, errors.Join(a.SNR.check("snr"), checkPath("noises", a.Noises), err)
}

func checkPath(argument string, p recipe.Path) error {
	if err := p.Check(); err != nil {
		return recipe.Wrong(argument, "%w", err)
	}
	return nil
}

// Traits implements [recipe.Traited].
func (*AddNoise) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }

// noisy is the part of a recipe that adds noise.
type noisy struct {
	waves
	name   string
	id     uint64
	args   *AddNoise
	noises *recordings
}

// Link implements [core.Linker].
func (a *AddNoise) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	p := &noisy{waves: a.waves(w, t), name: name, id: order.OpID(name), args: a}
	rate, err := rateOf(p.is, a.Rate, "")
	if err == nil {
		p.noises, err = newRecordings(w, name, "noises", a.Noises, rate, false)
	}
	return p, err
}

// Run implements [core.Part].
func (p *noisy) Run(ctx context.Context, it *record.Record, t *core.Tool) error {
	told := map[string]any{"added": false}
	if n := p.samples(it.Values); n > 0 && t.Chance.Float64(p.id, 0) < *p.args.P {
		which := t.Chance.Intn(p.id, 1, len(p.noises.all))
		noise, err := p.noises.get(ctx, it, which)
		if err != nil {
			return err
		}

		// A noise that is too short goes round, and may begin anywhere.
		places := len(noise)
		if len(noise) >= n {
			places = len(noise) - n + 1
		}
		start, snr := t.Chance.Intn(p.id, 2, places), p.args.SNR.draw(t.Chance, p.id, 3)
		room := p.env.Images.Take(4 * n)
		defer p.env.Images.Give(room)
		stretch := floatsOf(*room)
		for at := copy(stretch, noise[start:]); at < n; {
			at += copy(stretch[at:], noise)
		}
		p.change(it, n, func(to, from []float32) { change.AddNoise(to, from, stretch, snr) })
		told = map[string]any{"added": true, "noise": p.noises.files.Key(which), "start": start, "snr": snr}
	}
	if p.env.Ledger {
		it.Drew(p.name, told)
	}
	return nil
}
