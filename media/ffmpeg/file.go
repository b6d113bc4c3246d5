package ffmpeg

import (
	"errors"
	"fmt"
	"io"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/walk"
	"github.com/headrace/headrace/media/av/whole"
)

// File is what a container has.
type File struct {
	Format string // FFmpeg's names of it, as in "matroska,webm"
	Tracks []Track
	End    whole.End
	Short  error // why the file is not whole: it is [media.ErrTruncated]; nil: it is

	size  int64
	extra []byte
}

// Track is a stream of a file, with its packets in the order of decoding.
type Track struct {
	av.Stream
	Packets []av.Packet // offsets are for File.Bytes
	Damage  error       // why packets may be missing in the middle: it is [media.ErrCorrupt]; nil: none are
	cut     bool        // the last of them is not whole
	marked  []int       // packets that are damaged, or before those that are missing, by the container
	between []bool      // packets that are shown before the last that is not
	guessed bool        // nothing but the container says which are key

	Cover     bool        // a still beside the sound, such as the cover of an album: no video
	Reorder   int         // frames that come later than their packets, at most
	FrameRate av.Rational // frames a second on average, of video; 0/0 if the container does not say it
	Siting    int         // of chroma, by FFmpeg's numbers

	// Of audio.
	Block, Bits int    // bytes of a block, bits of a sample
	BitRate     int    // bits of a second, as the container says
	Padding     int    // samples that the encoder has put before the first
	Trims       []Trim // samples that are decoded and not part of the recording
}

// Trim says how many samples at the beginning and at the end of a packet are not part of
// the recording.
type Trim struct{ Packet, Begin, End int }

// check finds out whether the file is whole, which begins at a place of another.
func (f *File) check(from io.ReaderAt, base int64, cut bool) error {
	end, err := whole.Check(f.Format, from, f.size)
	if err != nil && !errors.Is(err, media.ErrTruncated) {
		return err
	}
	f.End, f.Short = end, err
	for i := range f.Tracks {
		cut = cut || f.Tracks[i].cut
	}
	if cut && f.Short == nil {
		f.Short = fmt.Errorf("%w: the file ends after %d bytes, before its packets do", media.ErrTruncated, f.size)
	}
	return f.walk(from, base)
}

// walk looks for damage that FFmpeg has skipped.
func (f *File) walk(from io.ReaderAt, base int64) error {
	all, err := walk.Damages(f.Format, from, f.size, base)
	for _, d := range all {
		for i := range f.Tracks {
			if t := &f.Tracks[i]; t.Damage == nil && (d.Stream < 0 || d.Stream == t.ID) {
				t.Damage = d
			}
		}
	}
	return err
}

// Bytes returns a packet's bytes, given those of the file. Containers that have packets
// in pieces were put together when the file was read.
func (f *File) Bytes(data []byte, p *av.Packet) []byte {
	if p.Offset >= f.size {
		return f.extra[p.Offset-f.size : p.End()-f.size]
	}
	return data[p.Offset:p.End()]
}

// Extra returns the bytes of packets that the file has in pieces. Offsets from the file's
// size on are of them.
func (f *File) Extra() []byte { return f.extra }

// Decoding returns what NewDecoder needs to decode a track.
func (t *Track) Decoding() Stream {
	s := Stream{
		Codec: t.Codec, Config: t.Config, Width: t.Width, Height: t.Height, Reorder: t.Reorder, Siting: t.Siting,
		Matrix: int(t.Color.Matrix), Primaries: int(t.Color.Primaries), Transfer: int(t.Color.Transfer),
		FullRange: t.Color.Range == av.Full,
		Audio:     t.Kind == av.Audio, Block: t.Block, Bits: t.Bits, BitRate: t.BitRate,
	}
	if s.Audio {
		s.Rate, s.Channels = t.Rate, t.Channels
	}
	for i := range t.Tag {
		s.Tag |= uint32(t.Tag[i]) << (8 * i)
	}
	return s
}
