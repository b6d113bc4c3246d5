package media

import (
	"encoding/binary"
	"fmt"
)

// The tags of a TIFF directory that are read here.
const (
	tiffWidth        = 256
	tiffHeight       = 257
	tiffBits         = 258
	tiffPhotometric  = 262
	tiffSamples      = 277
	tiffXMP          = 700
	tiffExtraSamples = 338
)

// probeTIFF reads the first directory. Further ones are further images.
func probeTIFF(data []byte) (Info, error) {
	info := Info{Format: TIFF, Orientation: 1, Components: 1, Bits: 1}
	if len(data) < 8 {
		return info, cutHeader("TIFF")
	}

	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	if data[2] == '+' || data[3] == '+' {
		return info, fmt.Errorf("%w: BigTIFF", ErrUnsupported)
	}

	at := uint64(order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return info, fmt.Errorf("%w: TIFF ends before its directory", ErrTruncated)
	}
	n := uint64(order.Uint16(data[at:]))
	end := at + 2 + 12*n
	if end > uint64(len(data)) {
		return info, fmt.Errorf("%w: TIFF ends within its directory", ErrTruncated)
	}

	d := tiffDirectory{photometric: -1}
	for entries := data[at+2 : end]; len(entries) > 0; entries = entries[12:] {
		d.take(&info, data, entries[:12], order)
	}

	// What memory decoding takes is reckoned from both.
	if info.Components < 1 || info.Components > 64 || info.Bits < 1 || info.Bits > 64 {
		return info, fmt.Errorf("%w: TIFF with %d samples of %d bits", ErrCorrupt, info.Components, info.Bits)
	}

	info.Animated = end+4 <= uint64(len(data)) && order.Uint32(data[end:]) != 0
	info.Palette = d.photometric == 3
	info.Alpha = d.extra == 1 || d.extra == 2 || d.photometric == 2 && info.Components == 4 && !d.hasExtra
	if info.Width == 0 && info.Height == 0 {
		return info, fmt.Errorf("%w: TIFF without a size", ErrCorrupt)
	}

	info.Orientation = orientation(data, d.xmp)
	return info, nil
}

// tiffDirectory is what of a directory has its meaning only together.
type tiffDirectory struct {
	photometric, extra int
	hasExtra           bool
	xmp                []byte
}

func (d *tiffDirectory) take(info *Info, data, entry []byte, order binary.ByteOrder) {
	tag := order.Uint16(entry)
	if tag == tiffXMP {
		n, at := uint64(order.Uint32(entry[4:])), uint64(order.Uint32(entry[8:]))
		if at+n <= uint64(len(data)) {
			d.xmp = data[at : at+n]
		}
		return
	}

	v, ok := firstInteger(data, entry, order)
	if !ok {
		return
	}
	switch tag {
	case tiffWidth:
		info.Width = v
	case tiffHeight:
		info.Height = v
	case tiffBits:
		info.Bits = v
	case tiffPhotometric:
		d.photometric = v
	case tiffSamples:
		info.Components = v
	case tiffExtraSamples:
		d.extra, d.hasExtra = v, true
	}
}
