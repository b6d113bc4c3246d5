package sound

import (
	"bytes"
	"context"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/store"
)

// HearAudio is a part of a recipe that decodes what is heard in a window of a file, which
// a field of the record tells.
type HearAudio struct {
	*ReadAudio
	window record.Column // the seconds at which it begins and ends
	edge   func(data []byte, i int) float64
}

// Run implements part.
func (p *HearAudio) Run(ctx context.Context, it *record.Record, _ *core.Tool) error {
	return p.Env.Watched(ctx, it, func() error { return p.hear(ctx, it) })
}

func (p *HearAudio) hear(ctx context.Context, it *record.Record) error {
	var file sound.File
	if !p.ByPath() {
		file = bytes.NewReader(it.Values.Bytes[p.From.At])
	} else if it.HeaderErr != nil {
		return it.HeaderErr
	} else {
		file = it.Opened.(heardFile)
	}
	begin, end := p.of(it)
	h, err := OpenHeard(file, begin, end, p.Args)
	if err != nil {
		return err
	}
	defer h.Close()

	a := arrangementOf(p.Args, int(h.Samples()), h.Channels())
	data := *it.Values.Borrow(&p.Env.Images, a.Bytes())
	if err := a.fill(data, &p.Env.Images, func(all []float32) error { return h.Read(ctx, all) }); err != nil {
		return err
	}
	countDamaged(p.Env, h)
	p.put(it, data, a.Shape())
	return nil
}

// of reads the window of a record.
func (p *HearAudio) of(it *record.Record) (begin, end float64) {
	data := it.Values.Data(p.window)
	return p.edge(data, 0), p.edge(data, 1)
}

// heardFile is a file of which a window is heard.
type heardFile struct{ store.File }

// Load implements [record.Opened]. The file is read by those who decode.
func (heardFile) Load() (int64, error) { return 0, nil }

// Open implements [recipe.Opener].
func (p *HearAudio) Open(ctx context.Context, it *record.Record) error {
	it.Shut()
	it.HeaderErr = machine.Patiently(ctx, func() error {
		f, err := p.Env.OpenNamed(ctx, it, it.Values.Texts[p.From.At])
		if err != nil {
			return err
		}
		it.Opened = heardFile{f}
		return nil
	})
	return nil
}

// Foresee implements part, by the rate that is asked for, or the usual one.
func (p *HearAudio) Foresee(it *record.Record, t *core.Tool) int64 {
	if p.Type.Fixed() {
		return p.ReadAudio.Foresee(it, t)
	}
	begin, end := p.of(it)
	if p.Args.Duration != nil {
		end = begin + *p.Args.Duration
	}
	n := (end - begin) * float64(argument.OrElse(p.Args.Rate, 48000))
	if !(n > 0 && n < math.MaxInt32) {
		return 0
	}
	return 2 * 4 * int64(n) * int64(argument.OrElse(p.Args.Channels, 2))
}
