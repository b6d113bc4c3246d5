package recode

import (
	"io"
	"os"
	"strconv"
	"strings"

	"headrace/media/av"
	"headrace/media/sound"
)

// openParts opens a recording whose samples are found without FFmpeg, as package sound
// does for windows: so both have the same. It returns nil of other files.
func openParts(file *os.File, o *SamplesOptions) (*Samples, error) {
	track, ok := o.track()
	if err := o.Check(); err != nil || !ok {
		return nil, err
	}
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := io.NewSectionReader(file, 0, about.Size())
	if parts, err := sound.InParts(from); err != nil || !parts {
		return nil, err
	}

	stream, err := sound.OpenAt(from, track)
	if err != nil {
		return nil, err
	}
	return within(stream, o)
}

// track is the one that is asked for, if it is one of sound.
func (o *SamplesOptions) track() (track int, ok bool) {
	if len(o.Streams) != 1 || o.Streams[0] == "audio" {
		return -1, len(o.Streams) == 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(o.Streams[0], "a:"))
	return n, err == nil && strings.HasPrefix(o.Streams[0], "a:")
}

// within is the window of a recording.
func within(stream sound.Stream, o *SamplesOptions) (*Samples, error) {
	w, err := sound.NewWindow(stream, o.Rate, o.Channels)
	if err != nil {
		stream.Close()
		return nil, err
	}
	s := &Samples{window: w, end: w.Samples()}
	unit := av.Rational{Num: 1, Den: int32(w.Rate())}
	if o.Start != nil {
		s.first = min(max(ticks(o.Start, unit), 0), s.end)
	}
	if o.End != nil {
		s.end = min(max(ticks(o.End, unit), s.first), s.end)
	}
	return s, nil
}
