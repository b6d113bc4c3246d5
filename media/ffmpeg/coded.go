//go:build cgo

package ffmpeg

// #include "load.h"
import "C"

import (
	"bytes"
	"io"
	"math"
	"unsafe"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
)

// matrices of the eight orientations, as MP4 has them.
var matrices = [...][4]int32{
	av.Upright: {1, 0, 0, 1}, av.MirrorHorizontal: {-1, 0, 0, 1}, av.Rotate180: {-1, 0, 0, -1}, av.MirrorVertical: {1, 0, 0, -1},
	av.Transpose: {0, 1, 1, 0}, av.Rotate90: {0, 1, -1, 0}, av.Transverse: {0, -1, -1, 0}, av.Rotate270: {0, -1, 1, 0},
}

// trackOf is a stream as C has it, without its configuration, which goes beside it.
func trackOf(s *packets.Stream) C.hr_av_track {
	t := Track{Stream: s.Stream, Reorder: s.Reorder, Siting: s.Siting, Block: s.Block, Bits: s.Bits, BitRate: s.BitRate}
	d := t.Decoding()
	c := C.hr_av_track{about: d.c(), id: C.int32_t(s.ID), padding: C.int32_t(s.Padding), start: C.HR_AV_NO_TIME, duration: C.HR_AV_NO_TIME}
	switch s.Kind {
	case av.Video:
		c._type = C.HR_AV_TRACK_VIDEO
	case av.Audio:
		c._type = C.HR_AV_TRACK_AUDIO
	}
	if s.Default {
		c.flags |= C.HR_AV_TRACK_DEFAULT
	}
	if s.Orientation > av.Upright {
		c.flags |= C.HR_AV_TRACK_TURNED
		m := matrices[s.Orientation]
		for i, at := range []int{0, 1, 3, 4} {
			c.matrix[at] = C.int32_t(m[i] << 16)
		}
		c.matrix[8] = 1 << 30
	}
	setText(c.codec[:], s.Codec)
	setText(c.language[:], s.Language)
	c.unit = rational(s.TimeBase)
	c.aspect = rational(s.Aspect)
	c.rate = rational(s.FrameRate)
	return c
}

func rational(r av.Rational) [2]C.int32_t { return [2]C.int32_t{C.int32_t(r.Num), C.int32_t(r.Den)} }

func setText(to []C.char, text string) {
	for i := range min(len(text), len(to)-1) {
		to[i] = C.char(text[i])
	}
}

// toldStream is a stream that C tells of.
func toldStream(i int, c *C.hr_av_track) packets.Stream {
	var t Track
	t.tell(i, c)
	return packets.Stream{
		Stream: t.Stream, FrameRate: t.FrameRate, Reorder: t.Reorder, Siting: t.Siting, Block: t.Block, Bits: t.Bits, BitRate: t.BitRate,
		Padding: t.Padding, Cover: t.Cover, Start: int64(c.start),
	}
}

