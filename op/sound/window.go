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
	a, err := openWindow(open, args, random)
	if err == nil && args.Filter != "" {
		a, err = a.filtered()
	}
	if err != nil {
		return nil, err
	}
	if a.n > math.MaxInt32/int64(a.Channels()) {
		a.Close()
		return nil, fmt.Errorf("headrace: the recording has %d samples of %d channels: set duration to read less of it", a.n, a.Channels())
	}
	return a, nil
}

// openWindow opens a window: as it is stored, if a filter follows.
func openWindow(open func(sound.Options) (sound.Stream, error), args *DecodeAudio, random func(n int) int) (*AudioWindow, error) {
	w, err := openAudio(open, args)
	if err != nil {
		return nil, err
	}
	a := &AudioWindow{Window: w, args: args}
	short := args.Short
	if args.Filter != "" { // whose result it is about
		short = "keep"
	}
	if err := a.place(random, short); err != nil {
		w.Close()
		return nil, err
	}
	return a, nil
}

func openAudio(open func(sound.Options) (sound.Stream, error), args *DecodeAudio) (*sound.Window, error) {
	s, err := open(sound.Options{
		Track: argument.OrElse(args.Stream, -1), Keep: args.Damaged == "keep", Raw: args.Raw(), Choice: args.Choice(),
	})
	if err != nil {
		return nil, err
	}
	rate, channels := argument.OrElse(args.Rate, 0), argument.OrElse(args.Channels, 0)
	if args.Filter != "" {
		rate, channels = 0, 0
	}
	w, err := sound.NewWindow(s, rate, channels)
	if err != nil {
		s.Close()
	}
	return w, err
}

// place finds the start and the length of the window. Short is for shorter
// recordings.
func (a *AudioWindow) place(random func(n int) int, short string) error {
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

	return a.fit(short, all-a.from)
}

// fit has a window of which so many samples are there be what is asked for.
func (a *AudioWindow) fit(short string, have int64) error {
	if have < a.n {
		switch short {
		case "keep":
			a.n = have
		case "error":
			return fmt.Errorf("headrace: %d samples are wanted, and there are %d: set short for such recordings", a.n, have)
		case "repeat":
			if have == 0 {
				return fmt.Errorf("headrace: there is nothing to repeat: the recording has %d samples, "+
					"and the window begins at %d", a.Samples(), a.from)
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
