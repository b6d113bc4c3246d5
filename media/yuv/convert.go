package yuv

import "encoding/binary"

// Convert writes an image as pixels, at its own size.
func Convert(to Target, p *Picture) error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := to.check(p); err != nil {
		return err
	}
	switch to.Channels {
	case 1:
		return toGray(to, p)
	case 4:
		return toRGBA(to, p)
	}
	return convert(to, p, p.factors(to.Wide))
}

// convert is Plain, or what took its place.
var convert = Plain

// Use has Convert call a faster function that gives the bytes of Plain. It is for
// packages' init.
func Use(f func(Target, *Picture, Factors) error) { convert = f }

// Plain is the definition: what Convert writes, in Go.
func Plain(to Target, p *Picture, f Factors) error {
	for y := range p.Height {
		row := to.Data[y*to.Stride:]
		switch p.Kind {
		case Gray:
			for x := range p.Width {
				v := f.Luma * p.level(0, x, y, f)
				to.put(row, x, f, v+f.Red, v+f.Green, v+f.Blue)
			}
		case RGB:
			for x := range p.Width {
				to.put(row, x, f, f.Luma*p.level(0, x, y, f)+f.Red, f.Luma*p.level(1, x, y, f)+f.Green, f.Luma*p.level(2, x, y, f)+f.Blue)
			}
		case YUV:
			down := between(y, p.ChromaY, p.Siting != TopLeft)
			for x := range p.Width {
				across := between(x, p.ChromaX, p.Siting == Centre)
				l, u, v := f.Luma*p.level(0, x, y, f), p.chroma(1, across, down, f), p.chroma(2, across, down, f)
				to.put(row, x, f, l+f.RedV*v+f.Red, l+f.GreenU*u+f.GreenV*v+f.Green, l+f.BlueU*u+f.Blue)
			}
		}
	}
	return nil
}

// level returns a sample of a part in parts of a level.
func (p *Picture) level(i, x, y int, f Factors) int64 { return p.sample(i, x, y, f.Depth) << f.Parts }

// sample returns a sample of a part, rounded to a depth if it has more bits.
func (p *Picture) sample(i, x, y, depth int) int64 { return p.sampleOf(&p.Parts[i], x, y, depth) }

func (p *Picture) sampleOf(part *Part, x, y, depth int) int64 {
	at := part.Data[part.First+y*part.Stride+x*part.Step:]
	v := int64(at[0])
	if p.bytesOf(part) == 2 {
		v = int64(binary.LittleEndian.Uint16(at))
	}
	v = v >> part.Shift & (1<<p.Bits - 1)
	if more := p.Bits - depth; more > 0 {
		v = min((v+1<<(more-1))>>more, 1<<depth-1)
	}
	return v
}

// A place is between two samples of chroma: Weight of 1<<bits parts come from the
// second.
type place struct{ first, weight, bits int }

// between returns where a pixel is among samples of which there is one for 1<<shift
// pixels: on the first of these pixels, or in the middle of them.
func between(pixel, shift int, centred bool) place {
	if shift == 0 {
		return place{first: pixel}
	}
	at := 2 * pixel
	if centred {
		at += 1 - 1<<shift
	}
	return place{at >> (shift + 1), at & (2<<shift - 1), shift + 1}
}

// chroma interpolates, in 1<<f.Parts parts of a level. At the edges the outermost sample
// goes on.
func (p *Picture) chroma(i int, across, down place, f Factors) int64 {
	width, height := p.PartSize(i)
	at := func(dx, dy int) int64 {
		return p.sample(i, min(max(across.first+dx, 0), width-1), min(max(down.first+dy, 0), height-1), f.Depth)
	}
	ax, ay := int64(across.weight), int64(down.weight)
	bx, by := 1<<across.bits-ax, 1<<down.bits-ay
	sum := bx * by * at(0, 0)
	if ax > 0 {
		sum += ax * by * at(1, 0)
	}
	if ay > 0 {
		sum += bx * ay * at(0, 1)
	}
	if ax > 0 && ay > 0 {
		sum += ax * ay * at(1, 1)
	}
	if more := across.bits + down.bits - f.Parts; more > 0 {
		return (sum + 1<<(more-1)) >> more
	} else {
		return sum << -more
	}
}

// put writes the pixel in column x of a row.
func (t Target) put(row []byte, x int, f Factors, red, green, blue int64) {
	for i, v := range [3]int64{red, green, blue} {
		v >>= f.Bits
		if t.Wide {
			binary.LittleEndian.PutUint16(row[6*x+2*i:], uint16(min(max(v, 0), 65535)))
		} else {
			row[3*x+i] = byte(min(max(v, 0), 255))
		}
	}
}
