package yuv

import (
	"errors"
	"testing"
)

// planar is a frame with rows of chroma from below, and samples of 16 bits where
// there are more than 8.
func planar(width, height, bits, chromaX, chromaY int) *Picture {
	p := &Picture{Kind: YUV, Width: width, Height: height, Bits: bits, ChromaX: chromaX, ChromaY: chromaY, Matrix: BT601}
	for i := range p.Parts {
		bytes := p.SampleBytes(i)
		w, h := p.PartSize(i)
		part := Part{Data: make([]byte, (h*(w+3))*bytes), Stride: (w + 3) * bytes, Step: bytes}
		for y := range h {
			for x := range w {
				v := (i*1000 + y*31 + x*7) % (1 << bits)
				at := part.Data[y*part.Stride+x*bytes:]
				if at[0] = byte(v); bytes == 2 {
					at[1] = byte(v >> 8)
				}
			}
		}
		if i > 0 {
			part.First, part.Stride = (h-1)*part.Stride, -part.Stride
		}
		p.Parts[i] = part
	}
	return p
}

func TestPlanesHaveEverySample(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {7, 5}, {8, 5}, {5, 8}, {33, 17}} {
		for _, bits := range []int{8, 10, 16} {
			for _, l := range []Planes{
				{ChromaX: 1, ChromaY: 1}, {ChromaX: 1, ChromaY: 1, Interleaved: true}, {ChromaX: 1, ChromaY: 1, Wide: true},
				{ChromaX: 1, ChromaY: 1, Interleaved: true, Wide: true}, {ChromaX: 1}, {ChromaX: 1, Wide: true}, {}, {Wide: true},
			} {
				l.Width, l.Height = size[0], size[1]
				p := planar(l.Width, l.Height, bits, l.ChromaX, l.ChromaY)
				to := make([]byte, l.Bytes())
				if err := l.Write(to, p); err != nil {
					t.Fatal(err)
				}
				at := func(n int) int64 {
					if l.Wide {
						return int64(to[2*n]) | int64(to[2*n+1])<<8
					}
					return int64(to[n])
				}
				want := func(i, x, y int) int64 {
					if l.Wide {
						return p.sample(i, x, y, 16)
					}
					return p.sample(i, x, y, 8)
				}
				_, columns := l.Shape()
				for y := range l.Height {
					for x := range columns {
						if got, want := at(y*columns+x), want(0, min(x, l.Width-1), y); got != want {
							t.Fatalf("%+v, %d bits: luma %d,%d is %d, want %d", l, bits, x, y, got, want)
						}
					}
				}
				width, height := l.Chroma()
				for i := range 2 {
					for y := range height {
						for x := range width {
							n := l.Height*columns + (i*height+y)*width + x
							if l.Interleaved {
								n = l.Height*columns + 2*(y*width+x) + i
							}
							if got, want := at(n), want(1+i, x, y); got != want {
								t.Fatalf("%+v, %d bits: chroma %d of %d,%d is %d, want %d", l, bits, i, x, y, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestPlanesApart(t *testing.T) {
	p := planar(7, 4, 10, 1, 1)
	for _, wide := range []bool{false, true} {
		a := p.Apart(6, wide)
		if err := a.Check(); err != nil || a.Width != 4 || a.Height != 7 {
			t.Fatalf("%d×%d: %v", a.Width, a.Height, err)
		}
		depth := 8
		if wide {
			depth = 16
		}
		for i := range p.Parts {
			w, h := p.PartSize(i)
			for y := range w {
				for x := range h {
					if got, want := a.sample(i, x, y, depth), p.sample(i, y, h-1-x, depth); got != want {
						t.Fatalf("part %d at %d,%d: %d, want %d", i, x, y, got, want)
					}
				}
			}
		}
	}
}

func TestPlanesOfOtherFramesAreRefused(t *testing.T) {
	l := Planes{Width: 8, Height: 4, ChromaX: 1, ChromaY: 1}
	to := make([]byte, l.Bytes())
	other := planar(8, 4, 8, 1, 1)
	other.ChromaX = 0
	short := planar(8, 4, 8, 1, 1)
	short.Parts[2].Data = short.Parts[2].Data[:3]
	for _, p := range []*Picture{planar(8, 6, 8, 1, 1), other, short} {
		if l.Write(to, p) == nil {
			t.Errorf("%+v was written", p)
		}
	}
	if err := l.Write(to[1:], planar(8, 4, 8, 1, 1)); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}
