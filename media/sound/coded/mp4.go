package coded

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/mp4"
	"github.com/headrace/headrace/media/av/whole"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound"
)

// ofMP4 is a track of an MP4 file of this size.
func ofMP4(file io.ReaderAt, size int64, o sound.Options) (*Track, error) {
	f, err := mp4.Open(file, size)
	if err != nil {
		return nil, err
	}
	n, err := choose(o.Track, len(f.Streams), func(i int) *av.Stream { return &f.Streams[i] })
	if err != nil {
		return nil, err
	}
	table, err := f.Table(n)
	if err != nil {
		return nil, err
	}

	packets := table.Packets
	var short error
	if len(packets) > 0 {
		if err := table.CheckWithin(0, len(packets)-1, size); err != nil {
			short = fmt.Errorf("%w: %w", media.ErrTruncated, err)
			packets = there(packets, size, pcmBytes[f.Streams[n].Codec]*f.Streams[n].Channels)
		}
	}
	if err := checkFragments(f, file, size); errors.Is(err, media.ErrTruncated) {
		short = err
	} else if err != nil {
		return nil, err
	}
	if short != nil && !o.Keep {
		return nil, fmt.Errorf("%w: %s", short, sound.Remedy)
	}
	t := ofTable(&f.Streams[n])
	t.keep, t.short = o.Keep, short != nil
	return t, t.edited(packets)
}

// there are the packets that a file of this size has, up to the first that is cut off. Of
// PCM, whose samples have so many bytes, those that are there of this one stay.
func there(packets []av.Packet, size int64, frame int) []av.Packet {
	n := slices.IndexFunc(packets, func(p av.Packet) bool { return p.End() > size })
	if n < 0 {
		return packets
	}
	if has := size - packets[n].Offset; frame > 0 && has >= int64(frame) {
		packets = slices.Clone(packets[:n+1])
		packets[n].Size = int32(has - has%int64(frame))
		return packets
	}
	return packets[:n]
}

// OpenTable opens a track of an MP4 file that is read where it is decoded. Begins is when
// the recording does, in ticks of the stream. The error is [mp4.ErrUnsupported] where
// FFmpeg may know what to do. The recording must be closed.
func OpenTable(file sound.File, f *mp4.File, stream int, c av.Choice) (r *Recording, begins int64, err error) {
	table, err := f.Table(stream)
	if err != nil {
		return nil, 0, err
	}
	if err := checkFragments(f, file, file.Size()); err != nil {
		return nil, 0, said(err)
	}
	t := ofTable(&f.Streams[stream])
	t.content, t.Decoder.Choice = sound.OnDisk(file, together<<10), c
	if err := t.edited(table.Packets); err != nil {
		return nil, 0, err
	}
	if _, _, known := t.counts(); !known && t.Decoder.Codec != "aac" { // all of it would have to be in memory
		return nil, 0, fmt.Errorf("%w: packets of %s, which do not say how many samples they give", mp4.ErrUnsupported, t.Decoder.Codec)
	}
	if r, err = t.open(); err != nil {
		return nil, 0, said(err)
	}
	return r, Begins(table), nil
}

// checkFragments returns an error if a file in fragments is cut off: its index does
// not say how many there should be.
func checkFragments(f *mp4.File, from io.ReaderAt, size int64) error {
	if !f.Fragmented() {
		return nil
	}
	_, err := whole.Check("mp4", from, size)
	return err
}

// Begins is when the recording of a track of MP4 begins, in its ticks: not before 0,
// where the first edit does.
func Begins(table *av.Table) int64 {
	for i := range table.Packets {
		if p := &table.Packets[i]; !p.Discard {
			return max(p.PTS, 0)
		}
	}
	return 0
}

func ofTable(s *av.Stream) *Track {
	t := &Track{
		Decoder: ffmpeg.Stream{Codec: s.Codec, Audio: true, Config: s.Config, Rate: s.Rate, Channels: s.Channels},
		unit:    s.TimeBase, cutLast: true,
	}
	if s.Codec == "opus" { // whatever the entry says
		t.Decoder.Rate = opusRate
	}
	return t
}

// edited takes packets of which some at the beginning and at the end are not part of the
// recording, or only in part.
func (t *Track) edited(packets []av.Packet) error {
	first, last := -1, -1
	for i := range packets {
		if packets[i].Discard {
			continue
		}
		if first < 0 {
			first = i
		}
		if i != last+1 && last >= 0 || i > 0 && packets[i].DTS < packets[i-1].DTS {
			return fmt.Errorf("%w: an edit list that shows several parts of a track", media.ErrUnsupported)
		}
		last = i
	}

	t.Packets = make([]Packet, last+1)
	for i := range t.Packets {
		p := &packets[i]
		t.Packets[i] = Packet{offset: p.Offset, size: p.Size, duration: p.Duration}
	}
	if first < 0 {
		return nil
	}
	for i := range first {
		t.before += int64(packets[i].Duration)
	}
	t.before += max(0, -packets[first].PTS)
	t.before = av.Rescale(t.before, t.unit, av.Rational{Num: 1, Den: int32(max(1, t.Decoder.Rate))}, av.Nearest)
	return nil
}
