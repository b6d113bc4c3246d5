package media

import (
	"encoding/binary"
	"fmt"
)

func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// probeWebP reads the first chunk, which says everything; EXIF and XMP are in chunks
// at the end.
func probeWebP(data []byte) (Info, error) {
	info := Info{Format: WebP, Orientation: 1, Bits: 8, Components: 3}
	if end := uint64(binary.LittleEndian.Uint32(data[4:])) + 8; end < uint64(len(data)) {
		data = data[:max(end, 12)] // what follows is not the image's
	}

	rest := data[12:]
	if len(rest) < 8 {
		return info, cutHeader("WebP")
	}

	body := rest[8:]
	switch string(rest[:4]) {
	case "VP8 ":
		if len(body) < 10 {
			return info, cutHeader("WebP")
		}
		if body[0]&1 != 0 || string(body[3:6]) != "\x9D\x01\x2A" {
			return info, fmt.Errorf("%w: WebP without a key frame", ErrCorrupt)
		}
		info.Width = int(binary.LittleEndian.Uint16(body[6:])) & 0x3FFF
		info.Height = int(binary.LittleEndian.Uint16(body[8:])) & 0x3FFF
		return info, nil
	case "VP8L":
		if len(body) < 5 {
			return info, cutHeader("WebP")
		}
		bits := binary.LittleEndian.Uint32(body[1:])
		if body[0] != 0x2F || bits>>29 != 0 {
			return info, fmt.Errorf("%w: WebP of an unknown lossless version", ErrCorrupt)
		}
		info.Width, info.Height = int(bits&0x3FFF)+1, int(bits>>14&0x3FFF)+1
		info.setAlpha(bits>>28&1 != 0)
		return info, nil
	case "VP8X":
		if len(body) < 10 {
			return info, cutHeader("WebP")
		}
		return extendedWebP(info, data, body)
	}
	return info, fmt.Errorf("%w: WebP begins with a chunk %.4q", ErrCorrupt, rest[:4])
}

func extendedWebP(info Info, data, header []byte) (Info, error) {
	const alpha, animation = 0x10, 0x02
	info.setAlpha(header[0]&alpha != 0)
	info.Animated = header[0]&animation != 0
	info.Width, info.Height = 1+little24(header[4:]), 1+little24(header[7:])
	if err := checkSize("WebP", info.Width, info.Height); err != nil {
		return info, err
	}
	var exif, xmp []byte
	for rest := data[12:]; len(rest) >= 8; {
		n := uint64(binary.LittleEndian.Uint32(rest[4:]))
		if n > uint64(len(rest)-8) {
			break // a decoder will find that it is cut
		}
		switch body := rest[8 : 8+n]; {
		case string(rest[:4]) == "EXIF" && exif == nil:
			exif = trimEXIF(body)
		case string(rest[:4]) == "XMP " && xmp == nil:
			xmp = body
		}
		rest = rest[8+n:]
		rest = rest[min(uint64(len(rest)), n&1):] // chunks are filled up to an even length
	}
	info.Orientation = orientation(exif, xmp)
	return info, nil
}

// setAlpha notes whether there is an alpha channel, which is a component more.
func (i *Info) setAlpha(has bool) {
	if has {
		i.Alpha = true
		i.Components++
	}
}

func little24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
