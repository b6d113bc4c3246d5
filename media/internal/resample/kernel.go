package resample

import "encoding/binary"

// Half is added before the bits behind the point are cut off.
const (
	Half     = 1 << (Bits - 1)
	wideHalf = 1 << (WideBits - 1)
)

// Row computes one row of pixels of 8 bits with so many channels: dst has a pixel for every span of t, src begins with pixel lo of the row that t is
// for.
func Row(dst, src []byte, channels, lo int, t *Table) {
	if channels == 3 {
		rowRGB(dst, src, lo, t)
		return
	}
	for i, s := range t.Spans {
		in := src[(int(s.Start)-lo)*channels:]
		for c := range channels {
			sum := int32(Half)
			for k, w := range t.Weights[s.At : s.At+s.Len] {
				sum += w * int32(in[k*channels+c])
			}
			dst[i*channels+c] = clip(sum)
		}
	}
}

func rowRGB(dst, src []byte, lo int, t *Table) {
	for i, s := range t.Spans {
		r, g, b := int32(Half), int32(Half), int32(Half)
		in := src[(int(s.Start)-lo)*3:]
		in = in[:s.Len*3]
		for k, w := range t.Weights[s.At : s.At+s.Len] {
			r += w * int32(in[3*k])
			g += w * int32(in[3*k+1])
			b += w * int32(in[3*k+2])
		}
		dst[3*i], dst[3*i+1], dst[3*i+2] = clip(r), clip(g), clip(b)
	}
}

// Column computes one row of bytes out of the rows below each other in src, of which the first is row lo of the picture.
func Column(dst, src []byte, stride, lo int, s Span, weights []int32) {
	w := weights[s.At : s.At+s.Len]
	src = src[(int(s.Start)-lo)*stride:]
	for i := range dst {
		sum := int32(Half)
		for k, w := range w {
			sum += w * int32(src[k*stride+i])
		}
		dst[i] = clip(sum)
	}
}

func clip(sum int32) byte { return byte(min(max(sum>>Bits, 0), 255)) }

// WideRow is Row for pixels of 16 bits in the machine's byte order. t must be wide.
func WideRow(dst, src []byte, channels, lo int, t *Table) {
	for i, s := range t.Spans {
		in := src[(int(s.Start)-lo)*channels*2:]
		for c := range channels {
			sum := int64(wideHalf)
			for k, w := range t.Weights[s.At : s.At+s.Len] {
				sum += int64(w) * int64(binary.NativeEndian.Uint16(in[(k*channels+c)*2:]))
			}
			binary.NativeEndian.PutUint16(dst[(i*channels+c)*2:], wideClip(sum))
		}
	}
}

// WideColumn is Column for rows of 16 bits in the machine's byte order, whose table must be wide.
func WideColumn(dst, src []byte, stride, lo int, s Span, weights []int32) {
	w := weights[s.At : s.At+s.Len]
	src = src[(int(s.Start)-lo)*stride:]
	for i := 0; i < len(dst); i += 2 {
		sum := int64(wideHalf)
		for k, w := range w {
			sum += int64(w) * int64(binary.NativeEndian.Uint16(src[k*stride+i:]))
		}
		binary.NativeEndian.PutUint16(dst[i:], wideClip(sum))
	}
}

func wideClip(sum int64) uint16 { return uint16(min(max(sum>>WideBits, 0), 65535)) }
