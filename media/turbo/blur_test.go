//go:build cgo

package turbo

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// blurring is the pass of a blur.
func blurring(t testing.TB, size int, sigma float64) media.Pass {
	t.Helper()
	var plan media.Plan
	op := media.GaussianBlur{KernelSize: size, Sigma: [2]float64{sigma, sigma}}
	if err := media.MakePlan(media.Info{Width: 3, Height: 3}, media.Options{}, []media.Step{{Op: op}}, nil, &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Stages[0].Passes[0]
}

func TestGaussianBlurEqualsGo(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	atEveryLevel(t, func(t *testing.T) {
		for range tier.Cases(150, 1500) {
			p := somePixels(r, media.Color(r.IntN(3)), tensor.Uint8)
			p.Height = 1 + r.IntN(40)
			p.Data = make([]byte, p.Stride*(p.Height-1)+p.Width*p.PixelBytes())
			for i := range p.Data {
				p.Data[i] = byte(r.Uint32())
				if r.IntN(2) == 0 {
					p.Data[i] = -(p.Data[i] & 1)
				}
			}
			pass := blurring(t, 2*r.IntN(64)+1, math.Exp(r.Float64()*6-3))
			want, err := pass.Apply(clone(p))
			if err != nil {
				t.Fatal(err)
			}
			if got := carryOut([]media.Pass{pass}, clone(p)); !bytes.Equal(got.Data, want.Data) { // what is between rows, too
				t.Fatalf("%v of %v differs", pass.Args, p.Form())
			}
		}
	})
}

func BenchmarkGaussianBlur(b *testing.B) {
	for _, side := range []int{224, 1024} {
		p := media.Pixels{Width: side, Height: side, Color: media.RGB, DType: tensor.Uint8, Stride: 3 * side, Data: make([]byte, side*side*3)}
		for i := range p.Data {
			p.Data[i] = byte(i * i)
		}
		for _, size := range []int{3, 9, 23} {
			passes := []media.Pass{blurring(b, size, float64(size)/6)}
			for _, level := range levels() {
				b.Run(fmt.Sprintf("%d/%d/%s", side, size, level), func(b *testing.B) {
					defer setLevel(level)()
					for b.Loop() {
						carryOut(passes, p)
					}
				})
			}
			b.Run(fmt.Sprintf("%d/%d/go", side, size), func(b *testing.B) {
				for b.Loop() {
					passes[0].Effect.Apply(&passes[0].Args, p)
				}
			})
		}
	}
}
