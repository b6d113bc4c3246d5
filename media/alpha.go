package media

import (
	"encoding/binary"

	"github.com/headrace/headrace/tensor"
)

// multiplyAlpha multiplies colours with how opaque they are, rounded to the nearest
// level.
func multiplyAlpha(p Pixels) {
	for y := range p.Height {
		row := p.Row(y)
		if p.DType == tensor.Uint8 {
			for ; len(row) > 0; row = row[4:] {
				for c := range 3 {
					row[c] = by255(uint32(row[c]) * uint32(row[3]))
				}
			}
			continue
		}
		for ; len(row) > 0; row = row[8:] {
			a := uint64(binary.NativeEndian.Uint16(row[6:]))
			for c := range 3 {
				v := uint64(binary.NativeEndian.Uint16(row[2*c:]))
				binary.NativeEndian.PutUint16(row[2*c:], uint16((v*a+32767)/65535))
			}
		}
	}
}

// divideAlpha undoes multiplyAlpha as far as that can be done. Of 8 bits it drops
// fractions, as Pillow does; of 16 it rounds to the nearest.
func divideAlpha(p Pixels) {
	for y := range p.Height {
		row := p.Row(y)
		if p.DType == tensor.Uint8 {
			for ; len(row) > 0; row = row[4:] {
				for c := range 3 {
					if a := uint32(row[3]); a != 0 {
						row[c] = byte(min(255*uint32(row[c])/a, 255))
					}
				}
			}
			continue
		}
		for ; len(row) > 0; row = row[8:] {
			a := uint64(binary.NativeEndian.Uint16(row[6:]))
			for c := range 3 {
				if v := uint64(binary.NativeEndian.Uint16(row[2*c:])); a != 0 {
					binary.NativeEndian.PutUint16(row[2*c:], uint16(min((65535*v+a/2)/a, 65535)))
				}
			}
		}
	}
}

// onto lays an image with an alpha channel over a background, in place, and returns it
// without the channel, as RGB or Gray, at the beginning of the same rows. Of 8 bits
// that is what Pillow's paste does with the alpha channel as the mask.
func onto(p Pixels, background [3]uint8, to Color) Pixels {
	out := p
	out.Color = to
	n, step := p.PixelBytes(), out.PixelBytes()
	for y := range p.Height {
		row := p.Row(y)
		for x := range p.Width {
			if p.DType == tensor.Uint8 {
				onto8(row[x*step:], row[x*n:], background, to)
			} else {
				onto16(row[x*step:], row[x*n:], background, to)
			}
		}
	}
	return out
}

func onto8(dst, src []byte, background [3]uint8, to Color) {
	var v [3]uint8
	a := uint32(src[3])
	for c := range v {
		v[c] = by255(uint32(background[c])*(255-a) + uint32(src[c])*a)
	}
	if to == Gray {
		dst[0] = lightness(v[0], v[1], v[2])
		return
	}
	copy(dst, v[:])
}

func onto16(dst, src []byte, background [3]uint8, to Color) {
	order := binary.NativeEndian
	var v [3]uint16
	a := uint64(order.Uint16(src[6:]))
	for c := range v {
		v[c] = uint16((257*uint64(background[c])*(65535-a) + uint64(order.Uint16(src[2*c:]))*a + 32767) / 65535)
	}
	if to == Gray {
		order.PutUint16(dst, lightness(v[0], v[1], v[2]))
		return
	}
	for c := range v {
		order.PutUint16(dst[2*c:], v[c])
	}
}

// by255 divides by 255 and rounds to the nearest.
func by255(v uint32) uint8 { return uint8((v + 127) / 255) }
