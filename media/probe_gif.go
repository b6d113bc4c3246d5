package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

func isGIF(data []byte) bool {
	return bytes.HasPrefix(data, []byte("GIF87a")) || bytes.HasPrefix(data, []byte("GIF89a"))
}

// probeGIF walks to the first frame, and on to see whether there is a second. A frame
// that reaches beyond the canvas enlarges it, as in Pillow.
func probeGIF(data []byte) (Info, error) {
	info := Info{Format: GIF, Orientation: 1, Components: 1, Palette: true, Bits: 8}
	if len(data) < 13 {
		return info, cutHeader("GIF")
	}

	info.Width, info.Height = int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))
	rest, ok := skipPalette(data[13:], data[10])

	for ok && len(rest) > 0 {
		switch rest[0] {
		case ';':
			return info, fmt.Errorf("%w: GIF without an image", ErrCorrupt)
		case '!':
			if len(rest) >= 7 && rest[1] == 0xF9 && rest[2] >= 4 && rest[3]&1 != 0 {
				info.Alpha = true
			}
			rest, ok = skipExtension(rest)
		case ',':
			if len(rest) < 10 {
				return info, cutHeader("GIF")
			}
			err := gifFrame(&info, rest[1:10])
			info.Animated = secondFrame(rest)
			return info, err
		default:
			rest = rest[1:]
		}
	}

	return info, cutHeader("GIF")
}

func gifFrame(info *Info, descriptor []byte) error {
	x, y := int(binary.LittleEndian.Uint16(descriptor)), int(binary.LittleEndian.Uint16(descriptor[2:]))
	width, height := int(binary.LittleEndian.Uint16(descriptor[4:])), int(binary.LittleEndian.Uint16(descriptor[6:]))
	info.Width, info.Height = max(info.Width, x+width), max(info.Height, y+height)
	info.Progressive = descriptor[8]&0x40 != 0
	if width == 0 || height == 0 {
		return fmt.Errorf("%w: GIF whose first frame is of %d×%d pixels", ErrCorrupt, width, height)
	}
	return nil
}

// secondFrame reports whether another frame follows the one that begins here. Of data
// that are cut, it says no.
func secondFrame(frame []byte) bool {
	rest, ok := skipPalette(frame[10:], frame[9])
	if !ok || len(rest) < 1 {
		return false
	}
	for rest, ok = skipBlocks(rest[1:]); ok && len(rest) > 0; {
		switch rest[0] {
		case ';':
			return false
		case ',':
			return true
		case '!':
			rest, ok = skipExtension(rest)
		default:
			rest = rest[1:]
		}
	}
	return false
}

// skipPalette passes over the table of colours that flags announce.
func skipPalette(data []byte, flags byte) (rest []byte, ok bool) {
	n := 0
	if flags&0x80 != 0 {
		n = 3 << (flags&7 + 1)
	}
	if n > len(data) {
		return nil, false
	}
	return data[n:], true
}

func skipExtension(data []byte) (rest []byte, ok bool) {
	if len(data) < 2 {
		return nil, false
	}
	return skipBlocks(data[2:])
}

// skipBlocks passes over blocks up to the empty one that ends them.
func skipBlocks(data []byte) (rest []byte, ok bool) {
	for len(data) > 0 {
		n := int(data[0])
		if n+1 > len(data) {
			return nil, false
		}
		data = data[n+1:]
		if n == 0 {
			return data, true
		}
	}
	return nil, false
}
