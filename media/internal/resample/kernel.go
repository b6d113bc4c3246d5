package resample

// Row computes one row of RGB pixels: dst has a pixel for every span of t, src begins with pixel lo of the row that t is for.
func Row(dst, src []byte, lo int, t *Table) {
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
