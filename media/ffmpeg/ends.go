//go:build cgo

package ffmpeg

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
)

// openEnded reports whether a container does not say how long a packet is, so that a file
// may end inside its last picture and nothing tells.
func openEnded(format string, s *av.Stream) bool {
	if s.Kind != av.Video || s.Codec != "h264" && s.Codec != "hevc" {
		return false
	}
	return isBare(format) || format == "mpegts" || format == "mpeg"
}

// errInside is the error of a file that ends there.
var errInside = fmt.Errorf("%w: the file ends inside its last frame", media.ErrTruncated)

// endsInside reports whether the last packet of a stream is cut off. Its decoder conceals
// that: it reads on in what is behind the packet. So it is given something to read there:
// a picture that is whole does not depend on it. What comes before the picture is left
// out but for a key picture; it is another one then, and read from the same bits.
func endsInside(s Stream, key, last []byte) bool {
	one, ok := shown(s, key, last)
	if !ok {
		return false
	}
	for _, filler := range []byte{0xAA, 0x55, 0xFF} {
		behind := bytes.Repeat([]byte{filler}, 64)
		if two, _ := shown(s, key, append(bytes.Clone(last), behind...)); two != one {
			again, _ := shown(s, key, last) // else the decoder is not to be relied on
			return again == one
		}
	}
	return false
}

var seed = maphash.MakeSeed()

// shown is what a packet after another shows; false: nothing.
func shown(s Stream, key, last []byte) (sum uint64, ok bool) {
	d, err := NewDecoder(s)
	if err != nil {
		return 0, false
	}
	defer d.Close()
	packets := [][]byte{key, last}
	if len(key) == 0 {
		packets = packets[1:]
	}
	var f Frame
	for given := 0; ; {
		switch err := d.Next(&f); {
		case errors.Is(err, ErrNeeds) && given < len(packets):
			err = d.Feed(packets[given], []Packet{{Size: len(packets[given]), Key: given == 0}}, given == len(packets)-1)
			if given++; err != nil {
				return 0, false
			}
		case err == nil:
			if f.Packet == len(packets)-1 {
				sum, ok = sumOf(&f), true
			}
		case errors.As(err, new(*PacketError)):
		default:
			return sum, ok
		}
	}
}

func sumOf(f *Frame) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	p := &f.Image.Picture
	for i := range p.Parts {
		part := &p.Parts[i]
		width, height := p.PartSize(i)
		for y := 0; y < height && part.Data != nil; y++ {
			h.Write(part.Data[part.First+y*part.Stride:][:(width-1)*part.Step+1])
		}
	}
	return h.Sum64()
}

// end is the last packets of a stream that were read.
type end struct {
	key, last []byte // key: nil if the last is
	lastIsKey bool
}

// whole finds out whether the file is, which begins at a place of another.
func (f *File) whole(from io.ReaderAt, base int64, cut bool) error {
	err := f.check(from, base, cut)
	if err == nil && f.Short == nil && f.endsInside(from) {
		f.Short = errInside
	}
	return err
}

func decodingOf(s *packets.Stream) Stream {
	t := Track{Stream: s.Stream, Reorder: s.Reorder, Siting: s.Siting, Bits: s.Bits}
	return t.Decoding()
}

// endsInside reports that of any stream of a file.
func (f *File) endsInside(from io.ReaderAt) bool {
	for i := range f.Tracks {
		t := &f.Tracks[i]
		n := len(t.Packets)
		if n == 0 || !openEnded(f.Format, &t.Stream) {
			continue
		}
		last, key := f.read(from, &t.Packets[n-1]), []byte(nil)
		for k := n - 2; k >= 0 && key == nil && !t.Packets[n-1].Key; k-- {
			if t.Packets[k].Key {
				key = f.read(from, &t.Packets[k])
			}
		}
		if endsInside(t.Decoding(), key, last) {
			return true
		}
	}
	return false
}

func (f *File) read(from io.ReaderAt, p *av.Packet) []byte {
	if p.Offset >= f.size {
		return f.Bytes(nil, p)
	}
	b := make([]byte, p.Size)
	n, _ := from.ReadAt(b, p.Offset)
	return b[:n]
}
