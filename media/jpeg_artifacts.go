package media

import (
	"fmt"
	"sync"
)

// JPEGArtifacts gives an image the faults that it has after it was a JPEG, whose quality
// is a whole number between the bounds of Quality, evenly. Alpha stays.
type JPEGArtifacts struct {
	Quality [2]int `json:"quality"` // from 1 to 100
}

// Check refuses parameters beyond their bounds.
func (o JPEGArtifacts) Check() error {
	if o.Quality[0] < 1 || o.Quality[0] > o.Quality[1] || o.Quality[1] > 100 {
		return fmt.Errorf("%w: jpeg: quality %v must be two rising numbers from 1 to 100", ErrGeometry, o.Quality)
	}
	return nil
}

// Result tells the form after the operation.
func (o JPEGArtifacts) Result(in Form) (Form, error) { return in, in.checkByteColors("jpeg") }

func (o JPEGArtifacts) name() string { return "jpeg" }

// place uses draw 0.
func (o JPEGArtifacts) place(p *Plan, id uint64, r Rand) error {
	quality := o.Quality[0] + below(r.Float64(id, 0), o.Quality[1]-o.Quality[0]+1)
	if p.tells() {
		p.tell(map[string]any{"quality": quality})
	}
	p.pass(Pass{Effect: &jpegArtifacts, Args: Args{float32(quality)}})
	return nil
}

// jpegArtifacts has the quality as its number, and follows libjpeg with its slow whole
// numbers and one chroma sample for 2 × 2 pixels. What a JPEG codes without loss is left
// out. Rows of blocks are done one after the other.
var jpegArtifacts = Effect{
	Name:  "jpeg",
	Fixed: true,
	Reach: func(*Args) int { return Everywhere },
	Extra: func(*Args) int { return 6 },
	Check: checkBytes("jpeg", func(a *Args) error {
		if a[0] != float32(int(a[0])) {
			return fmt.Errorf("%w: jpeg of quality %v", ErrGeometry, a[0])
		}
		return JPEGArtifacts{[2]int{int(a[0]), int(a[0])}}.Check()
	}),
	Apply: func(a *Args, p Pixels) Pixels {
		s := jpegScratches.Get().(*jpegScratch)
		s.spoil(p, int(a[0]))
		if cap(s.memory) <= 1<<22 {
			jpegScratches.Put(s)
		}
		return p
	},
}

type jpegScratch struct{ memory []byte }

var jpegScratches = sync.Pool{New: func() any { return new(jpegScratch) }}

// jpegPlane has one component, in whole blocks.
type jpegPlane struct {
	at            []byte
	stride        int
	width, height int // of what the image has of it
}

// plane takes memory for so many samples.
func (s *jpegScratch) plane(width, height int) jpegPlane {
	stride := (width + 7) &^ 7
	n := len(s.memory)
	s.memory = s.memory[:n+stride*((height+7)&^7)]
	return jpegPlane{s.memory[n:], stride, width, height}
}

func (s *jpegScratch) spoil(p Pixels, quality int) {
	luma, chroma := JPEGDivisors(quality)
	if n := 3 * (p.Width + 16) * (p.Height + 16); cap(s.memory) < n {
		s.memory = make([]byte, 0, n)
	}
	s.memory = s.memory[:0]
	y := s.plane(p.Width, p.Height)
	if p.colors() == 1 {
		for i := range p.Height {
			copy(y.at[i*y.stride:], p.Row(i))
		}
		y.repeatColumn()
		y.spoil(&luma)
		for i := range p.Height {
			copy(p.Row(i), y.at[i*y.stride:])
		}
		return
	}
	cb, cr := s.plane((p.Width+1)/2, (p.Height+1)/2), s.plane((p.Width+1)/2, (p.Height+1)/2)
	toPlanes(p, y, cb, cr)
	y.repeatColumn()
	y.spoil(&luma)
	cb.spoil(&chroma)
	cr.spoil(&chroma)
	fromPlanes(p, y, cb, cr)
}

