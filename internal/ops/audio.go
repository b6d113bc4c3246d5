package ops

import (
	"context"
	"fmt"
	"math"
	"unsafe"

	"headrace/internal/record"
	"headrace/media/sound"
	"headrace/media/sound/wav"
	"headrace/order"
	"headrace/recipe"
	"headrace/tensor"
)

func init() { sound.Register(wav.Format) }

// ReadAudio is a part of a recipe that decodes a window of a recording.
type ReadAudio struct {
	Env  *Env
	Name string // of the step
	Args *recipe.DecodeAudio
	From record.Column
	To   record.Column
}

// Run implements part.
func (p *ReadAudio) Run(_ context.Context, it *record.Record, t *Tool) error {
	w, err := p.open(it)
	if err != nil {
		return err
	}
	from, n, err := p.place(w, it, t)
	if err != nil {
		return err
	}
	if n > math.MaxInt32/int64(w.Channels()) {
		return fmt.Errorf("headrace: the recording has %d samples of %d channels: say duration, and take less of it", n, w.Channels())
	}

	v := it.Values
	data := *v.Borrow(&p.Env.Images, int(n)*w.Channels()*p.width())
	if err := p.fill(data, w, from, n); err != nil {
		return err
	}
	v.Forget(p.From)
	v.Arrays[p.To.At] = record.Array{Shape: p.shape(w, n), Data: data}
	p.Env.Settle(it)
	it.Account()
	return nil
}

// open finds the recording in the file.
func (p *ReadAudio) open(it *record.Record) (*sound.Window, error) {
	s, err := sound.Open(it.Values.Bytes[p.From.At])
	if err != nil {
		return nil, err
	}
	rate, channels := 0, 0
	if p.Args.Rate != nil {
		rate = *p.Args.Rate
	}
	if p.Args.Channels != nil {
		channels = *p.Args.Channels
	}
	return sound.NewWindow(s, rate, channels)
}

// place is where the window lies, and how long it is.
func (p *ReadAudio) place(w *sound.Window, it *record.Record, t *Tool) (from, n int64, err error) {
	all := w.Samples()
	if p.Args.Offset != nil {
		from = min(recipe.SamplesOf(*p.Args.Offset, w.Rate()), all)
	}
	if n = p.Args.Samples(w.Rate()); n < 0 {
		return from, all - from, nil
	}

	if spare := all - n; spare > 0 {
		switch p.Args.Start {
		case "center":
			from = spare / 2
		case "random":
			from = int64(t.chance.Intn(order.OpID(p.Name), 0, int(spare+1)))
			if p.Env.Ledger {
				it.Drew(p.Name, map[string]any{"start": from})
			}
		}
	}

	if have := all - from; have < n {
		switch p.Args.Short {
		case "keep":
			n = have
		case "error":
			return 0, 0, fmt.Errorf("headrace: %d samples are wanted, and there are %d: short says what becomes of such recordings", n, have)
		case "repeat":
			if have == 0 {
				return 0, 0, fmt.Errorf("headrace: there is nothing to repeat: the recording has %d samples, and the window begins at %d", all, from)
			}
		}
	}
	return from, n, nil
}

// fill writes n samples of each channel.
func (p *ReadAudio) fill(data []byte, w *sound.Window, from, n int64) error {
	channels := int64(w.Channels())
	floats := p.Args.DType == "float32" && p.Args.Layout != "CT"
	var all []float32
	if floats {
		all = floatsOf(data)
	} else {
		room := p.Env.Images.Take(int(n*channels) * 4)
		defer p.Env.Images.Give(room)
		all = floatsOf(*room)
	}

	have := min(n, w.Samples()-from)
	if err := w.Read(all[:have*channels], from); err != nil {
		return err
	}
	if p.Args.Short == "repeat" {
		for at := have * channels; at < n*channels; {
			at += int64(copy(all[at:], all[:have*channels]))
		}
	} else {
		clear(all[have*channels:])
	}

	if !floats {
		p.convert(data, all, int(n), int(channels))
	}
	return nil
}

// convert writes samples in the order and of the type that are wanted.
func (p *ReadAudio) convert(data []byte, all []float32, n, channels int) {
	at, step := 1, channels // in what comes out, from channel to channel, and from moment to moment
	if p.Args.Layout == "CT" {
		at, step = n, 1
	}
	for i := range n {
		for c := range channels {
			v, to := all[i*channels+c], i*step+c*at
			if p.Args.DType == "int16" {
				*(*int16)(unsafe.Pointer(&data[2*to])) = int16(min(max(math.RoundToEven(float64(v)*(1<<15)), math.MinInt16), math.MaxInt16))
			} else {
				*(*float32)(unsafe.Pointer(&data[4*to])) = v
			}
		}
	}
}

// shape is that of the samples.
func (p *ReadAudio) shape(w *sound.Window, n int64) tensor.Shape {
	switch p.Args.Layout {
	case "T":
		return tensor.Shape{int(n)}
	case "CT":
		return tensor.Shape{w.Channels(), int(n)}
	}
	return tensor.Shape{int(n), w.Channels()}
}

// width is how many bytes a sample of one channel takes.
func (p *ReadAudio) width() int {
	if p.Args.DType == "int16" {
		return 2
	}
	return 4
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Foresee implements part. What is not known of a damaged file costs nothing.
func (p *ReadAudio) Foresee(it *record.Record, _ *Tool) int64 {
	if t := p.Args.Type(); t.Shape.Fixed() {
		n, _ := t.Shape.Bytes(t.DType) // checked with the recipe
		return 2 * n
	}
	w, err := p.open(it)
	if err != nil {
		return 0
	}
	n := w.Samples()
	if most := p.Args.Samples(w.Rate()); most >= 0 {
		n = min(n, most)
	}
	return 2 * n * int64(w.Channels()) * 4
}
