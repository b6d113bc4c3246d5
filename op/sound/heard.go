package sound

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/media/sound"
)

// Heard is what is heard in a file from one second to another, on the clock of its video:
// 0 is the first frame, or, of a file without video, the first sample. Sample n is heard
// n samples after the beginning, to half a sample. Where there is no sound, there is
// silence. It must be closed.
type Heard struct {
	rate  int
	n     int64 // samples of each channel
	sound sound.Aligned
}

// mostSeconds is a time that no file reaches.
const mostSeconds = 1e9

// OpenHeard finds the sound of a file, which has to stay open. The arguments must be
// complete and checked.
func OpenHeard(file sound.File, begin, end float64, args *DecodeAudio) (*Heard, error) {
	if !(begin > -mostSeconds && end < mostSeconds && begin <= end) { // NaN, too
		return nil, fmt.Errorf("headrace: the window begins at %v s and ends at %v s", begin, end)
	}
	h := new(Heard)
	if err := h.open(file, begin, end, args); err != nil {
		return nil, err
	}
	if args.Duration != nil {
		h.n = args.Samples(h.rate)
	} else {
		h.n = int64(math.Round((end - begin) * float64(h.rate)))
	}
	if h.n > math.MaxInt32/int64(h.Channels()) {
		h.Close()
		return nil, fmt.Errorf("headrace: the window has %d samples of %d channels: use a shorter one", h.n, h.Channels())
	}
	return h, nil
}

func (h *Heard) open(file sound.File, begin, end float64, args *DecodeAudio) error {
	if args.Duration != nil {
		end = begin + *args.Duration
	}
	from, rate, err := alignedAt(file, begin, end, args)
	if err != nil {
		return err
	}
	h.rate, h.sound = rate, from
	if args.Filter == "" || from.Sound == nil { // what is silent stays so
		return nil
	}
	count := int64(math.Round((end - begin) * float64(rate)))
	f, err := sound.FilterPlayed(args.Filter, from, begin, count, argument.OrElse(args.Rate, 0), argument.OrElse(args.Channels, 0))
	if err != nil {
		return err
	}
	h.rate, h.sound = f.Rate(), sound.Aligned{Sound: f, Channels: f.Channels()}
	return nil
}

// alignedAt returns the sound from a second to another, and its rate.
func alignedAt(file sound.File, begin, end float64, args *DecodeAudio) (from sound.Aligned, rate int, err error) {
	parts, err := sound.InParts(file, args.Choice())
	if err != nil {
		return from, 0, err
	}
	if parts { // no format with video is
		w, err := openAudio(func(o sound.Options) (sound.Stream, error) { return sound.OpenAt(file, o) }, args)
		if err != nil {
			return from, 0, err
		}
		at := int64(math.Round(begin * float64(w.Rate())))
		return sound.Aligned{Sound: sound.PlayWindow(w, max(at, 0)), Channels: w.Channels(), Ahead: min(at, 0)}, w.Rate(), nil
	}

	o := sound.PlayOptions{
		Track: argument.OrElse(args.Stream, -1), Begin: begin - sound.Margin, End: end + sound.Margin,
		Rate: argument.OrElse(args.Rate, 0), Channels: argument.OrElse(args.Channels, 0), Keep: args.Damaged == "keep",
		Choice: args.Choice(),
	}
	if args.Filter != "" { // which rate and channels follow
		o.Rate, o.Channels = 0, 0
	}
	s, err := sound.Play(file, o)
	// A video without sound is not an error: its clip is silent. Silence has no rate of
	// its own, so the arguments have to give one.
	if silent := (*sound.SilentError)(nil); errors.As(err, &silent) && args.Rate != nil {
		return sound.Aligned{Channels: max(argument.OrElse(args.Channels, 0), 1)}, *args.Rate, nil
	}
	if err != nil {
		return from, 0, err
	}
	return sound.AlignedAt(s, begin), s.Rate(), nil
}

// Rate returns the samples of each channel in a second.
func (h *Heard) Rate() int { return h.rate }

// Channels returns the number of channels.
func (h *Heard) Channels() int { return h.sound.Channels }

// Damaged reports whether the file is not as it should be, as far as it was read.
func (h *Heard) Damaged() bool {
	p, ok := h.sound.Sound.(sound.Patched)
	return ok && p.Damaged()
}

// Samples returns the number of samples of each channel.
func (h *Heard) Samples() int64 { return h.n }

// Read decodes the window to all, which has room for it.
func (h *Heard) Read(ctx context.Context, all []float32) error {
	return h.sound.Fill(ctx, all[:h.n*int64(h.Channels())])
}

// Close closes the decoder. The file is the caller's.
func (h *Heard) Close() { h.sound.Close() }
