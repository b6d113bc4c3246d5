package wav

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/headrace/headrace/media/sound"
)

// The codes of samples.
const (
	codePCM        = 1
	codeFloat      = 3
	codeALaw       = 6
	codeMuLaw      = 7
	codeExtensible = 0xFFFE
)

// mistaken are codings that FFmpeg takes for others: of its noise nobody would be told.
// In AU it takes G.721 and G.723 for G.726, which is right for noise, and not for tones.
var mistaken = map[int]string{0x38: "NMS ADPCM", 0x40: "G.721"}

// rest and ambisonic are what follows the code in the identity of a format that is
// extensible.
var (
	rest      = []byte("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71")
	ambisonic = []byte("\x00\x00\x21\x07\xd3\x11\x86\x44\xc8\xc1\xca\x00\x00\x00")
)

// leastForm is the size of the least chunk fmt.
const leastForm = 16

// describe reads the chunk fmt. The samples are at a place, and tell how they are aligned
// if the chunk does not.
func (f *File) describe(b []byte, order binary.ByteOrder, at, size int64) error {
	number := func(at int) int { return int(order.Uint16(b[at:])) }
	code, channels, rate, frame, bits := number(0), number(2), order.Uint32(b[4:]), number(12), number(14)

	if code == codeExtensible {
		if len(b) < 40 {
			return fmt.Errorf("%w: its chunk fmt has %d bytes, and is extensible, which needs 40", errWAV, len(b))
		}
		f.info.Mask, code = order.Uint32(b[20:]), number(24)
		switch {
		case bytes.Equal(b[26:40], ambisonic):
			f.info.Mask = 0
		case !bytes.Equal(b[26:40], rest):
			return fmt.Errorf("wav: the samples are %w: %x", sound.ErrCoded, b[24:40])
		}
	}

	switch {
	case channels < 1 || channels > mostChannels:
		return fmt.Errorf("%w: it has %d channels", errWAV, channels)
	case rate < 1 || rate > math.MaxInt32:
		return fmt.Errorf("%w: it has %d samples a second", errWAV, rate)
	}
	f.info.Rate, f.info.Channels = int(rate), channels

	// The bits of a sample tell its bytes. The size of a frame should agree, but some
	// programs write 0, or the bytes of one channel.
	f.width = (bits + 7) / 8
	switch {
	case code == codeALaw || code == codeMuLaw:
		f.width = 1
	case bits == 0:
		f.width = frame / channels
	}
	if name, ok := mistaken[code]; ok {
		return fmt.Errorf("wav: the samples are of format 0x%04x, %s, which is not supported: "+
			"convert the file, as with libsndfile", code, name)
	}
	big := order == binary.BigEndian
	if f.coding = codingOf(code, f.width, big); f.coding == nil {
		return fmt.Errorf("wav: the samples are %w: format 0x%04x with %d bits", sound.ErrCoded, code, bits)
	}
	wide := frame / channels
	roomier := frame%channels == 0 && f.width >= 2 && wide > f.width && wide <= 4
	if code == codePCM && roomier && !big {
		return f.align(wide, at, size)
	}
	return nil
}

// align finds out how samples are in a frame that has room for larger ones, by what they
// are: with zeros after them, as the format has it; after copies of their sign; or
// without anything between them.
func (f *File) align(wide int, at, size int64) error {
	left, right, sounds := true, true, 0
	width := f.width
	for end := at + size; at+int64(wide) <= end; {
		b, err := f.content.Bytes(at, int(min(end-at, together))/wide*wide)
		if err != nil {
			return err
		}
		if len(b) < wide {
			break
		}

		for ; len(b) >= wide; b, at = b[wide:], at+int64(wide) {
			all, sign := byte(0), byte(int8(b[width-1])>>7)
			for i := range wide {
				all |= b[i]
				left = left && (i >= wide-width || b[i] == 0)
				right = right && (i < width || b[i] == sign)
			}
			if all != 0 {
				sounds++
			}
		}
		if !left && !right || left != right && sounds > mostByChance {
			break
		}
	}

	switch {
	case sounds == 0:
	case left:
		f.coding, f.width = codingOf(codePCM, wide, false), wide
	case right:
		f.coding, f.width = rightAligned(width, wide), wide
	}
	return nil
}

// mostByChance is more samples than have zeros at their end by chance.
const mostByChance = 256
