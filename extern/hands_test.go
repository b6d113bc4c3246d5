package extern

import (
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func TestSamplesInHand(t *testing.T) {
	field := func(t sample.Type) sample.Schema { return sample.Schema{{Name: "x", Type: t}} }
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	for want, s := range map[int]sample.Schema{
		mostHands:       field(sample.TensorType(tensor.Int64)),
		4:               field(sample.TensorType(tensor.Float32, 1<<20)),
		16:              field(sample.TensorType(tensor.Float32, tensor.Unknown)),
		1 << 20 / 16384: field(sample.TensorType(tensor.Uint8, 16384)),
	} {
		if n := InHand(s, nil); n != want || InHand(nil, s) != want {
			t.Errorf("%v: %d, want %d", s, n, want)
		}
	}
	if n := InHand(field(image), nil); n != 4 {
		t.Errorf("images of any size: %d", n)
	}
}
