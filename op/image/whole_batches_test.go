package image_test

import (
	"strings"
	"testing"

	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// batched are the fields of batches with padded boxes.
func batched(others ...sample.Field) sample.Schema {
	const n = tensor.Unknown
	in := sample.Schema{
		{Name: "image", Type: sample.TensorType(tensor.Uint8, n, 8, 6, 3)},
		{Name: "mask", Type: sample.TensorType(tensor.Uint8, n, 8, 6)},
		{Name: "boxes", Type: sample.TensorType(tensor.Float32, n, 5, 4)},
		{Name: "boxes_length", Type: sample.TensorType(tensor.Int64, n)},
		{Name: "labels", Type: sample.TensorType(tensor.Int64, n, n)},
		{Name: "labels_length", Type: sample.TensorType(tensor.Int64, n)},
		{Name: "lone", Type: sample.TensorType(tensor.Float32, n, 5, 4)},
	}
	for _, f := range others {
		in = in.With(f.Name, f.Type)
	}
	return in
}

// Boxes of several images need room, and the fields along with them, too.
func TestPaddedBoxesGetRoom(t *testing.T) {
	both := opimage.PaddedBoxes{Boxes: "boxes", Along: []string{"labels"}}
	for args, want := range map[recipe.OnRows][2]string{
		&opimage.Mosaic{Image: "image", PaddedBoxes: both}:                  {"float32 [?, 20, 4]", "int64 [?, ?]"},
		&opimage.CopyPaste{Image: "image", Mask: "mask", PaddedBoxes: both}: {"float32 [?, 10, 4]", "int64 [?, ?]"},
		&opimage.Mosaic{Image: "image"}:                                     {"float32 [?, 5, 4]", "int64 [?, ?]"},
	} {
		out, err := args.CheckRows(batched())
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"boxes", "labels"} {
			if got := out[out.Find(name)].Type.String(); got != want[i] {
				t.Errorf("%T: %s is %s, want %s", args, name, got, want[i])
			}
		}
	}
}

// What is wrong with batches is said with the argument that names it.
func TestWholeBatchesOfOtherFields(t *testing.T) {
	mosaic := func(b opimage.PaddedBoxes) *opimage.Mosaic { return &opimage.Mosaic{Image: "image", PaddedBoxes: b} }
	paste := func(mask string) *opimage.CopyPaste { return &opimage.CopyPaste{Image: "image", Mask: mask} }
	boxes := func(names ...string) opimage.PaddedBoxes {
		return opimage.PaddedBoxes{Boxes: names[0], Along: names[1:]}
	}
	no := boxes("mask")
	wide := sample.Field{Name: "wide", Type: sample.TensorType(tensor.Int32, tensor.Unknown, 8, 6)}
	for want, args := range map[string]recipe.OnRows{
		`is "box": the batches have the fields`:                   mosaic(boxes("box")),
		"must be float32 or float64 [rows, n, 4]":                 mosaic(boxes("labels")),
		"there is no field lone_length, which bucket_batch makes": mosaic(boxes("lone")),
		"must have a row for each box":                            mosaic(boxes("boxes", "boxes_length")),
		`is "labels", a second time`:                              mosaic(boxes("boxes", "labels", "labels")),
		"goes with boxes: name these, too":                        mosaic(boxes("", "labels")),
		`is "boxes", which is float32`:                            &opimage.Mosaic{Image: "boxes"},
		`is "masks": the batches have the fields`:                 paste("masks"),
		"which is int32 [?, 8, 6]: must be uint8 or uint16":       paste("wide"),
		"must be uint8 or uint16 [rows, 6, 3], as the images are": &opimage.CopyPaste{Image: "image", Mask: "mask", Layout: "NCHW"},
		"is 0: must be from 1 to 1000000":                         &opimage.Mosaic{Image: "image", Group: new(int)},
		"must be \"NHWC\" or \"NCHW\"":                            &opimage.Mosaic{Image: "image", Layout: "CHW"},
		"is 1.5: must be from 0 to 1":                             &opimage.Mosaic{Image: "image", MinVisibility: new(1.5)},
		"is \"mask\", which is uint8 [?, 8, 6]":                   &opimage.CopyPaste{Image: "image", Mask: "mask", PaddedBoxes: no},
	} {
		if _, err := args.CheckRows(batched(wide)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, args := range []recipe.Args{&opimage.Mosaic{}, &opimage.CopyPaste{}} {
		if _, err := args.Check(batched()); err == nil || !strings.Contains(err.Error(), "put batch before it") {
			t.Errorf("%T: %v", args, err)
		}
	}
}

// Points have two or three numbers each, and any axes before them.
func TestPoints(t *testing.T) {
	const n = tensor.Unknown
	image := sample.Type{Kind: sample.Tensor, DType: tensor.Uint8, Shape: tensor.Shape{n, n, 3}, Axes: "HWC"}
	for want, field := range map[string]sample.Type{
		"":                                     sample.TensorType(tensor.Float32, n, 2),
		" ":                                    sample.TensorType(tensor.Float64, 17, 3),
		"  ":                                   sample.TensorType(tensor.Float32, n, 17, 2),
		"which is int64 [?, 2]: must be float": sample.TensorType(tensor.Int64, n, 2),
		"which is float32 [?, 4]: must be":     sample.TensorType(tensor.Float32, n, 4),
		"which is float32 [2]: must be float":  sample.TensorType(tensor.Float32, 2),
		"which is text: must be float":         sample.TextType,
	} {
		in := sample.Schema{{Name: "image", Type: image}, {Name: "points", Type: field}}
		_, err := (&opimage.Points{}).Check(in)
		if wrong := strings.TrimSpace(want) != ""; wrong != (err != nil) || wrong && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", field, err, want)
		}
	}
	args := (&opimage.Points{Field: "joints", Image: "image"}).Traits().Tied
	if args.Kind() != "points" || args.Field != "joints" {
		t.Errorf("%+v", args)
	}
}
