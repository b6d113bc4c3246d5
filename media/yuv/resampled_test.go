package yuv

import (
	"math"
	"slices"
	"testing"
)

// Chroma that gets more samples is where a conversion to RGB takes it to be.
func TestMoreChromaIsInterpolated(t *testing.T) {
	for _, sub := range [][2]int{{1, 1}, {1, 0}, {0, 1}, {2, 0}, {2, 2}} {
		for siting := Left; siting <= TopLeft; siting++ {
			for _, bits := range []int{8, 10, 16} {
				p := planar(13, 9, bits, sub[0], sub[1])
				p.Siting = siting
				full := p.Resampled(0, 0)
				if err := full.Check(); err != nil || full.ChromaX != 0 || full.ChromaY != 0 {
					t.Fatal(err)
				}
				f := Factors{Depth: bits, Parts: 8}
				for y := range p.Height {
					for x := range p.Width {
						across, down := between(x, p.ChromaX, siting == Centre), between(y, p.ChromaY, siting != TopLeft)
						for i := 1; i < 3; i++ {
							want := float64(p.chroma(i, across, down, f)) / 256
							if got := full.sample(i, x, y, bits); math.Abs(float64(got)-want) > 0.51 {
								t.Fatalf("%v, siting %d, %d bits: %d,%d is %d, want %v", sub, siting, bits, x, y, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// Fewer samples have the mean of those that they stand for, and are sited as before: a
// slope stays the same slope.
func TestLessChroma(t *testing.T) {
	for _, sub := range [][2]int{{1, 1}, {1, 0}, {0, 1}} {
		for siting := Left; siting <= TopLeft; siting++ {
			p := planar(16, 12, 10, 0, 0)
			p.Siting = siting
			for i := 1; i < 3; i++ {
				part := &p.Parts[i]
				for y := range p.Height {
					for x := range p.Width {
						at := part.Data[part.First+y*part.Stride+2*x:]
						v := 100 + 8*x + 16*y
						at[0], at[1] = byte(v), byte(v>>8)
					}
				}
			}
			small := p.Resampled(sub[0], sub[1])
			width, height := small.PartSize(1)
			for y := 1; y < height-1; y++ {
				for x := 1; x < width-1; x++ {
					place := func(i, shift int, centred bool) float64 {
						if at := float64(i << shift); !centred {
							return at
						}
						return float64(i<<shift) + float64(int(1)<<shift-1)/2
					}
					want := 100 + 8*place(x, sub[0], siting == Centre) + 16*place(y, sub[1], siting != TopLeft)
					if got := small.sample(1, x, y, 10); math.Abs(float64(got)-want) > 0.51 {
						t.Fatalf("%v, siting %d: %d,%d is %d, want %v", sub, siting, x, y, got, want)
					}
				}
			}
		}
	}
}

// RGB comes back from luma and chroma as far as levels of limited range tell.
func TestCodedComesBack(t *testing.T) {
	for _, bits := range []int{8, 10, 16} {
		for _, full := range []bool{true, false} {
			p := planar(32, 20, bits, 0, 0)
			p.Kind, p.Full, p.Matrix = RGB, full, 0
			for i := 1; bits == 16 && i < len(p.Parts[0].Data); i += 2 { // those of planar are nearly black
				for part := range p.Parts {
					p.Parts[part].Data[i] = byte(i * (37 + part))
				}
			}
			colours := func(p *Picture) []byte {
				to := Target{Data: make([]byte, 32*20*3), Stride: 32 * 3}
				if err := Convert(to, p); err != nil {
					t.Fatal(err)
				}
				return to.Data
			}
			want, got := colours(p), colours(p.Coded())
			compared := 0
			for i := range want {
				if pixel := want[i/3*3:][:3]; !full && (slices.Min(pixel) == 0 || slices.Max(pixel) == 255) {
					continue // it may be beyond the range, and is cut off on the way
				}
				if compared++; math.Abs(float64(got[i])-float64(want[i])) > 3 {
					t.Fatalf("%d bits, full %v: byte %d is %d, was %d", bits, full, i, got[i], want[i])
				}
			}
			if compared == 0 {
				t.Errorf("%d bits, full %v: nothing was compared", bits, full)
			}
		}
	}
}

func TestGrayAndAlpha(t *testing.T) {
	for _, bits := range []int{8, 10, 16} {
		for _, kind := range []Kind{YUV, Gray, RGB} {
			for _, wide := range []bool{false, true} {
				p := planar(13, 9, bits, 0, 0)
				p.Kind, p.Full = kind, kind == RGB
				p.Alpha = p.Parts[2]
				n, top := 1, 255.0
				if wide {
					n, top = 2, 65535
				}
				convert := func(channels int) []byte {
					to := Target{Stride: 13*channels*n + 5, Wide: wide, Channels: channels}
					to.Data = make([]byte, 9*to.Stride)
					if err := Convert(to, p); err != nil {
						t.Fatal(err)
					}
					return to.Data
				}
				gray, rgb, rgba := convert(1), convert(3), convert(4)
				at := func(data []byte, x, y, c, channels int) float64 {
					i := y*(13*channels*n+5) + (x*channels+c)*n
					if wide {
						return float64(data[i]) + 256*float64(data[i+1])
					}
					return float64(data[i])
				}
				for y := range 9 {
					for x := range 13 {
						luma := float64(p.sample(0, x, y, bits))
						want := top * min(max((luma-float64(int(16)<<(bits-8)))/float64(int(219)<<(bits-8)), 0), 1)
						if kind == RGB {
							want = 0.299*at(rgb, x, y, 0, 3) + 0.587*at(rgb, x, y, 1, 3) + 0.114*at(rgb, x, y, 2, 3)
						}
						if got := at(gray, x, y, 0, 1); math.Abs(got-want) > 0.66 && !(kind == RGB && math.Abs(got-want) <= 1) {
							t.Fatalf("%d bits of kind %d, wide %v: gray %d,%d is %v, want %v", bits, kind, wide, x, y, got, want)
						}
						for c := range 3 {
							if at(rgba, x, y, c, 4) != at(rgb, x, y, c, 3) {
								t.Fatalf("%d bits of kind %d, wide %v: colours of %d,%d differ", bits, kind, wide, x, y)
							}
						}
						alpha := float64(p.sampleOf(&p.Alpha, x, y, bits)) / float64(int(1)<<bits-1) * top
						if got := at(rgba, x, y, 3, 4); math.Abs(got-alpha) > 0.51 {
							t.Fatalf("%d bits of kind %d, wide %v: alpha %d,%d is %v, want %v", bits, kind, wide, x, y, got, alpha)
						}
					}
				}
				p.Alpha.Data = p.Alpha.Data[:len(p.Alpha.Data)/2]
				if err := Convert(Target{Data: make([]byte, 9*13*8), Stride: 13 * 8, Wide: wide, Channels: 4}, p); err == nil {
					t.Fatal("half of the alpha was taken for all")
				}
			}
		}
	}
}
