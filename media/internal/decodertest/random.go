package decodertest

import (
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
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

// AnyOp is a random operation on pixels, of all that recipes have.
func AnyOp(t *rapid.T, dtype tensor.DType) media.Op {
	image := sample.TensorType(dtype, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	for {
		if steps, _ := recipetest.Pixels(t, 1, sample.Schema{{Name: "image", Type: image}}); len(steps) > 0 {
			return steps[0].Args.(recipe.Transform).Transform()
		}
	}
}
