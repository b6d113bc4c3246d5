package yuv_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/media/yuv"
)

// ways of putting samples into memory.
const (
	planar = iota
	pairs  // luma; Cb and Cr in turns, as in NV12 and P010
	packed // all in turns
)

// picture makes one with random samples, and returns these, as numbers.
func picture(r *rand.Rand, p yuv.Picture, way, shift int) (yuv.Picture, [3][][]float64) {
	bytes := 1
	if p.Bits+shift > 8 {
		bytes = 2
	}
	var values [3][][]float64
	parts := 3
	if p.Kind == yuv.Gray {
		parts = 1
	}
	var shared []byte
	for i := range parts {
		width, height := p.PartSize(i)
		part := &p.Parts[i]
		part.Step, part.Shift = bytes, shift
		switch {
		case way == packed:
			part.Step = parts * bytes
			part.First = i * bytes
		case way == pairs && i > 0:
			part.Step = 2 * bytes
			part.First = (i - 1) * bytes
		}
		part.Stride = width*part.Step + r.IntN(5)
		if shared != nil && (way == packed || way == pairs && i == 2) {
			part.Data, part.Stride = shared, p.Parts[i-1].Stride
		} else {
			part.Data = make([]byte, height*part.Stride+part.Step)
			for k := range part.Data {
				part.Data[k] = byte(r.Uint32())
			}
			if shared = part.Data; way == pairs && i == 0 {
				shared = nil
			}
		}
		flat := r.IntN(4) == 0 // extremes
		for y := range height {
			row := make([]float64, width)
			for x := range width {
				v := r.IntN(1 << p.Bits)
				if flat {
					v = r.IntN(2) * (1<<p.Bits - 1)
				}
				row[x] = float64(v)
				at := part.Data[part.First+y*part.Stride+x*part.Step:]
				if bytes == 1 {
					at[0] = byte(v)
				} else {
					binary.LittleEndian.PutUint16(at, uint16(v<<shift|int(r.Uint32())&(1<<shift-1)))
				}
			}
			values[i] = append(values[i], row)
		}
	}
	if r.IntN(3) == 0 && way == planar { // upside down, as FFmpeg has some
		for i := range parts {
			_, height := p.PartSize(i)
			part := &p.Parts[i]
			turned := make([]byte, len(part.Data))
			for y := range height {
				copy(turned[(height-1-y)*part.Stride:][:part.Stride], part.Data[y*part.Stride:])
			}
			part.Data, part.First, part.Stride = turned, (height-1)*part.Stride, -part.Stride
		}
	}
	return p, values
}

// model is the formula of ITU-T H.273 in real numbers: the colours of a pixel, from 0 to
// 1.
func model(p *yuv.Picture, values *[3][][]float64, x, y int) [3]float64 {
	top, step := float64(int(1)<<p.Bits-1), float64(int(1)<<(p.Bits-8))
	luma := func(v float64) float64 {
		if p.Full {
			return v / top
		}
		return (v - 16*step) / (219 * step)
	}
	chroma := func(v float64) float64 {
		if p.Full {
			return (v - 128*step) / top
		}
		return (v - 128*step) / (224 * step)
	}
	switch p.Kind {
	case yuv.Gray:
		v := luma(values[0][y][x])
		return [3]float64{v, v, v}
	case yuv.RGB:
		return [3]float64{luma(values[0][y][x]), luma(values[1][y][x]), luma(values[2][y][x])}
	}
	weights := map[yuv.Matrix][2]float64{yuv.BT601: {0.299, 0.114}, yuv.BT470: {0.299, 0.114}, yuv.BT709: {0.2126, 0.0722}, yuv.BT2020: {0.2627, 0.0593}, yuv.SMPTE240: {0.212, 0.087}, yuv.FCC: {0.30, 0.11}}
	kr, kb := weights[p.Matrix][0], weights[p.Matrix][1]
	kg := 1 - kr - kb

	// Where the pixel is among the samples of chroma.
	cx, cy := float64(x)/float64(int(1)<<p.ChromaX), float64(y)/float64(int(1)<<p.ChromaY)
	if p.Siting == yuv.Centre {
		cx = (float64(x)+0.5)/float64(int(1)<<p.ChromaX) - 0.5
	}
	if p.Siting != yuv.TopLeft {
		cy = (float64(y)+0.5)/float64(int(1)<<p.ChromaY) - 0.5
	}
	at := func(plane [][]float64) float64 {
		get := func(x, y float64) float64 {
			row := plane[int(min(max(y, 0), float64(len(plane)-1)))]
			return row[int(min(max(x, 0), float64(len(row)-1)))]
		}
		x0, y0 := math.Floor(cx), math.Floor(cy)
		fx, fy := cx-x0, cy-y0
		return (1-fy)*((1-fx)*get(x0, y0)+fx*get(x0+1, y0)) + fy*((1-fx)*get(x0, y0+1)+fx*get(x0+1, y0+1))
	}
	l, u, v := luma(values[0][y][x]), chroma(at(values[1])), chroma(at(values[2]))
	return [3]float64{l + 2*(1-kr)*v, l - 2*(1-kb)*kb/kg*u - 2*(1-kr)*kr/kg*v, l + 2*(1-kb)*u}
}

