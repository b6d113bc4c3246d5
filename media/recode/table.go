package recode

import (
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/sound"
	"github.com/headrace/headrace/media/sound/coded"
)

// openTable opens the sound of an MP4 file by the table that package coded has of it, so
// that what is read forwards is what [coded.Open] gives, to the first and last sample. It
// returns nil of other files, and of those that FFmpeg knows better.
func openTable(file *os.File, o *SamplesOptions) (*Samples, error) {
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	begin := joined.Begin(file, about.Size())
	from := io.NewSectionReader(file, begin, about.Size()-begin)
	var head [16]byte
	if n, _ := from.ReadAt(head[:], 0); !mp4.Probe(head[:n]) {
		return nil, nil
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	f, err := mp4.Open(from, from.Size())
	if errors.Is(err, mp4.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", media.ErrCorrupt, err)
	}

	streams := make([]packets.Stream, len(f.Streams))
	for i := range streams {
		streams[i].Stream = f.Streams[i]
	}
	chosen, err := choose(streams, o.Streams)
	if err != nil {
		return nil, err
	}
	if len(chosen) != 1 || streams[chosen[0]].Kind != av.Audio {
		return nil, nil // which is refused with the right words
	}

	zero, err := zeroOf(f)
	if errors.Is(err, mp4.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, at, err := coded.OpenTable(from, f, chosen[0], o.Choice)
	if errors.Is(err, mp4.ErrUnsupported) || errors.Is(err, media.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w, err := sound.NewWindow(r, o.Rate, o.Channels)
	if err != nil {
		r.Close()
		return nil, err
	}

	// Times of the window are counted from zero, samples from where the recording begins.
	later := new(big.Rat).Sub(zero, seconds(at, streams[chosen[0]].TimeBase))
	one := av.Rational{Num: 1, Den: int32(w.Rate())}
	place := func(t Second) int64 { return min(max(ticks(new(big.Rat).Add(t, later), one), 0), w.Samples()) }
	s := &Samples{window: w, end: w.Samples()}
	begins, _ := later.Float64()
	s.begins = -begins
	if o.Start != nil {
		s.first = place(o.Start)
	}
	if o.End != nil {
		s.end = max(place(o.End), s.first)
	}
	return s, nil
}

// zeroOf is when the first frame of the first video is displayed, or where the first
// recording begins, as [clock] finds it in other files.
func zeroOf(f *mp4.File) (Second, error) {
	for _, kind := range []av.Kind{av.Video, av.Audio} {
		for i := range f.Streams {
			if f.Streams[i].Kind != kind {
				continue
			}
			table, err := f.Table(i)
			if err != nil {
				return nil, err
			}
			if len(table.Frames) == 0 {
				continue
			}
			if kind == av.Audio {
				return seconds(coded.Begins(table), f.Streams[i].TimeBase), nil
			}
			return seconds(table.Origin, f.Streams[i].TimeBase), nil
		}
	}
	return new(big.Rat), nil
}
