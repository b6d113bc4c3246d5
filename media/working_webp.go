package media

import (
	"encoding/binary"

	"github.com/headrace/headrace/media/internal/vp8l"
)

// webpPlanes is what a library takes to hold what is coded without loss: the image,
// with its colours still transformed, or the alpha channel of a lossy one, which is
// decoded like an image. The pixels of a lossy image go on row by row.
func (i *Info) webpPlanes(src []byte, inGo bool) int64 {
	pixels := int64(i.Width) * int64(i.Height)
	const blocks = 3 // quarters of a byte for each pixel: predictors of blocks of 4 × 4, their colours, and which codes are theirs
	lossless := pixels*4 + pixels*blocks/4
	alpha := int64(0)
	if i.Alpha {
		alpha = pixels
	}

	if inGo {
		return lossless + 2*alpha + pixels*8
	}
	switch kind, packed := webpKind(src); {
	case kind == "VP8 " && packed:
		return lossless + alpha
	case kind == "VP8 ":
		return alpha
	case kind == "VP8L":
		return lossless
	}
	return lossless + 2*alpha // nothing has been read of it
}

// webpKind is the kind of the image, or of the first frame, by the name of its chunk;
// "" where it has not been read. packed says that it has an alpha channel which is coded
// as a lossless image.
func webpKind(src []byte) (kind string, packed bool) {
	if len(src) < 12 {
		return "", false
	}
	for rest := src[12:]; len(rest) >= 8; {
		name, n := string(rest[:4]), int(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		switch name {
		case "VP8L", "VP8 ":
			return name, packed
		case "ALPH":
			packed = packed || len(rest) == 0 || rest[0]&3 != 0
		case "ANMF":
			rest = rest[min(16, len(rest)):]
			continue // the chunks of the frame follow
		}
		rest = rest[min(n+n&1, len(rest)):]
	}
	return "", packed
}

// webpCodes is what a library takes for the prefix codes of a lossless image, or of a
// lossless alpha channel, besides the pixels. The data of a lossless image say how many
// codes it has.
func (i *Info) webpCodes(src []byte, inGo bool) int64 {
	if len(src) < 12 {
		return 0
	}
	n := int64(0)
	webpImages(src[12:], i.Width, i.Height, func(data []byte, width, height int) {
		needs := vp8l.Read(data, width, height)
		group := int64(568 + 4*(2300+660+needs.Cache)) // libwebp's tables, of 8 bits and what is beyond
		if inGo && needs.Groups > 2600 {
			return // which the decoder in Go refuses
		}
		if inGo {
			group = 5*1100 + 16*(280+3*256+40+int64(needs.Cache)) // trees, and tables of their beginnings
		}
		n += int64(needs.Groups) * group
	})
	return n
}

// webpImages calls found for each lossless image of the still image, or of the first
// frame: the image, or its alpha channel. No further one is decoded.
func webpImages(rest []byte, width, height int, found func(data []byte, width, height int)) {
	for alpha := false; len(rest) >= 8; {
		name, n := string(rest[:4]), int(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		body := rest[:min(n, len(rest))]
		switch {
		case name == "VP8L" && len(body) > 5:
			bits := binary.LittleEndian.Uint32(body[1:])
			found(body[5:], int(bits&0x3FFF)+1, int(bits>>14&0x3FFF)+1)
			return
		case name == "ALPH" && !alpha && len(body) > 1 && body[0]&3 == 1:
			alpha = true
			found(body[1:], width, height)
		case name == "VP8 ":
			return
		case name == "ANMF" && len(body) > 16:
			webpImages(body[16:], 1+little24(body[6:]), 1+little24(body[9:]), found)
			return
		}
		rest = rest[min(n+n&1, len(rest)):]
	}
}
