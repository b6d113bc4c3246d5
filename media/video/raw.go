package video

import (
	"fmt"
	"math"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
)

// Raw says how frames are stored in a file that has nothing else.
type Raw struct {
	Format        string // FFmpeg's name of the format of pixels: yuv420p
	Width, Height int
	Rate          av.Rational // frames a second
}

// raws is a library that decodes such frames.
type raws interface {
	// RawFrame returns the bytes of a frame, and the tag by which the decoder knows its
	// format.
	RawFrame(r *Raw) (bytes int64, tag string, err error)
}

// MostRawFrames bounds the frames of a file: each takes some memory, and those of a wrong
// size may be a byte.
const MostRawFrames = 1 << 22

// RawFrames are the frames of a file.
type RawFrames struct {
	Stream Stream
	Each   int64 // bytes of one
	Count  int
	Lasts  int64 // ticks of the stream from one to the next
	Short  error // why the file is not whole; nil: it is
}

// In returns the frames of a file of so many bytes.
func (r *Raw) In(size int64) (*RawFrames, error) {
	l, err := inUse()
	if err != nil {
		return nil, err
	}
	by, ok := l.(raws)
	if !ok {
		return nil, fmt.Errorf("%w: the library that decodes video has no raw frames", media.ErrUnsupported)
	}
	if r.Width < 1 || r.Height < 1 || r.Width > media.MaxPixels/r.Height {
		return nil, fmt.Errorf("%w: raw frames of %d×%d pixels", media.ErrUnsupported, r.Width, r.Height)
	}
	each, tag, err := by.RawFrame(r)
	if err != nil {
		return nil, err
	}

	all := &RawFrames{Each: each}
	switch n := size / each; {
	case n > MostRawFrames:
		return nil, fmt.Errorf("%w: %d bytes are %d %s, and at most %d are read: give the right video_size, or split the file",
			media.ErrUnsupported, size, n, r.called(each), MostRawFrames)
	case n == 0:
		return nil, fmt.Errorf("%w: %d bytes are less than one of the %s: another video_size or pixel_format, or cut off",
			media.ErrTruncated, size, r.called(each))
	default:
		all.Count = int(n)
	}
	if rest := size % each; rest != 0 {
		all.Short = fmt.Errorf("%w: %d bytes are %d %s, and %d bytes more: another video_size or pixel_format, or cut off",
			media.ErrTruncated, size, all.Count, r.called(each), rest)
	}
	// A tick is a part of a frame, so that a time finds the frame that is on screen then.
	all.Lasts = min(1000, math.MaxInt32/int64(r.Rate.Num))
	base := av.Rational{Num: r.Rate.Den, Den: r.Rate.Num * int32(all.Lasts)}
	all.Stream.Stream = av.Stream{
		Kind: av.Video, Codec: "rawvideo", Tag: tag, TimeBase: base, Default: true,
		Width: r.Width, Height: r.Height, Aspect: av.Rational{Num: 1, Den: 1}, Orientation: av.Upright,
	}
	return all, nil
}

func (r *Raw) called(each int64) string {
	return fmt.Sprintf("frames of %d×%d pixels as %s, of %d bytes each", r.Width, r.Height, r.Format, each)
}

// OpenRaw opens a file of raw frames, as [Open] does.
func OpenRaw(file File, r Raw, stream int) (*Video, error) {
	v, err := openRaw(file, &r, stream)
	if err == nil && v.Short != nil {
		v, err = nil, fmt.Errorf("%w: %s", v.Short, Remedy)
	}
	return v, about(err)
}

// OpenRawKept opens a file of raw frames, as [OpenKept] does.
func OpenRawKept(file File, r Raw, stream int) (*Video, error) {
	v, err := openRaw(file, &r, stream)
	return v, about(err)
}

func openRaw(file File, r *Raw, stream int) (*Video, error) {
	if file.Size() == 0 {
		return nil, fmt.Errorf("%w: the file is empty", media.ErrTruncated)
	}
	all, err := r.In(file.Size())
	if err != nil {
		return nil, err
	}
	t := Track{Stream: all.Stream, Packets: make([]av.Packet, all.Count)}
	for i := range t.Packets {
		at := int64(i) * all.Lasts
		t.Packets[i] = av.Packet{
			Offset: int64(i) * all.Each, Size: int32(all.Each), PTS: at, DTS: at, Duration: uint32(all.Lasts), Key: true,
		}
	}
	return found(file, &Container{Format: "rawvideo", Tracks: []Track{t}, Short: all.Short}, stream)
}
