package yuv

import "encoding/binary"

// Resampled is a copy of an image of luma and chroma whose chroma has a sample for each
// 1<<chromaX columns and 1<<chromaY rows, sited as before. Where there are more samples
// than before, they are interpolated linearly; where there are fewer, each is made of all
// those that it stands for. Samples keep their bits.
func (p *Picture) Resampled(chromaX, chromaY int) *Picture {
	to := *p
	to.ChromaX, to.ChromaY = chromaX, chromaY
	if p.Kind != YUV {
		return &to
	}
	width, height := to.PartSize(1)
	inWidth, inHeight := p.PartSize(1)
	across := tapsOf(width, inWidth, p.ChromaX, chromaX, p.Siting == Centre)
	down := tapsOf(height, inHeight, p.ChromaY, chromaY, p.Siting != TopLeft)
	for i := 1; i < 3; i++ {
		part := Part{Data: make([]byte, 2*width*height), Stride: 2 * width, Step: 2}
		if p.Bits == 8 {
			part = Part{Data: part.Data[:width*height], Stride: width, Step: 1}
		}
		for y, v := range down {
			row := part.Data[y*part.Stride:][:part.Stride]
			for x, h := range across {
				sum := int64(0)
				for dy, wy := range v.weights {
					for dx, wx := range h.weights {
						sum += wx * wy * p.sample(i, h.first+dx, v.first+dy, p.Bits)
					}
				}
				one := h.sum * v.sum
				sum = (sum + one/2) / one
				if p.Bits == 8 {
					row[x] = byte(sum)
				} else {
					binary.LittleEndian.PutUint16(row[2*x:], uint16(sum))
				}
			}
		}
		to.Parts[i] = part
	}
	return &to
}

// taps are samples from first on of which another is made, and what these weigh.
type taps struct {
	first   int
	weights []int64
	sum     int64
}

// tapsOf are those of out samples, each for 1<<to pixels, of in samples, each for
// 1<<from. They weigh less with their distance, down to nothing at the wider of both.
func tapsOf(out, in, from, to int, centred bool) []taps {
	place := func(i, shift int) int { // in halves of pixels
		at := 2 * i << shift
		if centred {
			at += 1<<shift - 1
		}
		return at
	}
	reach := 2 << max(from, to)
	all := make([]taps, out)
	for i := range all {
		t, at := &all[i], place(i, to)
		first := min(max((at-reach)>>(from+1), 0), in-1)
		for k := first; k < in && place(k, from) < at+reach; k++ {
			w := int64(reach - max(at-place(k, from), place(k, from)-at))
			if w <= 0 {
				continue
			}
			if t.sum == 0 {
				t.first = k
			}
			t.weights, t.sum = append(t.weights, w), t.sum+w
		}
		if t.sum == 0 { // beyond the last sample
			*t = taps{in - 1, []int64{1}, 1}
		}
	}
	return all
}

// Coded is a copy of an RGB image as luma and chroma of BT.601, limited range, as FFmpeg
// makes it. Samples keep their bits.
func (p *Picture) Coded() *Picture {
	to := *p
	to.Kind, to.Matrix, to.Full, to.ChromaX, to.ChromaY, to.Siting = YUV, BT601, false, 0, 0, Left
	bytes := 1
	if p.Bits > 8 {
		bytes = 2
	}
	for i := range to.Parts {
		to.Parts[i] = Part{Data: make([]byte, p.Width*p.Height*bytes), Stride: p.Width * bytes, Step: bytes}
	}

	one := int64(1) << (p.Bits - 8)
	black, span := int64(0), 256*one-1
	if !p.Full {
		black, span = 16*one, 219*one
	}
	red, blue, _ := BT601.weights()
	kr, kb := int64(red), int64(blue)
	most := int64(1)<<p.Bits - 1
	for y := range p.Height {
		for x := range p.Width {
			r, g, b := p.sample(0, x, y, p.Bits)-black, p.sample(1, x, y, p.Bits)-black, p.sample(2, x, y, p.Bits)-black
			luma := kr*r + (10000-kr-kb)*g + kb*b // in 10000ths
			for i, v := range [3]int64{
				16*one + nearest(219*one*luma, 10000*span),
				128*one + nearest(224*one*(10000*b-luma), 2*(10000-kb)*span),
				128*one + nearest(224*one*(10000*r-luma), 2*(10000-kr)*span),
			} {
				v = min(max(v, 0), most)
				part := &to.Parts[i]
				if part.Data[y*part.Stride+x*bytes] = byte(v); bytes == 2 {
					part.Data[y*part.Stride+2*x+1] = byte(v >> 8)
				}
			}
		}
	}
	return &to
}

// nearest returns a/b, rounded.
func nearest(a, b int64) int64 {
	if a < 0 {
		return -((-a + b/2) / b)
	}
	return (a + b/2) / b
}
