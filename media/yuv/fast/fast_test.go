//go:build cgo

package fast

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media/yuv"
)

// random fills the parts of an image. Each part begins at the first byte of its own
// slice and ends with the last, so that whatever reads beyond them is seen by the
// sanitizer.
func random(r *rand.Rand, p *yuv.Picture, gap, shift int, upside bool) {
	parts := 3
	if p.Kind == yuv.Gray {
		parts = 1
	}
	for i := range parts {
		part := &p.Parts[i]
		part.Shift = shift
		bytes := p.SampleBytes(i)
		part.Step = bytes + gap
		width, height := p.PartSize(i)
		row := (width-1)*part.Step + bytes
		part.Stride = row + r.IntN(4)
		part.Data = make([]byte, (height-1)*part.Stride+row)
		for k := range part.Data {
			part.Data[k] = byte(r.Uint32())
		}
		if r.IntN(4) == 0 {
			for k := range part.Data {
				part.Data[k] = -part.Data[k] >> 7 * 255
			}
		}
		if upside {
			part.First, part.Stride = (height-1)*part.Stride, -part.Stride
		}
	}
}

// C gives the bytes that Go does, with and without AVX2.
func TestItAgreesWithGo(t *testing.T) {
	before := wide
	t.Cleanup(func() { wide = before })
	matrices := []yuv.Matrix{yuv.BT601, yuv.BT709, yuv.BT2020, yuv.SMPTE240, yuv.FCC}
	rapid.Check(t, func(t *rapid.T) {
		p := yuv.Picture{
			Kind:  rapid.SampledFrom([]yuv.Kind{yuv.YUV, yuv.YUV, yuv.YUV, yuv.Gray, yuv.RGB}).Draw(t, "kind"),
			Width: rapid.IntRange(1, 70).Draw(t, "width"), Height: rapid.IntRange(1, 9).Draw(t, "height"),
			Bits: rapid.SampledFrom([]int{8, 8, 9, 10, 12, 14, 16}).Draw(t, "bits"), ChromaX: rapid.IntRange(0, 2).Draw(t, "x"), ChromaY: rapid.IntRange(0, 2).Draw(t, "y"),
			Siting: yuv.Siting(rapid.IntRange(0, 2).Draw(t, "siting")), Matrix: rapid.SampledFrom(matrices).Draw(t, "matrix"), Full: rapid.Bool().Draw(t, "full"),
		}
		shift := rapid.SampledFrom([]int{0, 0, 16 - p.Bits}).Draw(t, "shift")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random(r, &p, rapid.IntRange(0, 3).Draw(t, "gap"), shift, rapid.Bool().Draw(t, "upside"))
		agree(t, &p, before)
	})
}

func agree(t rapid.TB, p *yuv.Picture, best bool) {
	t.Helper()
	for _, words := range []bool{false, true} {
		row := 3 * p.Width
		if words {
			row *= 2
		}
		to := yuv.Target{Stride: row + 3, Wide: words}
		size := (p.Height-1)*to.Stride + row
		yuv.Use(yuv.Plain)
		want := make([]byte, size)
		to.Data = want
		err := yuv.Convert(to, p)
		yuv.Use(convert)
		if err != nil {
			t.Fatal(err)
		}
		for _, wide = range []bool{false, best} {
			to.Data = make([]byte, size)
			if err := yuv.Convert(to, p); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(to.Data, want) {
				t.Fatalf("AVX2 %v, words %v: C differs from Go", wide, words)
			}
		}
	}
}

// Every size, where loops over several pixels end.
func TestSizes(t *testing.T) {
	before := wide
	t.Cleanup(func() { wide = before })
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 67; width++ {
		for height := 1; height <= 5; height++ {
			for _, way := range [][3]int{{8, 0, 0}, {8, 1, 0}, {10, 0, 0}, {10, 0, 6}} { // I420, chroma of NV12, 10 bits, P010
				p := yuv.Picture{Kind: yuv.YUV, Width: width, Height: height, Bits: way[0], ChromaX: 1, ChromaY: 1, Siting: yuv.Siting(r.IntN(3)), Matrix: yuv.BT709}
				random(r, &p, way[1], way[2], false)
				agree(t, &p, before)
			}
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	for _, size := range [][2]int{{640, 360}, {1920, 1080}} {
		for _, way := range [][2]int{{8, 1}, {8, 0}, {10, 1}} {
			b.Run(fmt.Sprintf("%dx%d %d bits chroma %d", size[0], size[1], way[0], way[1]), func(b *testing.B) {
				p := yuv.Picture{Kind: yuv.YUV, Width: size[0], Height: size[1], Bits: way[0], ChromaX: way[1], ChromaY: way[1], Matrix: yuv.BT709}
				random(rand.New(rand.NewPCG(1, 2)), &p, 0, 0, false)
				to := yuv.Target{Data: make([]byte, 3*p.Width*p.Height), Stride: 3 * p.Width}
				for b.Loop() {
					if err := yuv.Convert(to, &p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
