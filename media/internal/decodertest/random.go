package decodertest

import (
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Hashed is a media.Rand whose numbers depend on everything.
type Hashed uint64

// Float64 implements media.Rand.
func (h Hashed) Float64(op uint64, draw uint32) float64 {
	return rand.New(rand.NewPCG(uint64(h), op<<32|uint64(draw))).Float64()
}

// Random is n bytes: for every third seed none but 0 and 255.
func Random(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(r.Uint32())
		if seed%3 == 0 {
			b[i] = -(b[i] & 1)
		}
	}
	return b
}

// AnySteps is a random chain of all operations, for pixels of 8 or 16 bits: colours
// change anywhere between, numbers and planes come last.
func AnySteps(t *rapid.T, dtype tensor.DType) (steps []media.Step) {
	for i := range rapid.IntRange(0, 7).Draw(t, "steps") {
		steps = append(steps, media.Step{Op: AnyOp(t, dtype), ID: uint64(i)})
	}
	if rapid.Bool().Draw(t, "normalized") {
		steps = append(steps, media.Step{Op: media.Normalize{
			Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.25, 0.25, 0.25},
			DType: rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16}).Draw(t, "to"),
		}})
	}
	if rapid.Bool().Draw(t, "planes") {
		steps = append(steps, media.Step{Op: media.ToLayout{Layout: media.CHW}})
	}
	return steps
}

// Filters are all that there are.
var Filters = []media.Filter{media.Bilinear, media.Box, media.Hamming, media.Bicubic, media.Lanczos}

// AnyOp is a random operation on pixels.
func AnyOp(t *rapid.T, dtype tensor.DType) media.Op {
	side := rapid.IntRange(1, 45)
	a, b := side.Draw(t, "a"), side.Draw(t, "b")
	border := rapid.IntRange(0, 5)
	f := rapid.SampledFrom(Filters).Draw(t, "filter")
	p := rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "p")

	ops := []func() media.Op{
		func() media.Op { return media.Resize{Size: a, Filter: f} },
		func() media.Op { return media.Resize{Size: a, MaxSize: a + b, Filter: f} },
		func() media.Op { return media.ResizeExact{Height: a, Width: b, Filter: f} },
		func() media.Op {
			return media.ResizeToBucket{Sizes: []media.Size{{Height: a, Width: b}, {Height: b, Width: a}, {Height: 20, Width: 20}}, Filter: f}
		},
		func() media.Op { return media.ResizeCrop{Height: a, Width: b, Filter: f, Anchor: media.Anchor(a % 9)} },
		func() media.Op {
			return media.ResizePad{Height: a, Width: b, Filter: f, Anchor: media.Anchor(b % 9), Fill: [4]uint16{20, 100, 7, 90}}
		},
		func() media.Op { return media.CenterCrop{Height: a, Width: b} },
		func() media.Op { return media.CenterCrop{Height: a/4 + 1, Width: b/4 + 1} },
		func() media.Op { return media.RandomCrop{Height: a/4 + 1, Width: b/4 + 1} },
		func() media.Op { return media.RandomResizedCrop{Height: a, Width: b, Filter: f} },
		func() media.Op {
			o := media.Pad{Left: border.Draw(t, "l"), Top: border.Draw(t, "t"), Right: border.Draw(t, "r"), Bottom: border.Draw(t, "b")}
			if rapid.Bool().Draw(t, "filled") {
				o.Fill = [4]uint16{10, 200, 30, 128}
			}
			return o
		},
		func() media.Op { return media.RandomFlip{P: p} },
		func() media.Op { return media.RandomVerticalFlip{P: p} },
		func() media.Op { return media.Rotate90{Turns: a - 20} },
		func() media.Op { return media.RandomRotate90{P: p} },
		func() media.Op { return media.ToGrayscale{} },
		func() media.Op { return media.RandomGrayscale{P: p} },
		func() media.Op {
			if dtype == tensor.Uint16 {
				return media.RandomGrayscale{P: p}
			}
			return media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Contrast: [2]float64{0.5, 1.5},
				Saturation: [2]float64{0, 2}, Hue: [2]float64{-0.3, 0.3}}
		},
		func() media.Op { // nothing that looks at other pixels
			if dtype == tensor.Uint16 {
				return media.RandomFlip{P: p}
			}
			return media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Hue: [2]float64{-0.3, 0.3}, P: &p}
		},
		func() media.Op { // what a pass does to each value for itself
			if dtype == tensor.Uint16 {
				return media.RandomFlip{P: p}
			}
			return media.RandomSolarize{Threshold: float64(5 * a), P: p}
		},
		func() media.Op { return media.ToLayout{Layout: media.HWC} },
	}

	return ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]()
}
