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

var _ = Ops.Add(recipe.NewOp[Reverb]("reverb", recipe.Between,
	"Have a recording heard as in a room, by convolving it with a random one of some impulse responses.").Explained(`
Of an impulse response with several channels the first is taken, at the rate of the samples, and scaled to an energy of 1. The recording
stays as long as it is, and where it is: it begins with the loudest sample of the response, and the echo after its end is cut off. A
silent response changes nothing. Decoded responses stay in memory as in 'add_noise'.`,
	`.reverb("rirs", p=0.3)`).
	Called("impulses").
	Telling("impulse"))

// Reverb are the arguments of the operation reverb.
type Reverb struct {
	Impulses recipe.Path `json:"impulses,omitempty" required:"true" example:"rirs"`
	P        *float64    `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the probability with which a recording is changed"`
	Rate     *int        `json:"rate,omitempty" min:"1" max:"1000000" example:"16000"`
	Waves
}

// Docs implements [argument.Documented].
func (*Reverb) Docs() map[string]string {
	return map[string]string{
		"impulses": "files of impulse responses, as for 'files': a folder, a file or a pattern; each is as likely",
		"rate":     rateDoc,
	}
}

// Check implements [recipe.Args].
func (r *Reverb) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(r); err != nil {
		return nil, err
	}
	t, err := checkWaves(in, r.Field)
	if err == nil {
		_, err = rateOf(t, r.Rate, "impulse responses are brought to that")
	}
	return in, errors.Join(checkPath("impulses", r.Impulses), err)
}

// Traits implements [recipe.Traited].
func (*Reverb) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }

// echoing is the part of a recipe that has recordings heard as in rooms.
type echoing struct {
	waves
	name     string
	id       uint64
	args     *Reverb
	impulses *recordings
}

// Link implements [core.Linker].
func (r *Reverb) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	p := &echoing{waves: r.waves(w, t), name: name, id: order.OpID(name), args: r}
	rate, err := rateOf(p.is, r.Rate, "")
	if err == nil {
		p.impulses, err = newRecordings(w, name, "impulses", r.Impulses, rate, true)
	}
	return p, err
}

// Run implements [core.Part].
func (p *echoing) Run(ctx context.Context, it *record.Record, t *core.Tool) error {
	told := map[string]any{"impulse": nil}
	if n := p.samples(it.Values); n > 0 && t.Chance.Float64(p.id, 0) < *p.args.P {
		which := t.Chance.Intn(p.id, 1, len(p.impulses.all))
		impulse, err := p.impulses.get(ctx, it, which)
		if err != nil {
			return err
		}
		p.change(it, n, change.NewEcho(impulse, n).Run)
		told["impulse"] = p.impulses.files.Key(which)
	}
	if p.env.Ledger {
		it.Drew(p.name, told)
	}
	return nil
}
