package media

import (
	"encoding/binary"

	"github.com/headrace/headrace/tensor"
)

// blend goes from one value to another by factor, and beyond, as Pillow's Image.blend:
// in float32, of which the fraction is dropped. The conversions keep the compiler from
// fusing the multiplication with the addition, which would give other numbers
// elsewhere.
func blend(from, to uint8, factor float32) uint8 {
	x := float32(from) + float32(factor*float32(int(to)-int(from)))
	return uint8(min(max(x, 0), 255))
}

// blendAll goes from one value to those of the pixels.
func blendAll(p Pixels, from uint8, factor float32) {
	t := blendTable(from, factor)
	lookUp(p, &t)
}

func blendTable(from uint8, factor float32) (t Table) {
	for v := range t {
		t[v] = blend(from, uint8(v), factor)
	}
	return t
}

// saturate goes from the lightness of each pixel to its colours.
func saturate(p Pixels, factor float32) {
	if p.Color == Gray {
		return
	}
	n := p.Color.Channels()
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[n:] {
			l := lightness(row[0], row[1], row[2])
			for c := range 3 {
				row[c] = blend(l, row[c], factor)
			}
		}
	}
}

func grayOut(p Pixels) {
	if p.Color == Gray {
		return
	}
	lighten(p, p.PixelBytes(), 3)
}

func toGray(p Pixels) Pixels {
	if p.Color != Gray {
		lighten(p, p.DType.Size(), 1)
		p.Color = Gray
	}
	return p
}

// lighten writes the lightness of each pixel so many times to where the pixel goes,
// which is step bytes from pixel to pixel.
func lighten(p Pixels, step, times int) {
	n := p.PixelBytes()
	for y := range p.Height {
		row := p.Row(y)
		for x := range p.Width {
			from, to := row[x*n:], row[x*step:]
			if p.DType == tensor.Uint8 {
				l := lightness(from[0], from[1], from[2])
				for c := range times {
					to[c] = l
				}
				continue
			}
			order := binary.NativeEndian
			l := lightness(order.Uint16(from), order.Uint16(from[2:]), order.Uint16(from[4:]))
			for c := range times {
				order.PutUint16(to[2*c:], l)
			}
		}
	}
}

// lightness is the luma of ITU-R BT.601, rounded to the nearest, with Pillow's weights.
func lightness[T uint8 | uint16](r, g, b T) T {
	return T((uint32(r)*19595 + uint32(g)*38470 + uint32(b)*7471 + 1<<15) >> 16)
}

// meanLightness is rounded to the nearest.
func meanLightness(p Pixels) uint8 {
	n, sum := p.Color.Channels(), 0
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[n:] {
			if p.Color == Gray {
				sum += int(row[0])
			} else {
				sum += int(lightness(row[0], row[1], row[2]))
			}
		}
	}
	count := p.Width * p.Height
	return uint8((2*sum + count) / (2 * count))
}

// colors is the number of channels without alpha.
func (p Pixels) colors() int { return min(p.Color.Channels(), 3) }
