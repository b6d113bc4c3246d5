//go:build cgo

package turbo

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

// warps are random geometric operations, and some that turn and cut what they make.
func anyWarp(r *rand.Rand) []media.Op {
	f := []media.Filter{media.Nearest, media.Bilinear, media.Bicubic}[r.IntN(3)]
	fill := [4]uint16{uint16(r.IntN(256)), uint16(r.IntN(256)), uint16(r.IntN(256)), 255}
	ends := func(most float64) [2]float64 { return [2]float64{-most * r.Float64(), most * r.Float64()} }
	ops := []media.Op{[]media.Op{
		media.RandomRotation{Degrees: ends(180), Filter: f, Fill: fill, Expand: r.IntN(2) == 0},
		media.RandomAffine{Degrees: ends(180), Translate: [2]float64{r.Float64(), r.Float64()}, Scale: [2]float64{0.05, 3},
			Shear: [2][2]float64{ends(60), ends(60)}, Filter: f, Fill: fill},
		media.RandomPerspective{Distortion: r.Float64(), P: 1, Filter: f, Fill: fill},
		media.Elastic{Alpha: [2]float64{200 * r.Float64(), 200 * r.Float64()}, Sigma: [2]float64{8 * r.Float64(),
			float64(r.IntN(4))}, Filter: f, Fill: fill},
	}[r.IntN(4)]}
	if r.IntN(3) == 0 {
		ops = append([]media.Op{media.CenterCrop{Height: 1 + r.IntN(60), Width: 1 + r.IntN(60)}}, ops...)
	}
	more := []media.Op{media.RandomFlip{P: 0.5}, media.RandomRotate90{P: 1}, media.CenterCrop{Height: 1 + r.IntN(90),
		Width: 1 + r.IntN(90)},
		media.Pad{Left: r.IntN(5), Top: r.IntN(5), Fill: fill}, media.Invert{}, media.Resize{Size: 20}}
	for range r.IntN(4) {
		ops = append(ops, more[r.IntN(len(more))])
	}
	return ops
}

// Kernels give the bytes of Go, and touch nothing but their rows.
func TestWarpsEqualGo(t *testing.T) {
	atEveryLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			width, height := 1+r.IntN(70), 1+r.IntN(50)
			p := media.Pixels{Width: width, Height: height, Stride: 3*width + r.IntN(4), Color: media.RGB, DType: tensor.Uint8}
			p.Data = decodertest.Random(p.Stride*(height-1)+3*width, r.Uint64())
			var ops []media.Step
			for i, op := range anyWarp(r) {
				ops = append(ops, media.Step{Op: op, ID: uint64(i)})
			}
			var plan media.Plan
			o := media.Options{}
			if err := media.MakePlan(media.Info{Width: width, Height: height}, o, ops, decodertest.Hashed(r.Uint64()), &plan); err != nil {
				t.Fatal(err)
			}
			stride := 3*plan.Width + r.IntN(4)
			got, want := make([]byte, stride*plan.Height), make([]byte, stride*plan.Height)
			if err := (media.GoRunner{}).Run(want, stride, p, &plan); err != nil {
				t.Fatal(err)
			}
			if err := (Runner{}).Run(got, stride, p, &plan); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%v of %d×%d: byte %d of a row of %d, row %d: %d, want %d\n%+v", ops, width, height,
						i%stride, stride, i/stride,
						got[i], want[i], plan.Stages)
				}
			}
		})
	})
}

func BenchmarkWarps(b *testing.B) {
	for _, side := range []int{224, 512} {
		p := media.Pixels{Width: side, Height: side, Stride: 3 * side, Data: decodertest.Random(3*side*side, 1),
			Color: media.RGB, DType: tensor.Uint8}
		for _, filter := range []media.Filter{media.Nearest, media.Bilinear, media.Bicubic} {
			for name, op := range map[string]media.Op{
				"rotate":      media.Rotate{Angle: 17, Filter: filter},
				"affine":      media.Affine{Angle: 10, Translate: [2]float64{5, 3}, Scale: 1.1, Shear: [2]float64{5, 0}, Filter: filter},
				"elastic":     media.Elastic{Alpha: [2]float64{50, 50}, Sigma: [2]float64{5, 5}, Filter: filter},
				"perspective": media.RandomPerspective{Distortion: 0.5, P: 1, Filter: filter},
			} {
				var plan media.Plan
				if err := media.MakePlan(media.Info{Width: side, Height: side}, media.Options{},
					[]media.Step{{Op: op}}, decodertest.Hashed(3), &plan); err != nil {
					b.Fatal(err)
				}
				dst := make([]byte, len(p.Data))
				for _, run := range []media.Runner{Runner{}, media.GoRunner{}} {
					b.Run(fmt.Sprintf("%s/%v/%d/%s", name, filter, side, run.Name()), func(b *testing.B) {
						for b.Loop() {
							if err := run.Run(dst, 3*side, p, &plan); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			}
		}
	}
}
