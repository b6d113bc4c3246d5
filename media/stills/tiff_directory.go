package stills

import (
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
)

// The tags that are read here, and values of two of them.
const (
	tagBits         = 258
	tagCompression  = 259
	tagPhotometric  = 262
	tagFillOrder    = 266
	tagStripOffsets = 273
	tagSamples      = 277
	tagStripRows    = 278
	tagStripBytes   = 279
	tagPlanar       = 284
	tagPredictor    = 317
	tagColorMap     = 320
	tagTileWidth    = 322
	tagTileHeight   = 323
	tagTileOffsets  = 324
	tagTileBytes    = 325
	tagExtraSamples = 338
	tagFormat       = 339

	faxGroup3, faxGroup4 = 3, 4

	whiteIsZero, inColor, inPalette = 0, 2, 3
)

// directory is the first of a file.
type directory struct {
	src     []byte
	entries []byte
	order   interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
}

// readDirectory trusts the probe, which has found the directory within the data.
func readDirectory(src []byte) directory {
	d := directory{src: src, order: binary.LittleEndian}
	if src[0] == 'M' {
		d.order = binary.BigEndian
	}
	at := int(d.order.Uint32(src[4:]))
	d.entries = src[at+2:][:12*int(d.order.Uint16(src[at:]))]
	return d
}

// numbers are what an entry holds. They stay where they are: a file may say that it has
// any number of them.
type numbers struct {
	data  []byte
	size  int // bytes of each
	count int
	order binary.ByteOrder
	cut   bool // the file ends before them
}

// at is the number i, which must be below count.
func (n numbers) at(i int) int {
	switch v := n.data[i*n.size:]; n.size {
	case 1:
		return int(v[0])
	case 2:
		return int(n.order.Uint16(v))
	default:
		return int(n.order.Uint32(v))
	}
}

// numbers are those of a tag; none where it is missing, is of another kind, or lies
// outside of the file.
func (d directory) numbers(tag uint16) numbers {
	for e := d.entries; len(e) >= 12; e = e[12:] {
		if d.order.Uint16(e) != tag {
			continue
		}

		n := numbers{count: int(d.order.Uint32(e[4:])), order: d.order}
		switch d.order.Uint16(e[2:]) {
		case 1:
			n.size = 1
		case 3:
			n.size = 2
		case 4:
			n.size = 4
		default:
			return numbers{}
		}

		n.data = e[8:12]
		if n.count*n.size > 4 {
			at := int(d.order.Uint32(e[8:]))
			if at > len(d.src) || n.count*n.size > len(d.src)-at {
				return numbers{cut: true}
			}
			n.data = d.src[at:]
		}
		return n
	}
	return numbers{}
}

// value is the first number of a tag, or missing.
func (d directory) value(tag uint16, missing int) int {
	if n := d.numbers(tag); n.count > 0 {
		return n.at(0)
	}
	return missing
}

// check names what is not decoded.
func (d directory) check() error {
	unsupported := func(format string, args ...any) error {
		return fmt.Errorf("%w: tiff with "+format, append([]any{media.ErrUnsupported}, args...)...)
	}

	for _, tag := range [...]uint16{tagBits, tagStripOffsets, tagStripBytes, tagColorMap, tagTileOffsets, tagTileBytes} {
		if d.numbers(tag).cut {
			return fmt.Errorf("%w: tiff ends before the values of tag %d", media.ErrTruncated, tag)
		}
	}

	switch c := d.value(tagCompression, 1); c {
	case 0, 1, faxGroup3, faxGroup4, 5, 8, 32773, 32946:
	default:
		return unsupported("%s compression", compressionName(c))
	}

	if d.value(tagPlanar, 1) == 2 && d.value(tagSamples, 1) > 1 {
		return unsupported("a plane for each channel")
	}
	if f := d.value(tagFormat, 1); f > 1 {
		return unsupported("samples that are not unsigned integers")
	}
	if d.value(tagFillOrder, 1) == 2 && !d.isFax() {
		return unsupported("reversed bits")
	}

	bits := d.value(tagBits, 1)
	if bits != 1 && bits != 8 && bits != 16 {
		return unsupported("BitsPerSample of %d", bits)
	}
	if p := d.value(tagPredictor, 1); p > 2 || p == 2 && bits == 1 {
		return unsupported("predictor %d", p)
	}

	return d.checkPixels(bits)
}

// checkPixels names pixels that are not decoded.
func (d directory) checkPixels(bits int) error {
	all := d.numbers(tagBits)
	for i := range min(all.count, 5) {
		if all.at(i) != bits {
			return fmt.Errorf("%w: tiff with samples of %d and %d bits", media.ErrUnsupported, bits, all.at(i))
		}
	}
	switch p, n := d.value(tagPhotometric, 0), max(all.count, 1); {
	case p > inPalette:
		return fmt.Errorf("%w: tiff with %s pixels", media.ErrUnsupported, photometricName(p))
	case p != inColor && n != 1, p == inColor && n != 3 && n != 4, p == inColor && bits == 1,
		p == inPalette && bits == 16, d.isFax() && n*bits != 1:
		return fmt.Errorf("%w: tiff with %d samples of %d bits, photometric interpretation %d", media.ErrUnsupported, n, bits, p)
	case n == 4:
		if extra := d.value(tagExtraSamples, 0); extra != 1 && extra != 2 {
			return fmt.Errorf("%w: tiff with a fourth sample that is not alpha", media.ErrUnsupported)
		}
	}
	return nil
}

func (d directory) isFax() bool {
	c := d.value(tagCompression, 1)
	return c == faxGroup3 || c == faxGroup4
}

func compressionName(c int) string {
	for _, known := range [...]struct {
		number int
		name   string
	}{
		{2, "CCITT modified Huffman"}, {6, "old JPEG"}, {7, "JPEG"}, {9, "JBIG"}, {10, "JBIG"},
		{34661, "JBIG"}, {34712, "JPEG 2000"}, {34925, "LZMA"},
		{50000, "Zstandard"}, {50001, "WebP"}, {50002, "JPEG XL"}, {52546, "JPEG XL"}, {32766, "NeXT"},
		{32809, "ThunderScan"}, {32909, "PixarLog"},
		{34676, "SGI LogLuv"}, {34887, "LERC"},
	} {
		if known.number == c {
			return known.name
		}
	}
	return fmt.Sprintf("unknown (%d)", c)
}

func photometricName(p int) string {
	switch p {
	case 4:
		return "mask"
	case 5:
		return "CMYK"
	case 6:
		return "YCbCr"
	case 8, 9, 10:
		return "CIE Lab"
	case 32803:
		return "raw (colour filter array)"
	}
	return fmt.Sprintf("unknown (photometric interpretation %d)", p)
}