// toPlanes has the mean of 2 × 2 pixels in chroma, rounded down and up in turn.
func toPlanes(p Pixels, luma, blue, red jpegPlane) {
	n := p.Color.Channels()
	for y := 0; y < p.Height; y += 2 {
		above, below := p.Row(y), p.Row(min(y+1, p.Height-1))
		l0, l1 := luma.at[y*luma.stride:], luma.at[min(y+1, p.Height-1)*luma.stride:]
		cb, cr := blue.at[y/2*blue.stride:], red.at[y/2*red.stride:]
		for i := range blue.stride { // beyond the image its last column goes on, and not that of chroma
			x, next := min(2*i, p.Width-1), min(2*i+1, p.Width-1)
			var sumB, sumR int32
			for _, at := range [4]struct {
				row, to []byte
				x       int
			}{{above, l0, x}, {above, l0, next}, {below, l1, x}, {below, l1, next}} {
				px := at.row[at.x*n:]
				r, g, b := int32(px[0]), int32(px[1]), int32(px[2])
				at.to[at.x] = uint8((19595*r + 38470*g + 7471*b + 1<<15) >> 16)
				sumB += (-11059*r - 21709*g + 32768*b + 128<<16 + 1<<15 - 1) >> 16
				sumR += (32768*r - 27439*g - 5329*b + 128<<16 + 1<<15 - 1) >> 16
			}
			bias := int32(1 + i&1)
			cb[i], cr[i] = uint8((sumB+bias)>>2), uint8((sumR+bias)>>2)
		}
	}
}

// repeatColumn fills the last blocks with the last column.
func (p jpegPlane) repeatColumn() {
	for y := range p.height {
		row := p.at[y*p.stride:][:p.stride]
		for x := p.width; x < p.stride; x++ {
			row[x] = row[p.width-1]
		}
	}
}

// spoil does to all blocks what coding and decoding does. Beyond the image its last row
// goes on.
func (p jpegPlane) spoil(divisors *[64]uint16) {
	rows := (p.height + 7) &^ 7
	for y := p.height; y < rows; y++ {
		copy(p.at[y*p.stride:][:p.stride], p.at[(p.height-1)*p.stride:])
	}
	for y := 0; y < rows; y += 8 {
		for x := 0; x < p.stride; x += 8 {
			spoilBlock(p.at[y*p.stride+x:], p.stride, divisors)
		}
	}
}

func spoilBlock(at []byte, stride int, divisors *[64]uint16) {
	var b [64]int32
	for y := range 8 {
		for x, v := range at[y*stride:][:8] {
			b[8*y+x] = int32(v) - 128
		}
	}
	for y := range 8 {
		forward(&b, 8*y, 1, 2)
	}
	for x := range 8 {
		forward(&b, x, 8, -2)
	}

	for i, v := range b {
		by := int32(divisors[i]) // 8 times what a JPEG states, since the sums are so, too
		n := (max(v, -v) + by/2) / by * (by / 8)
		if v < 0 {
			n = -n
		}
		b[i] = n
	}
	for x := range 8 {
		backward(&b, x, 8, 11)
	}
	for y := range 8 {
		backward(&b, 8*y, 1, 18)
	}
	for y := range 8 {
		for x, v := range b[8*y:][:8] {
			at[y*stride+x] = uint8(min(max(v+128, 0), 255))
		}
	}
}

// Cosines, with 13 bits of fraction, in sums as Loeffler, Ligtenberg and Moschytz take
// them: libjpeg's jfdctint.c has them, too.
const (
	cos0298 = 2446
	cos0390 = 3196
	cos0541 = 4433
	cos0765 = 6270
	cos0899 = 7373
	cos1175 = 9633
	cos1501 = 12299
	cos1847 = 15137
	cos1961 = 16069
	cos2053 = 16819
	cos2562 = 20995
	cos3072 = 25172
)

// round8 divides by a power of two, halves up.
func rounded(v int32, bits uint) int32 { return (v + 1<<(bits-1)) >> bits }

// forward transforms eight numbers. The result has so many more bits of fraction; of the
// second pass fewer.
func forward(b *[64]int32, at, step, fraction int) {
	v := func(i int) *int32 { return &b[at+i*step] }
	s0, d0 := *v(0)+*v(7), *v(0)-*v(7)
	s1, d1 := *v(1)+*v(6), *v(1)-*v(6)
	s2, d2 := *v(2)+*v(5), *v(2)-*v(5)
	s3, d3 := *v(3)+*v(4), *v(3)-*v(4)

	e0, e3, e1, e2 := s0+s3, s0-s3, s1+s2, s1-s2
	if fraction > 0 {
		*v(0), *v(4) = (e0+e1)<<fraction, (e0-e1)<<fraction
	} else {
		*v(0), *v(4) = rounded(e0+e1, uint(-fraction)), rounded(e0-e1, uint(-fraction))
	}
	bits := uint(13 - fraction)
	z := (e2 + e3) * cos0541
	*v(2), *v(6) = rounded(z+e3*cos0765, bits), rounded(z-e2*cos1847, bits)

	z1, z2, z3, z4 := -(d3+d0)*cos0899, -(d2+d1)*cos2562, d3+d1, d2+d0
	z5 := (z3 + z4) * cos1175
	z3, z4 = z5-z3*cos1961, z5-z4*cos0390
	*v(7) = rounded(d3*cos0298+z1+z3, bits)
	*v(5) = rounded(d2*cos2053+z2+z4, bits)
	*v(3) = rounded(d1*cos3072+z2+z3, bits)
	*v(1) = rounded(d0*cos1501+z1+z4, bits)
}

