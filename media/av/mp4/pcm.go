package mp4

import (
	"errors"
	"fmt"
)

// linear is what an entry says of samples that are not compressed. Its name comes before
// the boxes that say how wide they are, and in which order they have their bytes.
type linear struct {
	bits   int  // of a sample
	little bool // by enda or pcmC
	pcmC   bool // pcmC has said width and order, as ISO 23003-5 wants it

	flags  uint32 // of lpcm, as Core Audio has them
	packet uint32 // bytes of a sample of all channels, by an entry of version 2
}

// Flags of lpcm.
const (
	isFloat      = 1 << 0
	isBig        = 1 << 1
	isSigned     = 1 << 2
	isHigh       = 1 << 4 // samples are in the upper bits of wider ones
	isSeparately = 1 << 5 // channel by channel
)

// codec returns FFmpeg's name of what samples of an entry are, and their bytes: none of
// both, if the entry is of something else. An error says why they cannot be read.
func (l *linear) codec(kind string, channels int) (name string, bytes int, err error) {
	big := !l.little

	switch kind {
	case "ulaw":
		return "pcm_mulaw", 1, nil
	case "alaw":
		return "pcm_alaw", 1, nil
	case "raw ", "NONE":
		if l.bits <= 8 {
			return "pcm_u8", 1, nil
		}
		return pcm("s", l.bits, true)
	case "twos":
		return pcm("s", l.wide(), true)
	case "sowt":
		return pcm("s", l.wide(), false)
	case "in24":
		return pcm("s", 24, big)
	case "in32":
		return pcm("s", 32, big)
	case "fl32":
		return pcm("f", 32, big)
	case "fl64":
		return pcm("f", 64, big)
	case "ipcm", "fpcm":
		if !l.pcmC {
			return "", 0, errors.New("has no pcmC box, which says how its samples are stored")
		}
		if kind == "fpcm" {
			return pcm("f", l.bits, big)
		}
		return pcm("s", l.bits, big)
	case "lpcm":
		return l.core(channels)
	}
	return "", 0, nil
}

// wide is the bits of what has 16 by default: entries of some writers do not say it.
func (l *linear) wide() int {
	if l.bits == 8 || l.bits > 16 {
		return l.bits
	}
	return 16
}

// core is the codec of lpcm.
func (l *linear) core(channels int) (name string, bytes int, err error) {
	letter := "u"
	switch {
	case l.flags&isFloat != 0:
		letter = "f"
	case l.flags&isSigned != 0:
		letter = "s"
	}
	width := int(l.packet) / max(1, channels)
	switch {
	case l.packet == 0:
		return "", 0, errors.New("does not say how its samples are stored")
	case l.flags&isSeparately != 0 && channels > 1:
		return "", 0, errors.New("has its channels one after the other, not side by side")
	case l.bits != 8*width && l.flags&isHigh == 0:
		return "", 0, fmt.Errorf("has samples of %d bits in the lower bits of %d bytes", l.bits, width)
	}
	return pcm(letter, 8*width, l.flags&isBig != 0) // the bits below are 0
}

// pcm is a codec of samples by their kind, bits, and byte order.
func pcm(letter string, bits int, big bool) (name string, bytes int, err error) {
	bytes = (bits + 7) / 8
	switch {
	case bytes == 1 && letter != "f":
		return fmt.Sprintf("pcm_%s8", letter), 1, nil
	case letter == "f" && bits != 32 && bits != 64, letter != "f" && (bytes < 1 || bytes > 4):
		return "", 0, fmt.Errorf("has samples of %d bits", bits)
	}
	order := "le"
	if big {
		order = "be"
	}
	return fmt.Sprintf("pcm_%s%d%s", letter, 8*bytes, order), bytes, nil
}

// read takes what a box inside of the entry says of its samples.
func (l *linear) read(b *box) error {
	h := b.fields()
	switch b.kind {
	case "enda":
		l.little = h.u16()&0xff != 0
	case "pcmC":
		h.full()
		l.little = h.u8()&1 != 0
		l.bits = int(h.u8())
		l.pcmC = true
	default:
		return nil
	}
	if h.short {
		return b.errorf("is too short")
	}
	return nil
}
