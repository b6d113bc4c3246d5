package stills

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"

	"headrace/media"

	"golang.org/x/image/tiff"
)

func decodeTIFF(dst media.Pixels, src []byte, _ *media.Info) error {
	d := readDirectory(src)
	if err := d.check(); err != nil {
		return err
	}
	img, err := tiff.Decode(bytes.NewReader(src))
	if err != nil {
		var unsupported tiff.UnsupportedError
		if errors.As(err, &unsupported) {
			return fmt.Errorf("%w: %w", media.ErrUnsupported, err)
		}
		return failure("tiff", err)
	}
	if grey, ok := img.(*image.Gray); ok && d.isFax() && d.value(tagPhotometric, 0) == 1 {
		// Runs of a fax are 0 and 1 in turn, whatever these numbers mean; the library takes the first for white.
		for i := range grey.Pix {
			grey.Pix[i] = ^grey.Pix[i]
		}
	}
	return fill(dst, img, d.value(tagExtraSamples, 0) == 1)
}

// The tags that say what the library does not decode, or takes for something else.
const (
	tagCompression  = 259
	tagPhotometric  = 262
	tagFillOrder    = 266
	tagSamples      = 277
	tagPlanar       = 284
	tagPredictor    = 317
	tagExtraSamples = 338
	tagFormat       = 339
)

// directory is the first of a file.
type directory struct {
	entries []byte
	order   binary.ByteOrder
}

// readDirectory trusts the probe, which has found the directory within the data.
func readDirectory(src []byte) directory {
	d := directory{order: binary.LittleEndian}
	if src[0] == 'M' {
		d.order = binary.BigEndian
	}
	at := int(d.order.Uint32(src[4:]))
	d.entries = src[at+2:][:12*int(d.order.Uint16(src[at:]))]
	return d
}

// value is the number that an entry holds, where it holds one or two of 16 bits, or one of 32; otherwise missing.
func (d directory) value(tag uint16, missing int) int {
	for e := d.entries; len(e) >= 12; e = e[12:] {
		if d.order.Uint16(e) != tag {
			continue
		}
		switch kind, count := d.order.Uint16(e[2:]), d.order.Uint32(e[4:]); {
		case kind == 3 && (count == 1 || count == 2):
			return int(d.order.Uint16(e[8:]))
		case kind == 4 && count == 1:
			return int(d.order.Uint32(e[8:]))
		}
	}
	return missing
}

// check names what is not decoded.
func (d directory) check() error {
	unsupported := func(format string, args ...any) error {
		return fmt.Errorf("%w: tiff with "+format, append([]any{media.ErrUnsupported}, args...)...)
	}
	switch c := d.value(tagCompression, 1); c {
	case 1, 3, 4, 5, 8, 32773, 32946:
	default:
		return unsupported("%s compression", compressionName(c))
	}
	if d.value(tagPlanar, 1) == 2 && d.value(tagSamples, 1) > 1 {
		return unsupported("a plane for each channel")
	}
	if p := d.value(tagPredictor, 1); p > 2 {
		return unsupported("predictor %d", p)
	}
	if f := d.value(tagFormat, 1); f > 1 {
		return unsupported("samples that are no unsigned integers")
	}
	if d.value(tagFillOrder, 1) == 2 && !d.isFax() {
		return unsupported("reversed bits")
	}
	switch p := d.value(tagPhotometric, 0); p {
	case 0, 1, 2, 3:
	default:
		return unsupported("%s pixels", photometricName(p))
	}
	return nil
}

func (d directory) isFax() bool { c := d.value(tagCompression, 1); return c == 3 || c == 4 }

func compressionName(c int) string {
	for _, known := range [...]struct {
		number int
		name   string
	}{
		{2, "CCITT modified Huffman"}, {6, "old JPEG"}, {7, "JPEG"}, {9, "JBIG"}, {10, "JBIG"}, {34661, "JBIG"}, {34712, "JPEG 2000"}, {34925, "LZMA"},
		{50000, "Zstandard"}, {50001, "WebP"}, {50002, "JPEG XL"}, {52546, "JPEG XL"}, {32766, "NeXT"}, {32809, "ThunderScan"}, {32909, "PixarLog"},
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
