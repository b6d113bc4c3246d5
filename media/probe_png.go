package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

func isPNG(data []byte) bool { return bytes.HasPrefix(data, []byte(pngMagic)) }

const pngMagic = "\x89PNG\r\n\x1a\n"

// probePNG walks all chunks: EXIF may be after the pixels.
func probePNG(data []byte) (Info, error) {
	info := Info{Format: PNG, Orientation: 1}
	kind, body, rest, ok := nextPNGChunk(data[len(pngMagic):])
	switch {
	case !ok:
		return info, cutHeader("PNG")
	case kind == "CgBI":
		return info, fmt.Errorf("%w: PNG in Apple's variant for iOS (CgBI)", ErrUnsupported)
	case kind != "IHDR" || len(body) != 13:
		return info, fmt.Errorf("%w: PNG begins with %d bytes of %q instead of its header", ErrCorrupt, len(body), kind)
	}
	if err := pngHeader(&info, body); err != nil {
		return info, err
	}

	var texts pngTexts
	pixels := false
	for {
		kind, body, rest, ok = nextPNGChunk(rest)
		if kind == "IDAT" {
			pixels = true // which may be cut: that is found when they are decoded
		}
		if !ok || kind == "IEND" {
			break
		}

		switch kind {
		case "tRNS":
			info.Alpha = info.Alpha || !pixels
		case "acTL":
			info.Animated = info.Animated || !pixels && len(body) >= 8 && binary.BigEndian.Uint32(body) > 1
		default:
			texts.take(kind, body)
		}
	}

	if !pixels {
		if kind == "IEND" {
			return info, fmt.Errorf("%w: PNG without pixels", ErrCorrupt)
		}
		return info, fmt.Errorf("%w: PNG ends before its pixels", ErrTruncated)
	}

	info.Orientation = orientation(texts.exif(), texts.xmp)
	return info, nil
}

// nextPNGChunk returns the next chunk. Of one that is cut, it returns the kind alone.
func nextPNGChunk(data []byte) (kind string, body, rest []byte, ok bool) {
	if len(data) < 8 {
		return "", nil, nil, false
	}
	n := uint64(binary.BigEndian.Uint32(data))
	kind = chunkName(data[4:8])
	if n+4 > uint64(len(data)-8) {
		return kind, nil, nil, false
	}
	return kind, data[8 : 8+n], data[8+n+4:], true
}

// chunkName is the name of a chunk that matters here, without an allocation; "other" of
// all others.
func chunkName(name []byte) string {
	for _, known := range [...]string{"IHDR", "IDAT", "IEND", "tRNS", "acTL", "eXIf", "tEXt", "zTXt", "iTXt", "CgBI"} {
		if string(name) == known {
			return known
		}
	}
	return "other"
}

func pngHeader(info *Info, header []byte) error {
	width, height := binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[4:])
	depth, color, compression, filter, interlace := header[8], header[9], header[10], header[11], header[12]
	info.Bits = int(depth)
	info.Progressive = interlace == 1

	var depths string
	switch color {
	case 0:
		info.Components, depths = 1, "\x01\x02\x04\x08\x10"
	case 2:
		info.Components, depths = 3, "\x08\x10"
	case 3:
		info.Components, info.Palette, depths = 1, true, "\x01\x02\x04\x08"
	case 4:
		info.Components, info.Alpha, depths = 2, true, "\x08\x10"
	case 6:
		info.Components, info.Alpha, depths = 4, true, "\x08\x10"
	}

	switch {
	case strings.IndexByte(depths, depth) < 0:
		return fmt.Errorf("%w: PNG of colour type %d with %d bits", ErrCorrupt, color, depth)
	case compression != 0 || filter != 0 || interlace > 1:
		return fmt.Errorf("%w: PNG with compression %d, filter %d, interlace %d", ErrCorrupt, compression, filter, interlace)
	case width > 1<<31-1 || height > 1<<31-1:
		return fmt.Errorf("%w: PNG of %d×%d pixels", ErrCorrupt, width, height)
	}

	info.Width, info.Height = int(width), int(height)
	return checkSize("PNG", info.Width, info.Height)
}
