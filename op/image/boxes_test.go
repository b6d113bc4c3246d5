package image_test

import (
	"strings"
	"testing"

	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// Boxes are tied to one image, with fields that have a row for each.
func TestBoxesAndWhatGoesAlong(t *testing.T) {
	const n = tensor.Unknown
	in := sample.Schema{
		{Name: "image", Type: sample.Type{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{n, n, 3}, Axes: "HWC"}},
		{Name: "boxes", Type: sample.TensorType(tensor.Float32, n, 4)},
		{Name: "whole", Type: sample.TensorType(tensor.Int64, n, 4)},
		{Name: "corners", Type: sample.TensorType(tensor.Float64, n, 2)},
		{Name: "labels", Type: sample.TensorType(tensor.Int64, n)},
		{Name: "points", Type: sample.TensorType(tensor.Float32, n, 17, 3)},
		{Name: "both", Type: sample.TensorType(tensor.Float32, n, n)},
		{Name: "number", Type: sample.TensorType(tensor.Int64)},
		{Name: "name", Type: sample.TextType},
	}
	for _, c := range []struct {
		args opimage.Boxes
		want string // of the error
	}{
		{opimage.Boxes{}, ""},
		{opimage.Boxes{Along: []string{"labels", "points"}}, ""},
		{opimage.Boxes{Field: "whole"}, `"whole", which is int64 [?, 4]: must be float32 or float64 [?, 4]`},
		{opimage.Boxes{Field: "corners"}, `"corners", which is float64 [?, 2]: must be float32 or float64 [?, 4]`},
		{opimage.Boxes{Field: "box"}, `unknown field "box"`},
		{opimage.Boxes{Image: "boxes"}, "must be an image; put decode_image before it"},
		{opimage.Boxes{Along: []string{"labels", "both"}}, `"both", which is float32 [?, ?]: must be an array with a row for each box`},
		{opimage.Boxes{Along: []string{"number"}}, "an array with a row for each box"},
		{opimage.Boxes{Along: []string{"name"}}, "which is text: must be an array with a row for each box"},
		{opimage.Boxes{Along: []string{"labels", "labels"}}, "labels"},
	} {
		out, err := c.args.Check(in)
		switch {
		case c.want == "" && (err != nil || len(out) != len(in)):
			t.Errorf("%+v: %v, %v", c.args, out, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v, want %s", c.args, err, c.want)
		}
	}
}
