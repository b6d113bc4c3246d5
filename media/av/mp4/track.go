package mp4

import "github.com/headrace/headrace/media/av"

// A track is what a trak box says. The boxes of its table of samples are kept as they
// are, until somebody wants its packets.
type track struct {
	stream      av.Stream
	matrix      matrix
	wide, high  uint32 // as tkhd has them, 16.16
	at          *box   // trak itself, to be blamed
	samples     map[string]*box
	edits       *box
	frame       int   // bytes of one sample, of each channel, where samples of audio are not compressed
	unsupported error // why its packets cannot be listed

	defaults  fragmentDefaults
	fragments []av.Packet
	end       int64 // when the last of them ends

	fragmented  bool  // there are any
	first, last int64 // when the first and the last are decoded
}

// fragmentDefaults are what samples of fragments are like where these do not say it.
type fragmentDefaults struct{ lasts, size, flags uint32 }

// kept are the boxes of stbl that are kept.
var kept = map[string]bool{
	"stts": true, "ctts": true, "stsc": true, "stsz": true, "stz2": true, "stco": true, "co64": true,
	"stss": true, "stps": true, "sbgp": true,
}

func readTrack(trak *box) (*track, error) {
	t := &track{matrix: unturned, at: trak, samples: make(map[string]*box)}
	t.stream = av.Stream{Orientation: av.Upright}
	var media *box
	err := trak.each(0, func(b *box) error {
		switch b.kind {
		case "tkhd":
			return t.readHeader(b)
		case "mdia":
			media = b
		case "edts":
			return b.each(0, func(b *box) error {
				if b.kind == "elst" {
					t.edits = b
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if media == nil {
		return nil, trak.errorf("has no mdia box")
	}
	if err := t.readMedia(media); err != nil {
		return nil, err
	}
	t.deriveAspect()
	return t, nil
}

func (t *track) readHeader(b *box) error {
	h := b.fields()
	version, flags := h.full()
	h.versioned(version) // creation
	h.versioned(version) // modification
	t.stream.ID = int(h.u32())
	t.stream.Default = flags&1 != 0
	h.skip(4)
	h.versioned(version) // duration
	h.skip(16)           // reserved, layer, group, volume
	t.matrix = readMatrix(&h)
	t.wide, t.high = h.u32(), h.u32()
	if h.short {
		return b.errorf("is too short")
	}
	return nil
}

func (t *track) readMedia(mdia *box) error {
	var information *box
	err := mdia.each(0, func(b *box) error {
		switch b.kind {
		case "mdhd":
			return t.readMediaHeader(b)
		case "hdlr":
			return t.readHandler(b)
		case "minf":
			information = b
		}
		return nil
	})
	if err != nil {
		return err
	}
	if information == nil {
		return mdia.errorf("has no minf box")
	}
	if !t.stream.TimeBase.Positive() {
		return mdia.errorf("has no mdhd box with a time scale")
	}
	return information.each(0, func(b *box) error {
		if b.kind != "stbl" {
			return nil
		}
		return b.each(0, t.keep)
	})
}

// keep reads stsd, and keeps the other boxes of stbl.
func (t *track) keep(b *box) error {
	if b.kind == "stsd" {
		return t.readEntries(b)
	}
	if b.kind == "sbgp" && (len(b.body) < 8 || string(b.body[4:8]) != "rap ") {
		return nil
	}
	if kept[b.kind] && t.samples[b.kind] == nil {
		t.samples[b.kind] = b
	}
	return nil
}

func (t *track) readMediaHeader(b *box) error {
	h := b.fields()
	version, _ := h.full()
	h.versioned(version) // creation
	h.versioned(version) // modification
	scale := h.u32()
	h.versioned(version) // duration
	language := h.u16()
	if h.short {
		return b.errorf("is too short")
	}
	if scale == 0 || scale > 1<<31-1 {
		return b.errorf("has a time scale of %d", scale)
	}
	t.stream.TimeBase = av.Rational{Num: 1, Den: int32(scale)}

	// Three letters of 5 bits each. Small numbers are codes of the Macintosh.
	if language >= 0x400 && language != 0x7fff {
		name := []byte{byte(language>>10&31) + 0x60, byte(language>>5&31) + 0x60, byte(language&31) + 0x60}
		if string(name) != "und" {
			t.stream.Language = string(name)
		}
	}
	return nil
}

func (t *track) readHandler(b *box) error {
	h := b.fields()
	h.skip(8)
	switch string(h.take(4)) {
	case "vide":
		t.stream.Kind = av.Video
	case "soun":
		t.stream.Kind = av.Audio
	}
	return nil
}

// deriveAspect takes the shape of samples from the size at which the track is shown,
// where nothing else says it.
func (t *track) deriveAspect() {
	s := &t.stream
	if s.Kind != av.Video || s.Aspect.Positive() {
		return
	}
	s.Aspect = av.Rational{Num: 1, Den: 1}
	wide, high := int64(t.wide>>16), int64(t.high>>16)
	if r, ok := av.Reduce(wide*int64(s.Height), high*int64(s.Width)); ok {
		s.Aspect = r
	}
}
