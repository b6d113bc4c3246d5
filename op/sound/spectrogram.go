package sound

import (
	"context"
	"unsafe"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound/mel"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Spectrogram is a part of a recipe that makes log-mel spectrograms.
type Spectrogram struct {
	Env  *core.Env
	Plan *mel.Plan
	Args *LogMel
	Type sample.Type // of what comes out
	From record.Column
	To   record.Column
	in   sample.Type
}

// NewSpectrogram makes the part of a step, but for its columns, for samples of a type.
func NewSpectrogram(w *core.Env, args *LogMel, in sample.Type) (*Spectrogram, error) {
	plan, err := mel.NewPlan(args.Spec())
	if err != nil {
		return nil, err
	}
	out, err := args.Type(in.Shape[0])
	return &Spectrogram{Env: w, Plan: plan, Args: args, Type: out, in: in}, err
}

// Link implements [core.Linker].
func (l *LogMel) Link(w *core.Env, _ string, t *core.Scope) (core.Part, error) {
	next, err := NewSpectrogram(w, l, t.Schema[t.Schema.Find(l.Field)].Type)
	if err != nil {
		return nil, err
	}
	next.From, next.To = t.Decoded(l.Field, l.To, next.Type)
	return next, nil
}

// Run implements part.
func (p *Spectrogram) Run(_ context.Context, it *record.Record, _ *core.Tool) error {
	v := it.Values
	samples, give := p.samples(v)
	defer give()
	frames, err := p.Plan.Frames(len(samples))
	if err != nil {
		return err
	}

	mels := p.Plan.Mels
	data := *v.Borrow(&p.Env.Images, 4*frames*mels)
	to, shape := floatsOf(data), tensor.Shape{frames, mels}
	// The plan writes frame after frame. For MT it writes elsewhere, to be transposed.
	if p.Args.Layout == "MT" {
		room := p.Env.Images.Take(len(data))
		defer p.Env.Images.Give(room)
		to, shape = floatsOf(*room), tensor.Shape{mels, frames}
	}
	if err := p.Plan.Run(to, samples); err != nil {
		return err
	}
	if p.Args.Layout == "MT" {
		turned := floatsOf(data)
		for i := range frames {
			for m := range mels {
				turned[m*frames+i] = to[i*mels+m]
			}
		}
	}

	v.Forget(p.From)
	v.Arrays[p.To.At] = record.Array{Shape: shape, Data: data}
	p.Env.Settle(it)
	it.Account()
	return nil
}

// samples returns the recording as float32 from -1 to 1. Give takes the memory back.
func (p *Spectrogram) samples(v *record.Values) (all []float32, give func()) {
	b := v.Data(p.From)
	if p.in.DType == tensor.Float32 {
		return floatsOf(b), func() {}
	}
	room := p.Env.Images.Take(2 * len(b))
	all = floatsOf(*room)
	for i, n := range unsafe.Slice((*int16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2) {
		all[i] = float32(n) / (1 << 15)
	}
	return all, func() { p.Env.Images.Give(room) }
}

// Foresee implements part. Of recordings whose length is unknown nothing is known before
// they are decoded: what there is then is accounted for.
func (p *Spectrogram) Foresee(*record.Record, *core.Tool) int64 {
	if !p.Type.Fixed() {
		return 0
	}
	n, _ := p.Type.Shape.Bytes(p.Type.DType) // checked with the recipe
	return 2 * n
}
