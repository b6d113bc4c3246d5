package sound

import (
	"context"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

var _ = Ops.Add(recipe.NewOp[SpecAugment]("spec_augment", recipe.Between,
	"Mask stretches of time and bands of a spectrogram at random, as torchaudio's 'SpecAugment'.").Explained(`
A mask is as long as a whole number below 'time' or 'freq', evenly, and anywhere. Masks may overlap; lengths stay.`,
	`words.spec_augment(time=40, freq=15, n_time=2, n_freq=2).batch(32)`).
	Called("time, freq").
	Telling("time", "freq"))

// SpecAugment are the arguments of the operation spec_augment.
type SpecAugment struct {
	Time   *int     `json:"time,omitempty" required:"true" min:"0" max:"1000000" example:"40"`
	Freq   *int     `json:"freq,omitempty" required:"true" min:"0" max:"1000000" example:"15"`
	NTime  *int     `json:"n_time,omitempty" min:"0" max:"100" default:"1" doc:"how many masks over time"`
	NFreq  *int     `json:"n_freq,omitempty" min:"0" max:"100" default:"1" doc:"how many masks over bands"`
	P      *float64 `json:"p,omitempty" min:"0" max:"1" default:"1" doc:"the share of the frames, and of the bands, that one mask may take"`
	Value  *float64 `json:"value,omitempty" example:"0" doc:"what masked numbers become; by default the mean of all, before"`
	Field  string   `json:"field,omitempty" default:"mel" doc:"the spectrogram, float32"`
	Layout string   `json:"layout,omitempty" choices:"TM,MT" default:"TM" doc:"its axes, as they were made"`
}

// Docs implements [argument.Documented].
func (*SpecAugment) Docs() map[string]string {
	return map[string]string{
		"time": "frames that a mask over time has less than; 0: none is masked",
		"freq": "bands that a mask over bands has less than; 0: none is masked",
	}
}

// Check implements [recipe.Args].
func (s *SpecAugment) Check(in sample.Schema) (sample.Schema, error) {
	if err := argument.CheckTags(s); err != nil {
		return nil, err
	}
	at := in.Find(s.Field)
	if at < 0 {
		return nil, recipe.Wrong("field", "is %q: the samples have the fields %s", s.Field, words.List(in.Names()))
	}
	if t := in[at].Type; t.Kind != sample.Tensor || t.Axes != "" || len(t.Shape) != 2 || t.DType != tensor.Float32 {
		return nil, recipe.Wrong("field", "is %q, which is %v: must be a spectrogram, float32 with two axes",
			s.Field, t)
	}
	return in, nil
}

// Traits implements [recipe.Traited].
func (*SpecAugment) Traits() recipe.Traits { return recipe.Traits{Content: "audio"} }

// masking is the part of a recipe that masks spectrograms.
type masking struct {
	env  *core.Env
	args *SpecAugment
	name string
	id   uint64
	at   record.Column
	is   sample.Type
}

// Link implements [core.Linker].
func (s *SpecAugment) Link(w *core.Env, name string, t *core.Scope) (core.Part, error) {
	at := t.Columns.Of[s.Field]
	return &masking{w, s, name, order.OpID(name), at, t.Schema[t.Schema.Find(s.Field)].Type}, nil
}

// Run implements [core.Part].
func (p *masking) Run(_ context.Context, it *record.Record, t *core.Tool) error {
	v := it.Values
	is := v.Arrays[p.at.At]
	is.Data = p.env.Copied(v, is.Data) // another field may have the same memory
	v.Arrays[p.at.At] = is

	all := floatsOf(is.Data)
	frames, bands, perFrame, perBand := is.Shape[0], is.Shape[1], is.Shape[1], 1
	if p.args.Layout == "MT" {
		frames, bands, perFrame, perBand = is.Shape[1], is.Shape[0], 1, is.Shape[1]
	}
	value := mean(all)
	if p.args.Value != nil {
		value = float32(*p.args.Value)
	}

	draw := uint32(0)
	mask := func(n, most, size int) (ends []int) {
		for range n {
			from, to := p.stretch(most, size, t.Chance, draw)
			draw += 2
			ends = append(ends, from, to)
		}
		return ends
	}
	overTime := mask(*p.args.NTime, *p.args.Time, frames)
	overBands := mask(*p.args.NFreq, *p.args.Freq, bands)
	for i := 0; i < len(overTime); i += 2 {
		fillBlock(all, overTime[i], overTime[i+1], perFrame, 0, bands, perBand, value)
	}
	for i := 0; i < len(overBands); i += 2 {
		fillBlock(all, 0, frames, perFrame, overBands[i], overBands[i+1], perBand, value)
	}
	if p.env.Ledger {
		it.Drew(p.name, map[string]any{"time": overTime, "freq": overBands})
	}
	p.env.Settle(it)
	it.Account()
	return nil
}

// stretch draws the ends of a mask, of an axis of so many: as torchaudio, but that it is
// not longer than the axis.
func (p *masking) stretch(most, size int, chance order.Key, draw uint32) (from, to int) {
	most = min(most, size)
	if *p.args.P < 1 {
		most = min(most, int(float64(size)*(*p.args.P)))
	}
	if most < 1 {
		return 0, 0
	}
	length := float64(chance.Float64(p.id, draw) * float64(most))
	from = int(float64(chance.Float64(p.id, draw+1) * (float64(size) - length)))
	return from, min(from+int(length), size)
}

// fillBlock gives the numbers of some frames and some bands a value.
func fillBlock(all []float32, frame, frames, perFrame, band, bands, perBand int, value float32) {
	for i := frame; i < frames; i++ {
		for k := band; k < bands; k++ {
			all[i*perFrame+k*perBand] = value
		}
	}
}

// mean returns that of numbers, summed up in an order of its own, the same everywhere.
func mean(all []float32) float32 {
	if len(all) == 0 {
		return 0
	}
	var sums [8]float64
	whole := len(all) &^ 7
	for i := 0; i < whole; i += 8 {
		for k, v := range all[i : i+8 : i+8] {
			sums[k] += float64(v)
		}
	}
	for k, v := range all[whole:] {
		sums[k] += float64(v)
	}
	sum := 0.0
	for _, s := range sums {
		sum += s
	}
	return float32(sum / float64(len(all)))
}

// Foresee implements [core.Part]: the copy.
func (p *masking) Foresee(*record.Record, *core.Tool) int64 {
	if !p.is.Fixed() {
		return 0
	}
	n, _ := p.is.Shape.Bytes(p.is.DType) // checked with the recipe
	return n
}
