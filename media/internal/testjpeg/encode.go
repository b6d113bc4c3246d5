package testjpeg

import (
	"encoding/binary"
	"math/rand/v2"
)

// Layout says how an image is stored. The zero value is a grey baseline image.
type Layout struct {
	Sampling    [][2]int // horizontal and vertical factor of each component; none: one component, grey
	Progressive bool     // a scan for DC, then two for the AC coefficients of each component
	Separate    bool     // baseline: a scan for each component
	Scans       []Scan   // progressive in these scans
	Restart     int      // MCUs between restart markers; 0: none
	Quality     int      // step of the quantisation; 0: 8
	Segments    [][]byte // between the beginning and the frame: marker's second byte and content
}

// Names of the usual layouts of three components.
var (
	S444 = [][2]int{{1, 1}, {1, 1}, {1, 1}}
	S422 = [][2]int{{2, 1}, {1, 1}, {1, 1}}
	S420 = [][2]int{{2, 2}, {1, 1}, {1, 1}}
	S440 = [][2]int{{1, 2}, {1, 1}, {1, 1}}
	S411 = [][2]int{{4, 1}, {1, 1}, {1, 1}}
	S410 = [][2]int{{4, 2}, {1, 1}, {1, 1}}
)

// Noise writes an image of random blobs and noise, which is the same for the same seed.
func Noise(width, height int, seed uint64, l Layout) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var waves [3][4]float64
	for c := range waves {
		for i := range waves[c] {
			waves[c][i] = r.Float64()
		}
	}
	noise := make([]float64, 1<<12)
	for i := range noise {
		noise[i] = r.Float64()*80 - 40
	}
	return Encode(width, height, l, func(c, x, y int) float64 {
		w := waves[c%3]
		v := 128 + 100*triangle(float64(x)*w[0]/9+float64(y)*w[1]/7+w[2])
		return v + noise[(x*31+y*977+c*131)&(len(noise)-1)]
	})
}

func triangle(x float64) float64 {
	x -= float64(int(x))
	return 4*max(x, 1-x) - 3
}

// Encode writes an image. sample gives the value, 0 to 255, of a component at a pixel
// of the whole image; it is averaged where a component has fewer samples. It may be
// asked for pixels beyond the edges.
func Encode(width, height int, l Layout, sample func(component, x, y int) float64) []byte {
	if len(l.Sampling) == 0 {
		l.Sampling = [][2]int{{1, 1}}
	}
	if l.Quality == 0 {
		l.Quality = 8
	}
	e := encoder{layout: l, width: width, height: height, bitWriter: bitWriter{out: []byte{0xFF, 0xD8}}}
	for _, s := range l.Sampling {
		e.hmax, e.vmax = max(e.hmax, s[0]), max(e.vmax, s[1])
	}
	for i, s := range l.Sampling {
		e.components = append(e.components, e.component(i, s, sample))
	}
	e.tables()
	e.frame()
	e.scans()
	e.out = append(e.out, 0xFF, 0xD9)
	return e.out
}

type encoder struct {
	bitWriter
	layout        Layout
	width, height int
	hmax, vmax    int
	components    []component
}

// component holds the quantised coefficients, in zigzag order, of blocks that fill
// whole MCUs.
type component struct {
	h, v         int
	across, down int // blocks, whole MCUs
	cols, rows   int // blocks that the component's own scan has
	blocks       [][64]int
}

func (e *encoder) component(i int, s [2]int, sample func(component, x, y int) float64) component {
	c := component{h: s[0], v: s[1]}
	c.across, c.down = e.mcusAcross()*c.h, e.mcusDown()*c.v
	c.cols = divideUp(divideUp(e.width*c.h, e.hmax), 8)
	c.rows = divideUp(divideUp(e.height*c.v, e.vmax), 8)
	sx, sy := e.hmax/c.h, e.vmax/c.v // pixels for each sample; fractions are not used in tests
	for by := range c.down {
		for bx := range c.across {
			var px [64]float64
			for j := range px {
				x, y := (bx*8+j%8)*sx, (by*8+j/8)*sy
				var sum float64
				for dy := range sy {
					for dx := range sx {
						sum += sample(i, min(x+dx, e.width-1), min(y+dy, e.height-1))
					}
				}
				px[j] = min(max(sum/float64(sx*sy), 0), 255) - 128
			}
			c.blocks = append(c.blocks, quantised(&px, e.layout.Quality))
		}
	}
	return c
}