// worst is the largest distance of what Convert writes from the model, in levels.
func worst(t *testing.T, p *yuv.Picture, values *[3][][]float64, wide bool) float64 {
	t.Helper()
	bytes, top := 1, 255.0
	if wide {
		bytes, top = 2, 65535
	}
	to := yuv.Target{Stride: 3*p.Width*bytes + 5, Wide: wide}
	to.Data = make([]byte, p.Height*to.Stride)
	if err := yuv.Convert(to, p); err != nil {
		t.Fatal(err)
	}
	far := 0.0
	for y := range p.Height {
		for x := range p.Width {
			for i, want := range model(p, values, x, y) {
				at := to.Data[y*to.Stride+(3*x+i)*bytes:]
				got := float64(at[0])
				if wide {
					got = float64(binary.LittleEndian.Uint16(at))
				}
				far = max(far, math.Abs(got-top*min(max(want, 0), 1)))
			}
		}
		for _, b := range to.Data[y*to.Stride+3*p.Width*bytes : (y+1)*to.Stride] {
			if b != 0 {
				t.Fatal("it wrote after a row")
			}
		}
	}
	return far
}

// limit is how far a result may be off: half a level is rounding.
func limit(wide bool) float64 {
	if wide {
		return 0.51
	}
	return 0.65 // 16 bits are rounded to 12 before
}

func TestFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	subsamplings := [][2]int{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {2, 0}, {2, 2}}
	for _, matrix := range []yuv.Matrix{yuv.BT601, yuv.BT709, yuv.BT2020, yuv.BT470, yuv.SMPTE240, yuv.FCC} {
		for _, full := range []bool{false, true} {
			for _, bits := range []int{8, 10, 12, 16} {
				for _, sub := range subsamplings {
					for siting := yuv.Left; siting <= yuv.TopLeft; siting++ {
						p := yuv.Picture{Kind: yuv.YUV, Width: 1 + r.IntN(33), Height: 1 + r.IntN(17), Bits: bits, ChromaX: sub[0], ChromaY: sub[1], Siting: siting, Matrix: matrix, Full: full}
						p, values := picture(r, p, r.IntN(2), r.IntN(17-bits))
						for _, wide := range []bool{false, true} {
							if far := worst(t, &p, &values, wide); far > limit(wide) {
								t.Errorf("matrix %d, full %v, %d bits, %v, siting %d, wide %v: %.3f levels from the formula", matrix, full, bits, sub, siting, wide, far)
							}
						}
					}
				}
			}
		}
	}
}

func TestGrayAndRGB(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, kind := range []yuv.Kind{yuv.Gray, yuv.RGB} {
		for _, full := range []bool{false, true} {
			for bits := 8; bits <= 16; bits++ {
				for _, way := range []int{planar, packed} {
					p := yuv.Picture{Kind: kind, Width: 1 + r.IntN(33), Height: 1 + r.IntN(17), Bits: bits, Full: full}
					p, values := picture(r, p, way, r.IntN(17-bits))
					for _, wide := range []bool{false, true} {
						if far := worst(t, &p, &values, wide); far > limit(wide) {
							t.Errorf("%v, %d bits, full %v, wide %v: %.3f levels from the formula", kind, bits, full, wide, far)
						}
					}
				}
			}
		}
	}
}

// RGB of 8 bits stays what it is.
func TestSameBytes(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i * 7)
	}
	p := yuv.Picture{Kind: yuv.RGB, Width: 10, Height: 10, Bits: 8, Full: true}
	for i := range p.Parts {
		p.Parts[i] = yuv.Part{Data: data, First: i, Stride: 30, Step: 3}
	}
	got := make([]byte, 300)
	if err := yuv.Convert(yuv.Target{Data: got, Stride: 30}, &p); err != nil {
		t.Fatal(err)
	}
	if string(got) != string(data) {
		t.Error(got)
	}
}

// Images and targets that would be read or written beyond their ends are refused.
func TestRefused(t *testing.T) {
	good := func() (yuv.Target, yuv.Picture) {
		p := yuv.Picture{Kind: yuv.YUV, Width: 5, Height: 3, Bits: 8, ChromaX: 1, ChromaY: 1, Matrix: yuv.BT601}
		p.Parts = [3]yuv.Part{
			{Data: make([]byte, 15), Stride: 5, Step: 1},
			{Data: make([]byte, 6), Stride: 3, Step: 1},
			{Data: make([]byte, 6), Stride: -3, First: 3, Step: 1},
		}
		return yuv.Target{Data: make([]byte, 45), Stride: 15}, p
	}
	to, p := good()
	if err := yuv.Convert(to, &p); err != nil {
		t.Fatal(err)
	}
	for i, spoil := range []func(*yuv.Target, *yuv.Picture){
		func(to *yuv.Target, _ *yuv.Picture) { to.Data = to.Data[:44] },
		func(to *yuv.Target, _ *yuv.Picture) { to.Stride = 14 },
		func(to *yuv.Target, _ *yuv.Picture) { to.Wide = true },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[0].Data = p.Parts[0].Data[:14] },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[0].Stride = 6 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[1].First = 1 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[2].First = 2 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[2].Step = 0 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[0].Shift = 1 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[0].Shift = -1 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Bits = 17 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Bits = 7 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Bits = 9 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Kind = 0 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Kind = 4 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Matrix = 8 },
		func(_ *yuv.Target, p *yuv.Picture) { p.ChromaX = 3 },
		func(_ *yuv.Target, p *yuv.Picture) { p.ChromaX = 0 },
		func(_ *yuv.Target, p *yuv.Picture) { p.ChromaY = -1 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Width = 0 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Height = 1 << 40 },
		func(_ *yuv.Target, p *yuv.Picture) { p.Parts[1].Stride = math.MaxInt },
	} {
		to, p := good()
		spoil(&to, &p)
		if err := yuv.Convert(to, &p); err == nil {
			t.Errorf("%d is taken: %s", i, fmt.Sprint(p.Kind))
		}
	}
}
