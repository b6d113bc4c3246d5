package mp4

import (
	"errors"
	"math"

	"github.com/headrace/headrace/media/av"
)

// readEntries reads stsd: what codec the samples are of.
func (t *track) readEntries(b *box) error {
	h := b.fields()
	version, _ := h.full()
	n := h.u32()
	if h.short {
		return b.errorf("is too short")
	}
	seen := 0
	err := b.each(8, func(e *box) error {
		seen++
		if seen > 1 {
			return nil
		}
		return t.readEntry(e, version)
	})
	if err != nil {
		return err
	}

	switch {
	case seen == 0 && n > 0:
		return b.errorf("says it has %d entries, but has none", n)
	case seen == 0:
		t.unsupported = b.errorf("names no codec")
	case seen > 1 && t.unsupported == nil:
		t.unsupported = b.unsupported("has %d entries, so the codec or the size changes", seen)
	}
	return nil
}

func (t *track) readEntry(e *box, version uint8) error {
	t.stream.Tag = e.kind
	t.stream.Codec = codecs[e.kind]
	if e.kind == "encv" || e.kind == "enca" {
		t.unsupported = e.unsupported("is an encrypted stream")
		return nil
	}
	var err error
	switch t.stream.Kind {
	case av.Video:
		err = t.readPicture(e)
	case av.Audio:
		err = t.readSound(e, version)
	default:
		t.stream.Codec = ""
		t.unsupported = e.unsupported("is neither video nor audio")
		return nil
	}
	if err == nil && t.stream.Codec == "" && t.unsupported == nil {
		t.unsupported = e.unsupported("is an unknown codec")
	}
	return err
}

// readPicture reads the entry of a video stream.
func (t *track) readPicture(e *box) error {
	const fixed = 78
	h := e.fields()
	h.skip(24)
	t.stream.Width, t.stream.Height = int(h.u16()), int(h.u16())
	if len(e.body) < fixed {
		return e.errorf("is too short")
	}
	return e.each(fixed, func(b *box) error {
		s := &t.stream
		switch b.kind {
		case "avcC":
			s.Config, s.Depth = b.body, avcDepth(b.body)
		case "hvcC":
			s.Config, s.Depth = b.body, hevcDepth(b.body)
		case "av1C":
			s.Config, s.Depth = b.body, av1Depth(b.body)
		case "vpcC":
			readVP(b, s)
		case "glbl":
			s.Config = b.body
		case "esds":
			return t.readDescriptor(b)
		case "colr":
			readColor(b, s)
		case "pasp":
			h := b.fields()
			if r, ok := av.Reduce(int64(h.u32()), int64(h.u32())); ok {
				s.Aspect = r
			}
		}
		return nil
	})
}

// readSound reads the entry of an audio stream, of which QuickTime has longer forms.
func (t *track) readSound(e *box, version uint8) error {
	h := e.fields()
	h.skip(8)
	form := h.u16()
	h.skip(6)
	t.stream.Channels = int(h.u16())
	p := linear{bits: int(h.u16())} // which entries of compressed audio do not fill in
	h.skip(4)
	t.stream.Rate = int(h.u32() >> 16)
	fixed := 28
	switch {
	case form == 1 && version == 0:
		fixed += 16
	case form == 2 && version == 0:
		fixed = t.readLongSound(&h, &p)
	}
	if h.short || len(e.body) < fixed {
		return e.errorf("is too short")
	}
	read := func(b *box) error { return errors.Join(p.read(b), t.readSoundConfig(b)) }
	err := e.each(fixed, func(b *box) error {
		if b.kind == "wave" {
			return b.each(0, read)
		}
		return read(b)
	})
	if err != nil {
		return err
	}

	name, bytes, err := p.codec(e.kind, t.stream.Channels)
	switch {
	case err != nil: // FFmpeg would guess
		t.unsupported = e.errorf("%v", err)
	case name != "":
		t.stream.Codec, t.frame = name, bytes*t.stream.Channels
	}
	return nil
}

// readLongSound reads what version 2 has beside the rest, and returns where its boxes
// begin.
func (t *track) readLongSound(h *fields, p *linear) (fixed int) {
	const head = 8
	fixed = int(h.u32()) - head
	rate := math.Float64frombits(h.u64())
	if rate >= 1 && rate <= math.MaxInt32 {
		t.stream.Rate = int(math.Round(rate))
	}
	t.stream.Channels = int(min(h.u32(), mostChannels))
	h.skip(4)
	p.bits = int(h.u32())
	p.flags, p.packet = h.u32(), h.u32()
	if each := h.u32(); each > 1 { // of what is compressed
		p.packet = 0
	}
	return max(fixed, 64)
}

// mostChannels is more than any decoder takes.
const mostChannels = 1 << 10

func (t *track) readSoundConfig(b *box) error {
	switch b.kind {
	case "esds":
		return t.readDescriptor(b)
	case "dOps":
		return t.readOpus(b)
	case "dfLa":
		return t.readFLAC(b)
	case "srat": // a rate that the entry has no room for
		h := b.fields()
		h.full()
		if rate := h.u32(); !h.short && rate > 0 && rate <= math.MaxInt32 {
			t.stream.Rate = int(rate)
		}
	case "alac":
		// The decoder wants the box, and not only what is in it.
		t.stream.Config = append([]byte{0, 0, 0, byte(8 + len(b.body)), 'a', 'l', 'a', 'c'}, b.body...)
	}
	return nil
}
