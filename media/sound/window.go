package sound

import (
	"fmt"
	"slices"
	"sync"
)

// Window is a part of a recording, with other channels and at another rate.
type Window struct {
	stream   Stream
	mixer    mixer
	filter   *filter // nil: the rate stays
	rate     int
	samples  int64
	channels int
}

// NewWindow prepares for parts of a recording. A rate or channels of 0 leave these as
// they are.
func NewWindow(s Stream, rate, channels int) (*Window, error) {
	i := s.Info()
	if rate == 0 {
		rate = i.Rate
	}
	if !mixable(i.Channels, channels) {
		return nil, fmt.Errorf("sound: %d channels cannot be converted to %d: must be 1 or 2, or as many as there are",
			i.Channels, channels)
	}
	w := &Window{stream: s, mixer: newMixer(i.Channels, channels, i.Mask), rate: rate, samples: i.Samples}
	w.channels = w.mixer.to
	if rate != i.Rate {
		if err := resamples(i.Rate, rate); err != nil {
			return nil, err
		}
		w.filter = filterFor(i.Rate, rate)
		w.samples = resampled(i.Samples, i.Rate, rate)
	}
	return w, nil
}

// Samples is how many the whole recording has of each channel, at the window's rate.
func (w *Window) Samples() int64 { return w.samples }

// Left returns how many samples follow the first at, if the recording has so many of its
// own rate; [Endless] if it does.
func (w *Window) Left(total, at int64) int64 {
	if total == Endless {
		return Endless
	}
	if own := w.stream.Info().Rate; own != w.rate {
		total = resampled(total, own, w.rate)
	}
	return max(total-at, 0)
}

// Rate is how many samples of each channel come in a second.
func (w *Window) Rate() int { return w.rate }

// Channels is how many come out.
func (w *Window) Channels() int { return w.channels }

// Info describes the output as a recording.
func (w *Window) Info() Info {
	return Info{Rate: w.rate, Channels: w.channels, Samples: w.samples, Mask: w.stream.Info().Mask}
}

// Damaged reports whether the recording is, as far as it was read.
func (w *Window) Damaged() bool { return Damaged(w.stream) }

// Close closes the recording.
func (w *Window) Close() { w.stream.Close() }

// pieces is how many samples of each channel are made at once. Tests set it.
var pieces int64 = 1 << 14

// rooms are what reading and mixing need.
var rooms = sync.Pool{New: func() any { return new(room) }}

type room struct {
	read, mixed, one []float32
	end              int64 // of the recording, that mixed goes up to
}

// Read fills to with samples of all channels, from a place on. There have to be as many.
func (w *Window) Read(to []float32, from int64) error {
	n := int64(len(to) / w.channels)
	if from < 0 || from > w.samples-n {
		return fmt.Errorf("sound: samples %d to %d are asked for, of %d", from, from+n, w.samples)
	}
	if w.filter == nil && w.mixer.weights == nil {
		return w.stream.Read(to, from)
	}

	r := rooms.Get().(*room)
	defer rooms.Put(r)
	r.mixed = r.mixed[:0]
	for n > 0 {
		k := min(n, pieces)
		part := to[:int(k)*w.channels]
		var err error
		if w.filter == nil {
			err = w.mixed(r, part, from)
		} else {
			err = w.resampled(r, part, from, k)
		}
		if err != nil {
			return err
		}
		to, from, n = to[len(part):], from+k, n-k
	}
	return nil
}

// mixed reads samples at the recording's own rate.
func (w *Window) mixed(r *room, to []float32, from int64) error {
	if w.mixer.weights == nil {
		return w.stream.Read(to, from)
	}
	read := grown(&r.read, len(to)/w.channels*w.mixer.from)
	if err := w.stream.Read(read, from); err != nil {
		return err
	}
	w.mixer.mix(to, read)
	return nil
}

// resampled makes k samples of each channel, from a place on.
func (w *Window) resampled(r *room, to []float32, from, k int64) error {
	first, last := w.filter.needs(from, from+k)

	// A piece begins with what the one before has ended with.
	had := min(max(r.end-first, 0), int64(len(r.mixed)/w.channels))
	copy(r.mixed, r.mixed[len(r.mixed)-int(had)*w.channels:])
	length, kept := int(last-first), int(had)*w.channels
	all := slices.Grow(r.mixed[:kept], length*w.channels-kept)[:length*w.channels]
	r.mixed, r.end = all, last
	if err := w.padded(r, all[kept:], first+had); err != nil {
		return err
	}

	if w.channels == 1 {
		kernel(to, all, w.filter.sets, w.filter.places(from, first, 1))
		return nil
	}
	one := grown(&r.one, length)
	for c := range w.channels {
		for i := range one {
			one[i] = all[i*w.channels+c]
		}
		kernel(to[c:], one, w.filter.sets, w.filter.places(from, first, w.channels))
	}
	return nil
}

// padded reads samples as [Window.mixed] does. Before the recording, and after it, there
// is silence.
func (w *Window) padded(r *room, to []float32, from int64) error {
	samples, last := w.stream.Info().Samples, from+int64(len(to)/w.channels)
	begin := min(max(from, 0), last)
	end := max(min(last, samples), begin)
	inside := to[int(begin-from)*w.channels : int(end-from)*w.channels]
	clear(to[:int(begin-from)*w.channels])
	clear(to[int(end-from)*w.channels:])
	if len(inside) == 0 {
		return nil
	}
	return w.mixed(r, inside, begin)
}

// grown makes memory as long as it has to be.
func grown(memory *[]float32, n int) []float32 {
	*memory = slices.Grow((*memory)[:0], n)[:n]
	return *memory
}