func (e *encoder) mcusAcross() int { return divideUp(e.width, 8*e.hmax) }
func (e *encoder) mcusDown() int   { return divideUp(e.height, 8*e.vmax) }

func (e *encoder) segment(marker byte, body []byte) {
	e.out = append(e.out, 0xFF, marker)
	e.out = binary.BigEndian.AppendUint16(e.out, uint16(len(body)+2))
	e.out = append(e.out, body...)
}

func (e *encoder) tables() {
	for _, s := range e.layout.Segments {
		e.segment(s[0], s[1:])
	}
	q := make([]byte, 65)
	for i := range 64 {
		q[1+i] = byte(e.layout.Quality)
	}
	e.segment(0xDB, q)
	e.segment(0xC4, huffmanTable(0x00, dcSymbols, 4))
	e.segment(0xC4, huffmanTable(0x10, acSymbols, 8))
	if e.layout.Scans != nil {
		e.segment(0xC4, huffmanTable(0x11, endSymbols, 8))
	}
	if e.layout.Restart > 0 {
		e.segment(0xDD, binary.BigEndian.AppendUint16(nil, uint16(e.layout.Restart)))
	}
}

func (e *encoder) frame() {
	marker := byte(0xC0)
	if e.layout.Progressive || e.layout.Scans != nil {
		marker = 0xC2
	}
	body := []byte{8}
	body = binary.BigEndian.AppendUint16(body, uint16(e.height))
	body = binary.BigEndian.AppendUint16(body, uint16(e.width))
	body = append(body, byte(len(e.components)))
	for i, c := range e.components {
		body = append(body, byte(i+1), byte(c.h<<4|c.v), 0)
	}
	e.segment(marker, body)
}

func (e *encoder) scans() {
	all := upTo(len(e.components))
	switch {
	case e.layout.Scans != nil:
		for _, s := range e.layout.Scans {
			p := progressive{bitWriter: &e.bitWriter, scan: s}
			e.scan(s, 1, p.block, p.end)
		}
	case e.layout.Progressive:
		e.sequential(all, 0, 0)
		for i := range e.components {
			e.sequential([]int{i}, 1, 5)
		}
		for i := range e.components {
			e.sequential([]int{i}, 6, 63)
		}
	case e.layout.Separate:
		for i := range e.components {
			e.sequential([]int{i}, 0, 63)
		}
	default:
		e.sequential(all, 0, 63)
	}
}

// sequential writes coefficients from to last of some components.
func (e *encoder) sequential(which []int, from, last int) {
	block := func(c *[64]int, dc *int) { e.block(c, dc, from, last) }
	e.scan(Scan{Components: which, From: from, To: last}, 0, block, func() {})
}

// scan writes a scan with an AC table. block writes a block, end what is kept of those
// before.
func (e *encoder) scan(s Scan, table byte, block func(c *[64]int, dc *int), end func()) {
	body := []byte{byte(len(s.Components))}
	for _, i := range s.Components {
		body = append(body, byte(i+1), table)
	}
	e.segment(0xDA, append(body, byte(s.From), byte(s.To), byte(s.High<<4|s.Low)))

	across, down := e.mcusAcross(), e.mcusDown()
	single := len(s.Components) == 1
	if single {
		c := &e.components[s.Components[0]]
		across, down = c.cols, c.rows
	}

	dc := make([]int, len(e.components))
	for mcu := range across * down {
		if r := e.layout.Restart; r > 0 && mcu > 0 && mcu%r == 0 {
			end()
			e.flush()
			e.out = append(e.out, 0xFF, 0xD0+byte(mcu/r-1)&7)
			clear(dc)
		}

		x, y := mcu%across, mcu/across
		for _, i := range s.Components {
			c := &e.components[i]
			h, v := c.h, c.v
			if single {
				h, v = 1, 1
			}
			for j := range h * v {
				block(&c.blocks[(y*v+j/h)*c.across+x*h+j%h], &dc[i])
			}
		}
	}

	end()
	e.flush()
}

func divideUp(a, b int) int { return (a + b - 1) / b }
