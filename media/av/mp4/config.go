package mp4

import (
	"encoding/binary"

	"github.com/headrace/headrace/media/av"
)

// readDescriptor reads esds: which codec it is, and what its decoder needs.
func (t *track) readDescriptor(b *box) error {
	h := b.fields()
	h.full()
	tag, _ := descriptor(&h)
	if tag == 3 {
		h.skip(2)
		flags := h.u8()
		if flags&0x80 != 0 {
			h.skip(2)
		}
		if flags&0x40 != 0 {
			h.skip(int(h.u8()))
		}
		if flags&0x20 != 0 {
			h.skip(2)
		}
		tag, _ = descriptor(&h)
	}

	if tag != 4 {
		return b.errorf("has no description of a decoder")
	}
	object := h.u8()
	h.skip(12)
	if h.short {
		return b.errorf("is too short")
	}
	if name := objects[object]; name != "" {
		t.stream.Codec = name
	}
	if tag, size := descriptor(&h); tag == 5 && !h.short {
		if size > len(h.b) {
			return b.errorf("says its decoder needs %d bytes, but has %d", size, len(h.b))
		}
		t.stream.Config = h.b[:size]
		if n := aacChannels(t.stream.Config); t.stream.Codec == "aac" && n > 0 {
			t.stream.Channels = n // an entry often says 2, whatever there is
		}
	}
	return nil
}

// aacChannels reads the number of channels from the start of AudioSpecificConfig: five
// bits of its type, four of the rate, four of the channels. It is 0 if it is not there.
func aacChannels(c []byte) int {
	if len(c) < 2 || c[0]>>3 == 31 || c[0]&7 == 7 && c[1]&0x80 != 0 {
		return 0
	}
	switch n := int(c[1] >> 3 & 15); n {
	case 7, 12, 14:
		return 8
	case 11:
		return 7
	case 1, 2, 3, 4, 5, 6:
		return n
	}
	return 0
}

// descriptor reads a tag and a length, seven bits at a time.
func descriptor(h *fields) (tag uint8, size int) {
	tag = h.u8()
	for range 4 {
		c := h.u8()
		size = size<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			break
		}
	}
	return tag, size
}

// readOpus makes of dOps the header that Opus has elsewhere, whose numbers have the other
// byte order.
func (t *track) readOpus(b *box) error {
	if len(b.body) < 11 {
		return b.errorf("is too short")
	}
	c := append([]byte("OpusHead"), b.body...)
	c[8] = 1
	swap16 := func(at int) { binary.LittleEndian.PutUint16(c[at:], binary.BigEndian.Uint16(c[at:])) }
	swap16(10)
	binary.LittleEndian.PutUint32(c[12:], binary.BigEndian.Uint32(c[12:]))
	swap16(16)
	t.stream.Config = c
	return nil
}

// readFLAC takes the one block of metadata that the decoder needs.
func (t *track) readFLAC(b *box) error {
	const info = 34
	if len(b.body) < 8+info || b.body[4]&0x7f != 0 {
		return b.errorf("has no STREAMINFO")
	}
	t.stream.Config = b.body[8 : 8+info]
	return nil
}

// readColor reads colr.
func readColor(b *box, s *av.Stream) {
	h := b.fields()
	kind := string(h.take(4))
	if kind != "nclx" && kind != "nclc" {
		return // a profile
	}
	c := av.Color{Primaries: codePoint(h.u16()), Transfer: codePoint(h.u16()), Matrix: codePoint(h.u16())}
	if kind == "nclx" {
		c.Range = colorRange(h.u8()&0x80 != 0)
	}
	if !h.short {
		s.Color = c
	}
}

// codePoint returns 0 for what is unspecified, which H.273 calls 2.
func codePoint(n uint16) uint8 {
	if n == 2 || n > 255 {
		return 0
	}
	return uint8(n)
}

func colorRange(full bool) av.Range {
	if full {
		return av.Full
	}
	return av.Limited
}

// readVP reads vpcC. Decoders of VP8 and VP9 need nothing of it.
func readVP(b *box, s *av.Stream) {
	if len(b.body) < 10 {
		return
	}
	v := b.body[4:]
	s.Depth = int(v[2] >> 4)
	s.Color = av.Color{
		Primaries: codePoint(uint16(v[3])), Transfer: codePoint(uint16(v[4])), Matrix: codePoint(uint16(v[5])),
		Range: colorRange(v[2]&1 != 0),
	}
}

// avcDepth finds the depth after the parameter sets; only high profiles have it there.
func avcDepth(c []byte) int {
	if len(c) < 7 {
		return 0
	}
	switch c[1] {
	case 66, 77, 88:
		return 8
	}
	h := fields{b: c[5:]}
	for _, mask := range []uint8{0x1f, 0xff} {
		for range h.u8() & mask {
			h.skip(int(h.u16()))
		}
	}
	h.skip(1)
	depth := int(h.u8()&7) + 8
	if h.short {
		return 0
	}
	return depth
}

func hevcDepth(c []byte) int {
	if len(c) < 18 {
		return 0
	}
	return int(c[17]&7) + 8
}

func av1Depth(c []byte) int {
	if len(c) < 3 {
		return 0
	}
	switch {
	case c[2]&0x40 == 0:
		return 8
	case c[2]&0x20 == 0:
		return 10
	}
	return 12
}
