package export

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

func field(name string, d tensor.DType, shape ...int) headrace.Field {
	return headrace.Field{Name: name, Kind: sample.Tensor, DType: d, Shape: append(tensor.Shape{}, shape...)}
}

func TestForms(t *testing.T) {
	ff := bytes.Repeat([]byte{0xff}, 8)
	for _, c := range []struct {
		field  headrace.Field
		data   []byte
		suffix string
		want   string // "": an array
	}{
		{field("label", tensor.Int64), ff, "cls", "-1"},
		{field("label", tensor.Uint8), ff, "cls", "255"},
		{field("size", tensor.Uint64), ff, "size.id", "18446744073709551615"},
		{field("size", tensor.Int32), ff, "size.id", "-1"},
		{field("size", tensor.Uint32), ff, "size.id", "4294967295"},
		{field("size", tensor.Int16), ff, "size.id", "-1"},
		{field("size", tensor.Uint16), ff, "size.id", "65535"},
		{field("size", tensor.Int8), ff, "size.id", "-1"},
		{field("weight", tensor.Float32), ff, "weight.npy", ""},
		{field("flag", tensor.Bool), ff, "flag.npy", ""},
		{field("label", tensor.Int64, 2), append(ff, ff...), "label.npy", ""},
		{field("image", tensor.Float32, 2, 2, 3), make([]byte, 48), "npy", ""},
		{headrace.Field{Name: "caption", Kind: sample.Text}, nil, "caption.txt", "a cat"},
	} {
		e, err := newEncoder(c.field, Options{Images: "npy"})
		if err != nil || e.suffix != c.suffix {
			t.Errorf("%+v: %s, %v", c.field, e.suffix, err)
			continue
		}
		size := c.field.DType.Size()
		for _, n := range c.field.Shape {
			size *= n
		}
		got, err := e.encode([]byte("before "), column{data: append(make([]byte, size), c.data[:size]...),
			rowBytes: size, shape: c.field.Shape, text: packed([]string{"", "a cat"})}, 1)
		want := "before " + c.want
		if c.want == "" {
			want = "before " + string(npy.Write(c.field.DType, c.field.Shape)) + string(c.data[:size])
		}
		if err != nil || string(got) != want {
			t.Errorf("%+v: %q, %v", c.field, got, err)
		}
	}
}

func TestPictures(t *testing.T) {
	data := make([]byte, 2*4*5*3)
	for i := range data {
		data[i] = byte(i * 7)
	}
	e, err := newEncoder(field("image", tensor.Uint8, 4, 5, 3), Options{Images: "png"})
	if err != nil || e.suffix != "png" {
		t.Fatal(e.suffix, err)
	}
	file, err := e.encode(nil, column{data: data, rowBytes: 60, shape: tensor.Shape{4, 5, 3}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	m, format, err := image.Decode(bytes.NewReader(file))
	if err != nil || format != "png" {
		t.Fatal(format, err)
	}
	for y := range 4 {
		for x := range 5 {
			r, g, b, _ := m.At(x, y).RGBA()
			if got, want := fmt.Sprint(r>>8, g>>8, b>>8), fmt.Sprint(data[60+15*y+3*x], data[60+15*y+3*x+1], data[60+15*y+3*x+2]); got != want {
				t.Errorf("(%d, %d) is %s, want %s", x, y, got, want)
			}
		}
	}
	for _, f := range []headrace.Field{field("image", tensor.Uint8, 4, 5, 1), field("mask", tensor.Uint8, 4, 5, 3)} {
		e, err := newEncoder(f, Options{Images: "jpg", Quality: 90})
		if want := map[string]string{"image": "jpg", "mask": "mask.jpg"}[f.Name]; err != nil || e.suffix != want {
			t.Fatal(e.suffix, err)
		}
		file, err := e.encode(nil, column{data: data[:60], rowBytes: 20 * f.Shape[2], shape: f.Shape}, 0)
		if _, format, bad := image.DecodeConfig(bytes.NewReader(file)); err != nil || bad != nil || format != "jpeg" {
			t.Error(format, err, bad)
		}
	}
	if e, err := newEncoder(field("depth", tensor.Float32, 4, 5, 1), Options{Images: "png"}); err != nil || e.suffix != "depth.npy" {
		t.Errorf("what is not an image stays an array: %v %v", e.suffix, err)
	}
	for want, f := range map[string]headrace.Field{
		"must be uint8":       field("image", tensor.Uint8, 3, 4, 5),
		"image is uint8 [4]":  field("image", tensor.Uint8, 4),
		"JPEG":                field("image", tensor.Uint8, 4, 5, 4),
		"options do not fit:": field("image", tensor.Uint16, 4, 5, 3),
	} {
		if _, err := newEncoder(f, Options{Images: "jpg"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestFieldsThatAreNoNames(t *testing.T) {
	for _, name := range []string{"", "a/b", "a.b", "..", "a b", "ä"} {
		if err := checkFields([]headrace.Field{field(name, tensor.Uint8)}); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// A batch that a function makes whole has no samples any more.
func TestWholeBatchesAreNotWritten(t *testing.T) {
	run := Run{Info: headrace.Info{Whole: true, Fields: []headrace.Field{field("image", tensor.Uint8, 4, 5, 3)}}}
	for _, kind := range []string{"npy", "tar"} {
		if _, err := Open(Options{Target: Target{Kind: kind, Dir: t.TempDir()}}, run); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "collate makes whole batches") {
			t.Error(err)
		}
	}
}

// Where shapes differ between batches, each file has its own; one array of all cannot be.
func TestShapesThatDiffer(t *testing.T) {
	tokens, picture := field("tokens", tensor.Int32, tensor.Unknown), field("image", tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	e, err := newEncoder(tokens, Options{Images: "npy"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.encode(nil, column{data: make([]byte, 24), rowBytes: 12, shape: tensor.Shape{3}}, 1)
	if want := string(npy.Write(tensor.Int32, tensor.Shape{3})) + string(make([]byte, 12)); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	e, err = newEncoder(picture, Options{Images: "png"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := e.encode(nil, column{data: make([]byte, 60), rowBytes: 60, shape: tensor.Shape{4, 5, 3}}, 0)
	if config, _, bad := image.DecodeConfig(bytes.NewReader(file)); err != nil || bad != nil || config.Height != 4 || config.Width != 5 {
		t.Errorf("%+v, %v, %v", config, err, bad)
	}
	run := Run{Info: headrace.Info{Fields: []headrace.Field{tokens}}}
	if _, err := Open(Options{Target: Target{Kind: "npy", Dir: t.TempDir()}}, run); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "use --out tar") {
		t.Error(err)
	}
}
