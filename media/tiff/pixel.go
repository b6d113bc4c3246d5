//go:build cgo

package tiff

import (
	"encoding/binary"
	"math"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/samples"
	"github.com/headrace/headrace/tensor"
)

// pixel is what the samples of a pixel mean, and a row of them that is on its way to the
// result.
type pixel struct {
	converted bool // libtiff makes RGB of them

	bits, format int
	stored       int  // samples of a pixel in a row of the file
	channels     int  // of them that are read: colours, and alpha
	apart        bool // each sample is in a plane of its own
	wide         bool // in row: 16 bits

	inverted, associated, cmyk, mask bool
	lab, labICC                      bool
	palette                          []byte

	row []byte
	rgb []byte // of a palette, of CMYK, or of Lab
}

// What a file says of its pixels.
const (
	whiteIsZero, blackIsZero, inRGB, inPalette, inCMYK, inYCbCr, inLab, inICCLab = 0, 1, 2, 3, 5, 6, 8, 9
	unsaid                                                                       = math.MaxUint16

	unsigned, signed, floating = 1, 2, 3
	associated, unassociated   = 1, 2
	jpeg                       = 7
)

// read finds out what the pixels are. It reads those that Pillow reads. alpha is what the
// header said: libtiff does not tell a fourth sample of which a file says nothing,
// which is alpha, from one of which it says that it is none.
func (p *pixel) read(f *file, dst media.Pixels, alpha bool) error {
	h := &f.head
	*p = pixel{bits: int(h.bits), format: int(h.format), stored: int(h.samples), mask: dst.Color == media.Mask}
	colors := 1
	switch photometric := int(h.photometric); photometric {
	case whiteIsZero, blackIsZero, unsaid:
		// Pillow turns nothing round that has more than 8 bits.
		p.inverted = photometric != blackIsZero && p.bits <= 8
	case inRGB:
		colors = 3
	case inPalette:
		if p.bits > 8 {
			return unsupported("a palette of 2^%d colors", p.bits)
		}
		var err error
		if p.palette, err = f.colors(1 << p.bits); err != nil {
			return err
		}
	case inCMYK:
		colors, p.cmyk = 4, true
	case inYCbCr:
		if h.compression != jpeg || h.planar != 1 {
			p.converted = true
			return nil
		}
		if p.stored >= 3 { // libjpeg makes RGB of it
			colors = 3
		}
	case inLab, inICCLab:
		if p.bits != 8 {
			return unsupported("CIE Lab pixels of %d bits", p.bits)
		}
		if p.mask {
			return unsupported("CIE Lab pixels of 8 bits as a mask")
		}
		colors, p.lab, p.labICC = 3, true, photometric == inICCLab
		p.format = unsigned // whether a* and b* have a sign is a matter of the colours
	default:
		return unsupported("%s pixels", photometricName(photometric))
	}

	if p.stored < colors {
		return unsupported("%d samples, photometric interpretation %d", p.stored, h.photometric)
	}
	p.channels = colors
	hasAlpha := alpha || h.first_extra == associated || h.first_extra == unassociated
	if p.stored > colors && !p.cmyk && !p.lab && hasAlpha {
		p.channels++
		p.associated = h.first_extra == associated
	}
	p.apart = h.planar == 2 && p.stored > 1
	if p.apart {
		p.stored = 1
	}
	return p.checkBits(colors)
}

func (p *pixel) checkBits(colors int) error {
	ok := false
	switch p.format {
	case unsigned:
		switch p.bits {
		case 8, 16:
			ok = true
		case 1, 2, 4, 12, 32:
			ok = colors == 1
		}
		p.wide = p.bits == 12 || p.bits == 16
	case signed:
		ok = p.bits == 8 || colors == 1 && (p.bits == 16 || p.bits == 32)
	case floating:
		ok = p.bits == 32 && colors == 1
	}
	kind := [...]string{unsigned: "unsigned", signed: "signed", floating: "floating-point"}
	switch {
	case p.format >= len(kind) || p.format < unsigned:
		return unsupported("samples of an unknown kind (%d)", p.format)
	case !ok:
		return unsupported("%d %s samples of %d bits", p.channels, kind[p.format], p.bits)
	case p.mask && p.clips():
		return unsupported("%s samples of %d bits, which are not a mask", kind[p.format], p.bits)
	}
	return nil
}

// clips reports whether samples become 8 bits by what is below 0 and above 255 being
// cut off, as Pillow does it.
func (p *pixel) clips() bool { return p.bits == 32 || p.bits == 16 && p.format == signed }

// isStored reports whether rows of dst are those of the file.
func (p *pixel) isStored(dst media.Pixels) bool {
	switch {
	case !p.isPacked(), p.inverted, p.associated, p.cmyk, p.lab, p.palette != nil && !p.mask:
		return false
	}
	return p.kind() == samples.KindOf(dst)
}

// isPacked reports whether samples of a row need no unpacking.
func (p *pixel) isPacked() bool {
	whole := p.bits == 8 || p.bits == 16
	return !p.apart && p.stored == p.channels && whole && !p.clips()
}

func (p *pixel) kind() samples.Kind { return samples.Kind{Channels: p.channels, Wide: p.wide} }

// unpack takes a row of a plane: samples of 8 bits each, or of 16.
func (p *pixel) unpack(plane int, packed []byte, width int) {
	if p.isPacked() {
		p.row = packed[:width*p.kind().PixelBytes()]
		return
	}
	n := width * p.kind().PixelBytes()
	if cap(p.row) < n {
		p.row = make([]byte, n)
	}
	p.row = p.row[:n]
	take := p.channels
	if p.apart {
		take = 1
	}
	for x := range width {
		for c := range take {
			from, to := x*p.stored+c, x*p.channels+c+plane
			if p.wide {
				binary.NativeEndian.PutUint16(p.row[2*to:], p.wideSample(packed, from))
			} else {
				p.row[to] = p.sample(packed, from)
			}
		}
	}
}

