package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

// given is a PixelDecoder whose image is known.
type given struct {
	p   media.Pixels
	err error
}

func (given) Name() string { return "given" }

func (g given) DecodePixels(dst media.Pixels, _ []byte, _ *media.Info) error {
	if dst.Form() != g.p.Form() {
		return errors.New("asked for " + dst.Form().String())
	}
	for y := range dst.Height {
		copy(dst.Row(y), g.p.Row(y))
	}
	return g.err
}

func decoded(d given, info media.Info, o media.Options, ops ...media.Op) ([]byte, error) {
	var plan media.Plan
	if err := media.MakePlan(info, o, steps(ops...), constant(0), &plan); err != nil {
		return nil, err
	}
	f := plan.Form()
	dst := make([]byte, f.RowBytes()*f.Height)
	return dst, media.Whole(d).DecodeInto(dst, f.RowBytes(), []byte("data"), &info, &plan)
}

// What is transparent shows the background, as Pillow pastes; what is resized is the
// result.
func TestBackground(t *testing.T) {
	p := oracle.Image{Mode: "RGBA", Width: 256, Height: 97, Pix: decodertest.Random(256*97*4, 5)}
	for i := range p.Width * p.Height { // every alpha on every level of red
		p.Pix[4*i], p.Pix[4*i+3] = byte(i/256*5/2), byte(i)
	}
	background := [3]uint8{200, 13, 255}
	info := media.Info{Width: p.Width, Height: p.Height, Alpha: true, Orientation: 6}
	resize := media.ResizeExact{Height: 50, Width: 60}
	theirs := oracle.Step{Name: "resize_exact", Args: []int{50, 60, 0}}
	turn := oracle.Step{Name: "rot90", Args: []int{-1}}
	for color, convert := range map[media.Color][]oracle.Step{media.RGB: nil, media.Gray: {{Name: "gray"}}} {
		o := media.Options{Orient: true, Color: color, Background: &background}
		got, err := decoded(given{p: pixelsOf(p)}, info, o)
		if want := oracle.Geometry(t, oracle.Paste(t, p, background), append(convert, turn)...); err != nil || !bytes.Equal(got, want.Pix) {
			t.Errorf("%v: differs at byte %d, %v", color, firstDifference(got, want.Pix), err)
		}
		got, err = decoded(given{p: pixelsOf(p)}, info, o, resize)
		if want := oracle.Geometry(t, oracle.Paste(t, p, background), append(convert, turn, theirs)...); err != nil || !bytes.Equal(got, want.Pix) {
			t.Errorf("%v, resized: differs at byte %d, %v", color, firstDifference(got, want.Pix), err)
		}
	}
	// Without an alpha channel there is nothing to see after the image.
	rgb := media.Pixels{Data: decodertest.Random(300, 1), Stride: 30, Width: 10, Height: 10, DType: tensor.Uint8}
	got, err := decoded(given{p: rgb}, media.Info{Width: 10, Height: 10}, media.Options{Background: &background})
	if err != nil || !bytes.Equal(got, rgb.Data) {
		t.Errorf("opaque: %v", err)
	}
}

func TestBackgroundOf16Bits(t *testing.T) {
	p := media.Pixels{Data: decodertest.Random(40*30*8, 3|1<<40), Stride: 40 * 8, Width: 40, Height: 30, Color: media.RGBA, DType: tensor.Uint16}
	background := [3]uint8{200, 13, 255}
	info := media.Info{Width: 40, Height: 30, Alpha: true}
	value := func(b []byte, i int) float64 { return float64(binary.NativeEndian.Uint16(b[2*i:])) }
	for color, n := range map[media.Color]int{media.RGB: 3, media.Gray: 1} {
		got, err := decoded(given{p: p}, info, media.Options{Color: color, DType: tensor.Uint16, Background: &background})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 * 30 {
			var v [3]float64
			a := value(p.Data, 4*i+3) / 65535
			for c := range v {
				v[c] = 257*float64(background[c])*(1-a) + value(p.Data, 4*i+c)*a
			}
			if n == 1 {
				v[0] = 0.299*v[0] + 0.587*v[1] + 0.114*v[2]
			}
			for c := range n {
				if g := value(got, n*i+c); math.Abs(g-v[c]) > 1.5 { // the weights of lightness have 16 bits
					t.Fatalf("%v: pixel %d, channel %d is %v, want %.2f", color, i, c, g, v[c])
				}
			}
		}
	}
}

func TestWholeRefuses(t *testing.T) {
	p := media.Pixels{Data: make([]byte, 300), Stride: 30, Width: 10, Height: 10, DType: tensor.Uint8}
	info := media.Info{Width: 10, Height: 10}
	broken := errors.New("broken")
	if _, err := decoded(given{p, broken}, info, media.Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{}, nil, nil, &plan); err != nil {
		t.Fatal(err)
	}
	d := media.Whole(given{p: p})
	if d.Name() != "given" {
		t.Error(d.Name())
	}
	if err := d.DecodeInto(make([]byte, 299), 30, nil, &info, &plan); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("short: %v", err)
	}
	for _, other := range []media.Info{{}, {Width: -1, Height: -1}, {Width: media.MaxPixels, Height: 2}} {
		if err := d.DecodeInto(make([]byte, 300), 30, nil, &other, &plan); !errors.Is(err, media.ErrTooLarge) {
			t.Errorf("%v: %v", other, err)
		}
	}
	smaller := media.Pixels{Data: make([]byte, 300), Stride: 27, Width: 9, Height: 10, DType: tensor.Uint8}
	err := media.Whole(given{p: smaller}).DecodeInto(make([]byte, 300), 30, nil, &media.Info{Width: 9, Height: 10}, &plan)
	if !errors.Is(err, media.ErrGeometry) {
		t.Errorf("smaller: %v", err)
	}
}
