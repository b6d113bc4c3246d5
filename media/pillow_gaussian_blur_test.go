package media_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

const blurredByPillow = `
def blurred(args, pixels):
    from PIL import Image, ImageFilter

    width, height, mode, radius = args
    image = Image.frombytes(mode, (width, height), pixels)
    return None, image.filter(ImageFilter.GaussianBlur(radius)).tobytes()
`

// Byte for byte, for every radius, also where the boxes are larger than the image.
func TestPillowGaussianBlurIsPillows(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 1))
	for i := range 120 {
		radius := float64(float32([]float64{0.1 + 1.9*r.Float64(), math.Exp(8*r.Float64() - 3.5), float64(r.IntN(40)) / 4}[i%3]))
		radius = min(radius, media.MostRadius)
		p := confetti(r, media.Color(i%3), 1+r.IntN(90), 1+r.IntN(90))
		if i%5 == 0 { // the hardest edges
			for k := range p.Data {
				p.Data[k] = -(p.Data[k] & 1)
			}
		}
		mode := map[int]string{1: "L", 3: "RGB", 4: "RGBA"}[p.Color.Channels()]
		want := oracle.Run(t, blurredByPillow, "blurred", []any{p.Width, p.Height, mode, radius}, nil, p.Data)[0]
		if got := ran(t, p, media.PillowGaussianBlur{Radius: [2]float64{radius, radius}}); !bytes.Equal(got, want) {
			t.Fatalf("a radius of %v on %v: %v, want %v", radius, p.Form(), got, want)
		}
	}
}

// These numbers stay: a seed must give the same images in every release.
func TestPillowGaussianBlurDrawsArePinned(t *testing.T) {
	for _, c := range []struct {
		radius [2]float64
		draw   float64
		want   float32
	}{{[2]float64{0.1, 2}, 0, 0.1}, {[2]float64{0.1, 2}, 0.5, 1.05}, {[2]float64{0, 3}, 0.75, 2.25}, {[2]float64{7, 7}, 0.3, 7}} {
		var plan media.Plan
		op := media.PillowGaussianBlur{Radius: c.radius}
		told, err := media.Explain(media.Info{Width: 5, Height: 5}, media.Options{}, steps(op), drawn{c.draw}, &plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Stages[0].Passes[0].Args; got != (media.Args{c.want}) || told[0].Values["radius"] != float64(c.want) {
			t.Errorf("%v with %v: %v, and %v is told", c.radius, c.draw, got, told)
		}
	}
}

func TestPillowGaussianBlurRefuses(t *testing.T) {
	for _, radius := range [][2]float64{{-1, 1}, {1, 101}, {2, 1}, {0, math.NaN()}, {math.Inf(-1), 0}} {
		if err := (media.PillowGaussianBlur{Radius: radius}).Check(); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%v: %v", radius, err)
		}
	}
	op := media.PillowGaussianBlur{Radius: [2]float64{1, 1}}
	for _, f := range []media.Form{
		{Height: 2, Width: 2, DType: tensor.Uint16}, {Height: 2, Width: 2, DType: tensor.Uint8, Color: media.Mask},
	} {
		if _, err := op.Result(f); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%v: %v", f, err)
		}
	}
	if plan := planned(t, 2, 2, nil, media.PillowGaussianBlur{}); len(plan.Stages) > 0 && len(plan.Stages[0].Passes) > 0 {
		t.Errorf("a radius of 0 makes a pass: %+v", plan.Stages)
	}
}
