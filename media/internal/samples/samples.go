package samples

import "encoding/binary"

// Kind is what a pixel consists of.
type Kind struct {
	Channels int  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
	Wide     bool // 16 bits for each, in the machine's byte order; else 8
}

// PixelBytes is the number of bytes of a pixel.
func (k Kind) PixelBytes() int {
	if k.Wide {
		return 2 * k.Channels
	}
	return k.Channels
}

// Convert writes n pixels of src into dst. Where to has alpha and from has none, pixels
// are opaque.
func Convert(dst []byte, to Kind, src []byte, from Kind, n int) {
	dst, src = dst[:n*to.PixelBytes()], src[:n*from.PixelBytes()]
	switch {
	case to == from:
		copy(dst, src)
	case !to.Wide && !from.Wide:
		narrow(dst, to.Channels, src, from.Channels)
	case from.Wide && to.Wide:
		wide(dst, to, src, from)
	default:
		mixed(dst, to, src, from)
	}
}

// narrow is for 8 bits, which most images have: each pair of kinds has a loop of its
// own.
func narrow(dst []byte, to int, src []byte, from int) {
	switch {
	case from <= 2 && to == 1:
		for i := range dst {
			dst[i] = src[i*from]
		}
	case from <= 2 && to == 3:
		for ; len(dst) >= 3; dst, src = dst[3:], src[from:] {
			dst[0], dst[1], dst[2] = src[0], src[0], src[0]
		}
	case from == 1 && to == 4:
		for i, v := range src {
			p := dst[4*i:][:4:4]
			p[0], p[1], p[2], p[3] = v, v, v, 255
		}
	case from == 2 && to == 4:
		for ; len(dst) >= 4; dst, src = dst[4:], src[2:] {
			dst[0], dst[1], dst[2], dst[3] = src[0], src[0], src[0], src[1]
		}
	case from == 3 && to == 4:
		for ; len(dst) >= 4; dst, src = dst[4:], src[3:] {
			dst[0], dst[1], dst[2], dst[3] = src[0], src[1], src[2], 255
		}
	case from == 4 && to == 3:
		for ; len(dst) >= 3; dst, src = dst[3:], src[4:] {
			dst[0], dst[1], dst[2] = src[0], src[1], src[2]
		}
	case from >= 3 && to == 1:
		for i := range dst {
			p := src[i*from:][:3:3]
			dst[i] = byte(luma(uint32(p[0]), uint32(p[1]), uint32(p[2])))
		}
	}
}

// mixed goes from one depth to the other, a few pixels at a time. What is done to
// colours is done at 8 bits.
func mixed(dst []byte, to Kind, src []byte, from Kind) {
	const some = 64 // pixels
	var had, has [some * 4]byte
	for len(src) > 0 {
		n := min(len(src)/from.PixelBytes(), some)
		in := src[:n*from.PixelBytes()]
		src = src[len(in):]
		if from.Wide {
			for i := range n * from.Channels {
				had[i] = byte(binary.NativeEndian.Uint16(in[2*i:2*i+2]) >> 8)
			}
			in = had[:n*from.Channels]
		}
		out := dst[:n*to.PixelBytes()]
		dst = dst[len(out):]
		if !to.Wide {
			Convert(out, Kind{Channels: to.Channels}, in, Kind{Channels: from.Channels}, n)
			continue
		}
		small := has[:n*to.Channels]
		Convert(small, Kind{Channels: to.Channels}, in, Kind{Channels: from.Channels}, n)
		for i, v := range small { // 257·v in any byte order
			out[2*i], out[2*i+1] = v, v
		}
	}
}

// wide is for 16 bits, pixel by pixel.
func wide(dst []byte, to Kind, src []byte, from Kind) {
	for len(src) > 0 {
		var c [4]uint32
		for i := range from.Channels {
			c[i] = uint32(binary.NativeEndian.Uint16(src[2*i:]))
		}
		src = src[from.PixelBytes():]
		c = recolour(c, from.Channels, to.Channels, 65535)
		for i := range to.Channels {
			binary.NativeEndian.PutUint16(dst[2*i:], uint16(c[i]))
		}
		dst = dst[to.PixelBytes():]
	}
}

// recolour changes the channels of one pixel.
func recolour(c [4]uint32, from, to int, opaque uint32) [4]uint32 {
	switch from {
	case 1:
		c = [4]uint32{c[0], c[0], c[0], opaque}
	case 2:
		c = [4]uint32{c[0], c[0], c[0], c[1]}
	case 3:
		c[3] = opaque
	}
	switch to {
	case 1:
		c[0] = luma(c[0], c[1], c[2])
	case 2:
		c[0], c[1] = luma(c[0], c[1], c[2]), c[3]
	}
	return c
}

// luma is the lightness of a colour: 0.299 red, 0.587 green, 0.114 blue, in 65536ths.
// It fits into 32 bits for 16 bits too.
func luma(r, g, b uint32) uint32 { return (r*19595 + g*38470 + b*7471 + 0x8000) >> 16 }
