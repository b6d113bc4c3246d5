package sound

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/tensor"
)

// AudioWindow is a window of a recording that is open, and must be closed.
type AudioWindow struct {
	*sound.Window
	args    *DecodeAudio
	from, n int64 // where it begins, and how many samples of each channel it has
}

// OpenAudio opens a recording, of which a track is opened by open. The arguments must be
// complete and checked. Random draws where a random window begins: a number from 0 to
// below n.
func OpenAudio(open func(sound.Options) (sound.Stream, error), args *DecodeAudio, random func(n int) int) (*AudioWindow, error) {
	w, err := openAudio(open, args)
	if err != nil {
		return nil, err
	}
	a := &AudioWindow{Window: w, args: args}
	if err := a.place(random); err != nil {
		w.Close()
		return nil, err
	}
	if a.n > math.MaxInt32/int64(w.Channels()) {
		w.Close()
		return nil, fmt.Errorf("headrace: the recording has %d samples of %d channels: set duration to read less of it", a.n, w.Channels())
	}
	return a, nil
}

func openAudio(open func(sound.Options) (sound.Stream, error), args *DecodeAudio) (*sound.Window, error) {
	s, err := open(sound.Options{Track: argument.OrElse(args.Stream, -1), Keep: args.Damaged == "keep", Raw: args.Raw()})
	if err != nil {
		return nil, err
	}
	w, err := sound.NewWindow(s, argument.OrElse(args.Rate, 0), argument.OrElse(args.Channels, 0))
	if err != nil {
		s.Close()
	}
	return w, err
}

// place finds the start and the length of the window.
func (a *AudioWindow) place(random func(n int) int) error {
	all := a.Samples()
	if a.args.Offset != nil {
		a.from = min(SamplesOf(*a.args.Offset, a.Rate()), all)
	}
	if a.n = a.args.Samples(a.Rate()); a.n < 0 {
		a.n = all - a.from
		return nil
	}

	// Only a longer recording leaves a choice of the start; short is about the others.
	if spare := all - a.n; spare > 0 {
		switch a.args.Start {
		case "center":
			a.from = spare / 2
		case "random":
			a.from = int64(random(int(spare + 1)))
		}
	}

	if have := all - a.from; have < a.n {
		switch a.args.Short {
		case "keep":
			a.n = have
		case "error":
			return fmt.Errorf("headrace: %d samples are wanted, and there are %d: set short for such recordings", a.n, have)
		case "repeat":
			if have == 0 {
				return fmt.Errorf("headrace: there is nothing to repeat: the recording has %d samples, "+
					"and the window begins at %d", all, a.from)
			}
		}
	}
	return nil
}

// Shape returns the shape of the samples' array.
func (a *AudioWindow) Shape() tensor.Shape { return a.arrangement().Shape() }

// Width returns the bytes of a sample of one channel.
func (a *AudioWindow) Width() int { return a.arrangement().Width() }

// Bytes returns the bytes of all samples.
func (a *AudioWindow) Bytes() int { return a.arrangement().Bytes() }

func (a *AudioWindow) arrangement() Arrangement {
	return arrangementOf(a.args, int(a.n), a.Channels())
}

// Fill writes the samples to data, which has room for them. Other memory comes from
// rooms.
func (a *AudioWindow) Fill(data []byte, rooms *scratch.Pool) error {
	return a.arrangement().fill(data, rooms, func(all []float32) error {
		n, channels := a.n, int64(a.Channels())
		have := min(n, a.Samples()-a.from)
		if err := a.Read(all[:have*channels], a.from); err != nil {
			return err
		}
		if a.args.Short != "repeat" {
			clear(all[have*channels:])
			return nil
		}
		for at := have * channels; at < n*channels; {
			at += int64(copy(all[at:], all[:have*channels]))
		}
		return nil
	})
}
