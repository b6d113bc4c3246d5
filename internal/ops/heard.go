package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"headrace/media/sound"
	"headrace/recipe"
)

// Heard is what is heard in a file from one second to another, on the clock of its video:
// 0 is the first frame, or, of a file without video, the first sample. Sample n is heard
// n samples after the beginning, to half a sample. Where there is no sound, there is
// silence. It must be closed.
type Heard struct {
	rate, channels int
	n, ahead       int64         // samples of each channel; those from the first that is read to the first of n
	stream         sound.Played  // read forwards, from some time before the window on; nil: there is silence, or whole
	whole          *sound.Window // read anywhere; nil: stream is
}

// margin is how much more sound is decoded on both sides, in seconds, so that a resampler
// hears what comes before and after.
const margin = 0.25

// mostSeconds is a time that no file reaches.
const mostSeconds = 1e9

// OpenHeard finds the sound of a file, which has to stay open. The arguments must be
// complete and checked.
func OpenHeard(file sound.File, begin, end float64, args *recipe.DecodeAudio) (*Heard, error) {
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
	if h.n > math.MaxInt32/int64(h.channels) {
		h.Close()
		return nil, fmt.Errorf("headrace: the window has %d samples of %d channels: take a shorter one", h.n, h.channels)
	}
	return h, nil
}

func (h *Heard) open(file sound.File, begin, end float64, args *recipe.DecodeAudio) error {
	head := make([]byte, sound.LeastHead)
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if sound.InParts(head[:n]) { // no format with video is
		h.whole, err = openAudio(func(track int) (sound.Stream, error) { return sound.OpenAt(file, track) }, args)
		if err != nil {
			return err
		}
		h.rate, h.channels = h.whole.Rate(), h.whole.Channels()
		h.ahead = int64(math.Round(begin * float64(h.rate)))
		return nil
	}

	if args.Duration != nil {
		end = begin + *args.Duration
	}
	o := sound.PlayOptions{
		Track: orElse(args.Stream, -1), Begin: begin - margin, End: end + margin,
		Rate: orElse(args.Rate, 0), Channels: orElse(args.Channels, 0),
	}
	h.stream, err = sound.Play(file, o)
	if silent := (*sound.SilentError)(nil); errors.As(err, &silent) && o.Rate > 0 {
		h.rate, h.channels = o.Rate, max(o.Channels, 1)
		return nil
	}
	if err != nil {
		return err
	}
	h.rate, h.channels = h.stream.Rate(), h.stream.Channels()
	h.ahead = int64(math.Round((begin - h.stream.Second()) * float64(h.rate)))
	return nil
}

func orElse[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// Rate is how many samples of each channel come in a second.
func (h *Heard) Rate() int { return h.rate }

// Channels is how many come.
func (h *Heard) Channels() int { return h.channels }

// Samples is how many of each channel the window has.
func (h *Heard) Samples() int64 { return h.n }

// Read decodes the window to all, which has room for it.
func (h *Heard) Read(ctx context.Context, all []float32) error {
	channels := int64(h.channels)
	all = all[:h.n*channels]
	silent := min(max(-h.ahead, 0), h.n)
	clear(all[:silent*channels])
	rest := all[silent*channels:]

	switch {
	case h.whole != nil:
		from := max(h.ahead, 0)
		n := min(max(h.whole.Samples()-from, 0), h.n-silent)
		clear(rest[n*channels:])
		if n == 0 {
			return nil
		}
		return h.whole.Read(rest[:n*channels], from)
	case h.stream == nil:
		clear(rest)
		return nil
	}
	for passed := make([]float32, min(max(h.ahead, 0), 1<<14)*channels); h.ahead > 0; {
		n, err := h.stream.Next(ctx, passed[:min(h.ahead*channels, int64(len(passed)))])
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		h.ahead -= int64(n)
	}
	for len(rest) > 0 {
		n, err := h.stream.Next(ctx, rest[:min(int64(len(rest)), channels<<16)])
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		rest = rest[int64(n)*channels:]
	}
	clear(rest)
	return nil
}

// Close gives back what the decoder holds. The file is the caller's.
func (h *Heard) Close() {
	if h.stream != nil {
		h.stream.Close()
	}
	if h.whole != nil {
		h.whole.Close()
	}
}
