package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

func isBMP(data []byte) bool {
	// Two letters are few: the size of the header, which follows, is one of a handful.
	return bytes.HasPrefix(data, []byte("BM")) && (len(data) < 18 || knownBMPHeader(data[14:18]))
}

// probeBMP reads the header, in its forms from OS/2 to Windows 5.
func probeBMP(data []byte) (Info, error) {
	info := Info{Format: BMP, Orientation: 1, Components: 3}
	if len(data) < 18 {
		return info, cutHeader("BMP")
	}

	header := data[14:]
	n := binary.LittleEndian.Uint32(header)
	if uint64(n) > uint64(len(header)) {
		return info, cutHeader("BMP")
	}
	header = header[:n]

	compression := uint32(0)
	if n == 12 {
		info.Width, info.Height = int(binary.LittleEndian.Uint16(header[4:])), int(binary.LittleEndian.Uint16(header[6:]))
		info.Bits = int(binary.LittleEndian.Uint16(header[10:]))
	} else {
		info.Width, info.Height = int(int32(binary.LittleEndian.Uint32(header[4:]))), int(int32(binary.LittleEndian.Uint32(header[8:])))
		if info.Height < 0 {
			info.Height = -info.Height // the rows are from top to bottom
		}
		info.Bits = int(binary.LittleEndian.Uint16(header[14:]))
		compression = binary.LittleEndian.Uint32(header[16:])
		// Without masks, the fourth byte of 32 bits means nothing.
		info.setAlpha(compression == 3 && n >= 56 && binary.LittleEndian.Uint32(header[52:]) != 0)
	}

	switch depth := info.Bits; {
	case depth == 1 || depth == 4 || depth == 8:
		info.Palette, info.Components = true, 1
	case depth == 16 || depth == 24 || depth == 32:
		info.Bits = 8 // of a channel; 5 and 6 are widened to it
	case depth == 0 && (compression == 4 || compression == 5):
	default:
		return info, fmt.Errorf("%w: BMP with %d bits per pixel", ErrUnsupported, depth)
	}

	if compression > 3 {
		return info, fmt.Errorf("%w: BMP with %s", ErrUnsupported, bmpCompression(compression))
	}
	return info, nil
}

// knownBMPHeader reports whether the header has a size that some version has.
func knownBMPHeader(size []byte) bool {
	switch binary.LittleEndian.Uint32(size) {
	case 12, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}

func bmpCompression(c uint32) string {
	switch c {
	case 4:
		return "a JPEG inside"
	case 5:
		return "a PNG inside"
	}
	return fmt.Sprintf("compression %d", c)
}
