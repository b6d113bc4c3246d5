package media_test

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

func TestForm(t *testing.T) {
	for _, c := range []struct {
		form  media.Form
		text  string
		bytes int
	}{
		{media.Form{Height: 2, Width: 5, DType: tensor.Uint8}, "uint8 [2, 5, 3]", 15},
		{media.Form{Height: 2, Width: 5, Color: media.RGBA, DType: tensor.Uint16}, "uint16 [2, 5, 4]", 40},
		{media.Form{Height: 2, Width: 5, Color: media.Gray, DType: tensor.Uint8}, "uint8 [2, 5, 1]", 5},
		{media.Form{Height: 2, Width: 5, DType: tensor.Float32, Layout: media.CHW}, "float32 [3, 2, 5]", 20},
	} {
		if c.form.String() != c.text || c.form.RowBytes() != c.bytes {
			t.Errorf("%v, rows of %d bytes, want %s, %d", c.form, c.form.RowBytes(), c.text, c.bytes)
		}
	}
	if f := (media.Options{Color: media.Gray}).Form(); f != (media.Form{Height: media.Unknown, Width: media.Unknown, Color: media.Gray, DType: tensor.Uint8}) {
		t.Errorf("%+v", f)
	}
}

func TestColors(t *testing.T) {
	for name, want := range map[string]media.Color{"rgb": media.RGB, "rgba": media.RGBA, "gray": media.Gray, "mask": media.Mask} {
		if c, err := media.ParseColor(name); err != nil || c != want || c.String() != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if _, err := media.ParseColor("cmyk"); err == nil {
		t.Error("cmyk is taken")
	}
	if c := media.Color(9); c.Channels() != 0 || c.String() != "color(9)" {
		t.Error(c, c.Channels())
	}
}

func TestOptions(t *testing.T) {
	black := &[3]uint8{}
	for _, good := range []media.Options{
		{}, {Mode: media.Fast, Orient: true}, {Color: media.RGBA, DType: tensor.Uint16}, {Color: media.Gray, Background: black, DType: tensor.Uint8},
	} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []media.Options{{Mode: 2}, {Color: 4}, {Color: media.Mask, Background: black}, {Color: media.RGBA, Background: black}, {DType: tensor.Float32}} {
		var plan media.Plan
		if err := bad.Check(); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%+v: %v", bad, err)
		}
		if err := media.MakePlan(media.Info{Width: 2, Height: 2}, bad, nil, nil, &plan); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%+v, planned: %v", bad, err)
		}
	}
	if media.Exact.String() != "exact" || media.Fast.String() != "fast" {
		t.Error(media.Exact, media.Fast)
	}
}

func TestBorder(t *testing.T) {
	p := media.Pixels{Data: make([]byte, 3*8), Stride: 8, Width: 3, Height: 3, Color: media.Gray, DType: tensor.Uint16}
	media.Border(p, media.Rect{X: 1, Y: 1, Width: 1, Height: 2}, [4]uint16{0x0101})
	if got, want := string(p.Data), "\x01\x01\x01\x01\x01\x01\x00\x00\x01\x01\x00\x00\x01\x01\x00\x00\x01\x01\x00\x00\x01\x01\x00\x00"; got != want {
		t.Errorf("% x, want % x", got, want)
	}
	media.Border(p, media.Rect{}, [4]uint16{0x0202})
	if got, want := string(p.Data[8:]), "\x02\x02\x02\x02\x02\x02\x00\x00\x02\x02\x02\x02\x02\x02\x00\x00"; got != want {
		t.Errorf("% x, want % x", got, want)
	}
}