func (p *pixel) wideSample(packed []byte, i int) uint16 {
	if p.bits == 16 {
		return binary.NativeEndian.Uint16(packed[2*i:])
	}
	at := i / 2 * 3 // two of 12 bits in three bytes
	v := uint16(packed[at])<<4 | uint16(packed[at+1])>>4
	if i%2 != 0 {
		v = uint16(packed[at+1])&15<<8 | uint16(packed[at+2])
	}
	if p.mask {
		return v
	}
	return v<<4 | v>>8
}

func (p *pixel) sample(packed []byte, i int) byte {
	switch {
	case p.bits == 8:
		return packed[i]
	case p.bits < 8:
		all := byte(1)<<p.bits - 1
		v := packed[i*p.bits/8] >> (8 - p.bits - i*p.bits%8) & all
		if p.palette == nil {
			v *= 255 / all
		}
		return v
	case p.bits == 16:
		return clip(int64(int16(binary.NativeEndian.Uint16(packed[2*i:]))))
	}
	v := binary.NativeEndian.Uint32(packed[4*i:])
	switch p.format {
	case floating:
		f := math.Float32frombits(v)
		switch {
		case f >= 255:
			return 255
		case f > 0:
			return byte(f)
		}
		return 0 // what is no number, too
	default:
		return clip(int64(int32(v))) // Pillow has no unsigned ones
	}
}

func clip(v int64) byte { return byte(min(max(v, 0), 255)) }

// draw writes the row that was unpacked.
func (p *pixel) draw(dst media.Pixels, width int) error {
	row, from := p.row, p.kind()
	if p.inverted {
		for i := 0; i < len(row); i += from.Channels { // alpha stays
			row[i] = ^row[i]
		}
	}
	switch {
	case p.palette != nil && p.mask:
		copy(dst.Data, p.first(row, width))
		return nil
	case p.palette != nil:
		row, from = p.coloured(row, width)
	case p.cmyk:
		row, from = p.uninked(row, width), samples.Kind{Channels: 3}
	case p.lab:
		row, from = p.unlabbed(row, width), samples.Kind{Channels: 3}
	case p.associated:
		// Pillow divides at 8 bits.
		if from.Wide && dst.DType != tensor.Uint16 {
			narrow := samples.Kind{Channels: from.Channels}
			samples.Convert(row, narrow, row, from, width)
			row, from = row[:width*from.Channels], narrow
		}
		divide(row, from)
	}
	samples.Convert(dst.Data, samples.KindOf(dst), row, from, width)
	return nil
}

// put writes a row of RGBA.
func (p *pixel) put(dst media.Pixels, row []byte, width int) {
	samples.Convert(dst.Data, samples.KindOf(dst), row, samples.Kind{Channels: 4}, width)
}

// first is the first channel alone.
func (p *pixel) first(row []byte, width int) []byte {
	if p.channels > 1 {
		for x := range width {
			row[x] = row[x*p.channels]
		}
	}
	return row[:width]
}

func (p *pixel) room(n int) []byte {
	if cap(p.rgb) < n {
		p.rgb = make([]byte, n)
	}
	return p.rgb[:n]
}

// coloured looks colours up, and keeps alpha.
func (p *pixel) coloured(row []byte, width int) ([]byte, samples.Kind) {
	n := 2 + p.channels
	rgb := p.room(n * width)
	for x := range width {
		copy(rgb[x*n:], p.palette[3*int(row[x*p.channels]):][:3])
		if p.channels == 2 {
			rgb[x*n+3] = row[2*x+1]
		}
	}
	return rgb, samples.Kind{Channels: n}
}

// uninked makes RGB of CMYK as Pillow does: what black leaves over, less the ink. It has
// 8 bits.
func (p *pixel) uninked(row []byte, width int) []byte {
	rgb := p.room(3 * width)
	step, high := 4, 0
	if p.wide {
		step, high = 8, int(binary.NativeEndian.Uint16([]byte{0, 1}))/256 // where the upper 8 bits are: 1 if the second byte
	}
	for x := range width {
		in := row[x*step:][:step]
		left := 255 - int(in[3*step/4+high])
		for c := range 3 {
			t := int(in[c*step/4+high])*left + 128
			rgb[3*x+c] = clip(int64(left - (t>>8+t)>>8))
		}
	}
	return rgb
}

// divide undoes that colours are multiplied with their alpha, as Pillow does.
func divide(row []byte, k samples.Kind) {
	last := k.Channels - 1
	if !k.Wide {
		for ; len(row) > last; row = row[k.Channels:] {
			a := int(row[last])
			for c := range last {
				row[c] = byte(quotient(int(row[c]), a, 255))
			}
		}
		return
	}
	for ; len(row) > 2*last; row = row[2*k.Channels:] {
		a := int(binary.NativeEndian.Uint16(row[2*last:]))
		for c := range last {
			v := row[2*c:]
			binary.NativeEndian.PutUint16(v, uint16(quotient(int(binary.NativeEndian.Uint16(v)), a, 65535)))
		}
	}
}

func quotient(v, alpha, most int) int {
	switch alpha {
	case 0:
		return 0
	case most:
		return v
	}
	return min(v*most/alpha, most)
}

func photometricName(p int) string {
	switch p {
	case 4:
		return "mask"
	case 10:
		return "ITU Lab"
	case 32803, 34892:
		return "raw camera"
	case 32844, 32845:
		return "LogLuv"
	}
	return "unknown"
}
