package media

import (
	"encoding/binary"

	"github.com/headrace/headrace/tensor"
)

// Border gives a colour, by channel and of the pixels' depth, to everything outside of
// inner, which must be in the image; to everything if inner is empty.
func Border(p Pixels, inner Rect, fill [4]uint16) {
	if inner.Width <= 0 || inner.Height <= 0 {
		inner = Rect{0, p.Height, 0, 0}
	}
	n := p.PixelBytes()
	var pixel [8]byte
	for c, v := range fill {
		if p.DType == tensor.Uint16 {
			binary.NativeEndian.PutUint16(pixel[2*c:], v)
		} else {
			pixel[c] = byte(v)
		}
	}
	for y := range p.Height {
		row := p.Row(y)
		if y < inner.Y || y >= inner.Y+inner.Height {
			repeat(row, pixel[:n])
			continue
		}
		repeat(row[:inner.X*n], pixel[:n])
		repeat(row[(inner.X+inner.Width)*n:], pixel[:n])
	}
}

func repeat(dst, pixel []byte) {
	for n := copy(dst, pixel); n < len(dst); { // twice as much each time
		n += copy(dst[n:], dst[:n])
	}
}