func (t *Track) tell(i int, c *C.hr_av_track) {
	t.Stream = av.Stream{
		Index: i, ID: int(c.id), Codec: C.GoString(&c.codec[0]), Language: C.GoString(&c.language[0]),
		Config:   C.GoBytes(unsafe.Pointer(c.config), C.int(c.config_size)),
		TimeBase: av.Rational{Num: int32(c.unit[0]), Den: int32(c.unit[1])},
		Default:  c.flags&C.HR_AV_TRACK_DEFAULT != 0,
	}
	a := &c.about
	if a.tag != 0 {
		t.Tag = string([]byte{byte(a.tag), byte(a.tag >> 8), byte(a.tag >> 16), byte(a.tag >> 24)})
	}
	t.Cover = c.flags&C.HR_AV_TRACK_COVER != 0
	t.guessed = c.flags&C.HR_AV_TRACK_GUESSED != 0
	t.Block, t.Bits, t.BitRate = int(a.block), int(a.bits), int(max(a.bit_rate, 0))
	switch c._type {
	case C.HR_AV_TRACK_VIDEO:
		t.Kind = av.Video
		t.Width, t.Height, t.Reorder, t.Siting = int(a.width), int(a.height), int(a.reorder), int(a.siting)
		t.Aspect = av.Rational{Num: 1, Den: 1}
		if r := (av.Rational{Num: int32(c.aspect[0]), Den: int32(c.aspect[1])}); r.Positive() {
			t.Aspect = r
		}
		t.FrameRate = av.Rational{Num: int32(c.rate[0]), Den: int32(c.rate[1])}
		t.Orientation = av.Upright
		if c.flags&C.HR_AV_TRACK_TURNED != 0 {
			t.Orientation = av.OrientationOf(int64(c.matrix[0]), int64(c.matrix[1]), int64(c.matrix[3]), int64(c.matrix[4]))
		}
		known := func(v C.int32_t) uint8 { // FFmpeg says 2, unspecified
			if v == 2 {
				return 0
			}
			return uint8(v)
		}
		t.Color = av.Color{Primaries: known(a.primaries), Transfer: known(a.transfer), Matrix: known(a.matrix), Range: av.Range(a._range)}
	case C.HR_AV_TRACK_AUDIO:
		t.Kind = av.Audio
		t.Rate, t.Channels, t.Padding = int(a.rate), int(a.channels), int(c.padding)
	}
}

func (t *Track) add(p *C.hr_av_part) {
	to := av.Packet{
		Offset: int64(p.offset), Size: int32(p.size), PTS: int64(p.pts), DTS: int64(p.dts),
		Duration: uint32(min(max(p.duration, 0), math.MaxUint32)),
		Key:      p.flags&C.HR_AV_PART_KEY != 0, Discard: p.flags&C.HR_AV_PART_DISCARD != 0,
	}
	if p.skip > 0 || p.cut > 0 {
		t.Trims = append(t.Trims, Trim{len(t.Packets), int(p.skip), int(p.cut)})
	}
	t.Packets = append(t.Packets, to)
	t.between = append(t.between, p.flags&C.HR_AV_PART_BETWEEN != 0)
	if t.cut = p.flags&C.HR_AV_PART_CORRUPT != 0; t.cut {
		t.marked = append(t.marked, len(t.Packets)-1)
	}
}

// tellPacket copies what C tells of a packet.
func tellPacket(c *C.hr_av_coded, to *packets.Packet) {
	*to = packets.Packet{
		Stream: int(c.track), PTS: int64(c.pts), DTS: int64(c.dts), Duration: int64(c.duration),
		Key: c.flags&C.HR_AV_PART_KEY != 0, Discard: c.flags&C.HR_AV_PART_DISCARD != 0, Corrupt: c.flags&C.HR_AV_PART_CORRUPT != 0,
		Between: c.flags&C.HR_AV_PART_BETWEEN != 0,
		Skip:    uint32(c.skip), Cut: uint32(c.cut),
		Data: bytes.Clone(unsafe.Slice((*byte)(c.data), c.size)), Side: bytes.Clone(unsafe.Slice((*byte)(c.side), c.side_size)),
	}
}

// codedOf is a packet as C has it, without its bytes.
func codedOf(p *packets.Packet) C.hr_av_coded {
	c := C.hr_av_coded{
		track: C.int32_t(p.Stream), pts: C.int64_t(p.PTS), dts: C.int64_t(p.DTS), duration: C.int64_t(p.Duration),
		skip: C.uint32_t(p.Skip), cut: C.uint32_t(p.Cut), size: C.size_t(len(p.Data)), side_size: C.size_t(len(p.Side)),
	}
	if p.Key {
		c.flags |= C.HR_AV_PART_KEY
	}
	if p.Discard {
		c.flags |= C.HR_AV_PART_DISCARD
	}
	return c
}

func bytesOf(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

// pulled is what a pull of a packet has come to.
func pulled(result C.int, coded *C.hr_av_coded, text *[C.HR_AV_TEXT]C.char, to *packets.Packet) error {
	switch {
	case result == C.HR_AV_NEEDS:
		return ErrNeeds
	case result == C.HR_AV_END:
		return io.EOF
	case result < 0:
		return failure(result, text)
	}
	tellPacket(coded, to)
	return nil
}
