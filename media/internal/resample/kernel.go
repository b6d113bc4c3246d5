package resample

import "encoding/binary"

// Half is added before the bits after the point are cut off.
const (
	Half     = 1 << (Bits - 1)
	wideHalf = 1 << (WideBits - 1)
)

// Row computes one row of pixels of 8 bits with so many channels: dst has a pixel for
// every span of t, src begins with pixel lo of the row that t is for.
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

// lane is how many sums a column works on at a time. Its input is read row by row, as
// it is in memory: a tall image has thousands of rows for one of the result, and
// going down them for each byte would miss the cache at every step.
const lane = 256

// Column computes one row of bytes out of the rows below each other in src, of which
// the first is row lo of the image.
func Column(dst, src []byte, stride, lo int, s Span, weights []int32) {
	weights = weights[s.At : s.At+s.Len]
	src = src[(int(s.Start)-lo)*stride:]
	var sums [lane]int32
	for at := 0; at < len(dst); at += lane {
		out := dst[at:min(at+lane, len(dst))]
		for i := range out {
			sums[i] = Half
		}
		for k, w := range weights {
			sums := sums[:len(out)]
			for i, v := range src[k*stride+at:][:len(sums)] {
				sums[i] += w * int32(v)
			}
		}
		for i := range out {
			out[i] = clip(sums[i])
		}
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

// WideColumn is Column for rows of 16 bits in the machine's byte order, whose table
// must be wide.
func WideColumn(dst, src []byte, stride, lo int, s Span, weights []int32) {
	weights = weights[s.At : s.At+s.Len]
	src = src[(int(s.Start)-lo)*stride:]
	var sums [lane]int64
	for at := 0; at < len(dst); at += 2 * lane {
		out := dst[at:min(at+2*lane, len(dst))]
		n := len(out) / 2
		for i := range n {
			sums[i] = wideHalf
		}
		for k, w := range weights {
			in, w := src[k*stride+at:][:2*n], int64(w)
			for i := range sums[:n] {
				sums[i] += w * int64(binary.NativeEndian.Uint16(in[2*i:2*i+2]))
			}
		}
		for i := range n {
			binary.NativeEndian.PutUint16(out[2*i:], wideClip(sums[i]))
		}
	}
}

func wideClip(sum int64) uint16 { return uint16(min(max(sum>>WideBits, 0), 65535)) }