// backward transforms eight numbers back, and drops so many bits of fraction.
func backward(b *[64]int32, at, step int, bits uint) {
	v := func(i int) *int32 { return &b[at+i*step] }
	z := (*v(2) + *v(6)) * cos0541
	e2, e3 := z-*v(6)*cos1847, z+*v(2)*cos0765
	e0, e1 := (*v(0)+*v(4))<<13, (*v(0)-*v(4))<<13
	s0, s3, s1, s2 := e0+e3, e0-e3, e1+e2, e1-e2

	o0, o1, o2, o3 := *v(7), *v(5), *v(3), *v(1)
	z1, z2, z3, z4 := -(o0+o3)*cos0899, -(o1+o2)*cos2562, o0+o2, o1+o3
	z5 := (z3 + z4) * cos1175
	z3, z4 = z5-z3*cos1961, z5-z4*cos0390
	o0, o1 = o0*cos0298+z1+z3, o1*cos2053+z2+z4
	o2, o3 = o2*cos3072+z2+z3, o3*cos1501+z1+z4

	*v(0), *v(7) = rounded(s0+o3, bits), rounded(s0-o3, bits)
	*v(1), *v(6) = rounded(s1+o2, bits), rounded(s1-o2, bits)
	*v(2), *v(5) = rounded(s2+o1, bits), rounded(s2-o1, bits)
	*v(3), *v(4) = rounded(s3+o0, bits), rounded(s3-o0, bits)
}

// fromPlanes makes colours of components. A chroma sample counts three times, and its
// neighbour next to a pixel once, across and down; in images of up to four columns it is
// that of its pixels, as libjpeg has it.
func fromPlanes(p Pixels, luma, blue, red jpegPlane) {
	n := p.Color.Channels()
	sum := func(c jpegPlane, x, y, beside int) int32 {
		return 3*int32(c.at[y*c.stride+x]) + int32(c.at[beside*c.stride+x])
	}
	at := func(c jpegPlane, x, y int) int32 {
		if c.width <= 2 {
			return int32(c.at[y/2*c.stride+x/2]) - 128
		}
		near, beside, half := y/2, min(max(y/2-1+y&1*2, 0), c.height-1), int32(8-x&1)
		other := min(max(x/2-1+x&1*2, 0), c.width-1)
		return (3*sum(c, x/2, near, beside)+sum(c, other, near, beside)+half)>>4 - 128
	}
	for y := range p.Height {
		row := p.Row(y)
		for x := range p.Width {
			l, cb, cr := int32(luma.at[y*luma.stride+x]), at(blue, x, y), at(red, x, y)
			px := row[x*n:]
			px[0] = uint8(min(max(l+rounded(91881*cr, 16), 0), 255))
			px[1] = uint8(min(max(l+rounded(-22554*cb-46802*cr, 16), 0), 255))
			px[2] = uint8(min(max(l+rounded(116130*cb, 16), 0), 255))
		}
	}
}

// JPEGDivisors are the divisors of the sums of a block, for kernels: 8 times the tables
// that the standard suggests, for a quality as libjpeg understands it.
func JPEGDivisors(quality int) (luma, chroma [64]uint16) {
	scale := 200 - 2*quality
	if quality < 50 {
		scale = 5000 / quality
	}
	for i := range luma {
		luma[i] = uint16(8 * min(max((int(usualLuma[i])*scale+50)/100, 1), 255))
		chroma[i] = uint16(8 * min(max((int(usualChroma[i])*scale+50)/100, 1), 255))
	}
	return luma, chroma
}

var usualLuma = [64]uint8{
	16, 11, 10, 16, 24, 40, 51, 61,
	12, 12, 14, 19, 26, 58, 60, 55,
	14, 13, 16, 24, 40, 57, 69, 56,
	14, 17, 22, 29, 51, 87, 80, 62,
	18, 22, 37, 56, 68, 109, 103, 77,
	24, 35, 55, 64, 81, 104, 113, 92,
	49, 64, 78, 87, 103, 121, 120, 101,
	72, 92, 95, 98, 112, 100, 103, 99,
}

var usualChroma = func() (t [64]uint8) {
	for i := range t {
		t[i] = 99
	}
	for i, v := range [...]uint8{17, 18, 24, 47, 18, 21, 26, 66, 24, 26, 56, 99, 47, 66, 99, 99} {
		t[i/4*8+i%4] = v
	}
	return t
}()
