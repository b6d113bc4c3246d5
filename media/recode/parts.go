package recode

import (
	"math/big"
	"os"
	"strconv"
	"strings"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/sound"
)

// openParts opens a recording whose samples are found without FFmpeg, as package sound
// does for windows: so both have the same. It returns nil of other files.
func openParts(file *os.File, o *SamplesOptions) (*Samples, error) {
	track, ok := o.track()
	if err := o.Check(); err != nil || !ok {
		return nil, err
	}
	from, err := sizeOf(file)
	if err != nil {
		return nil, err
	}
	if o.Raw == (sound.Raw{}) {
		if parts, err := sound.InParts(from, o.Choice); err != nil || !parts {
			return nil, err
		}
	}

	stream, err := sound.OpenAt(from, sound.Options{Track: track, Keep: o.Keep, Raw: o.Raw})
	if err != nil {
		return nil, err
	}
	return within(stream, new(big.Rat), o)
}

// track is the one that is asked for, if it is one of sound.
func (o *SamplesOptions) track() (track int, ok bool) {
	if len(o.Streams) != 1 || o.Streams[0] == "audio" {
		return -1, len(o.Streams) == 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(o.Streams[0], "a:"))
	return n, err == nil && strings.HasPrefix(o.Streams[0], "a:")
}

// within is the window of a recording that begins at a second of its file.
func within(stream sound.Stream, begins Second, o *SamplesOptions) (*Samples, error) {
	w, err := sound.NewWindow(stream, o.Rate, o.Channels)
	if err != nil {
		stream.Close()
		return nil, err
	}
	s := &Samples{window: w, end: w.Samples()}
	s.begins, _ = begins.Float64()
	unit := av.Rational{Num: 1, Den: int32(w.Rate())}
	at := func(t Second) int64 { return max(ticks(new(big.Rat).Sub(t, begins), unit), 0) }
	if o.Start != nil {
		s.first = min(at(o.Start), s.end)
	}
	if o.End != nil {
		s.end = min(max(at(o.End), s.first), s.end)
	}
	return s, nil
}
