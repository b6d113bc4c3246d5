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

var allKinds = []media.AdjustKind{media.Brightness, media.Contrast, media.Saturation, media.Hue, media.Grayscale, media.ToGray}

func TestAdjustEqualsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for range 300 {
		p := confetti(r, media.Color(r.IntN(3)), 1+r.IntN(40), 1+r.IntN(30))
		var list []media.Adjust
		for range 1 + r.IntN(4) {
			a := media.Adjust{Kind: allKinds[r.IntN(len(allKinds))], Factor: factor(r)}
			switch {
			case a.Kind == media.Hue:
				a.Factor = float32(r.Float64() - 0.5)
			case a.Kind == media.Grayscale && p.Color == media.Gray:
				continue // torchvision makes three channels of it
			}
			if p.Color == media.RGBA && (a.Kind == media.Hue || a.Kind == media.Grayscale) {
				continue // torchvision takes alpha away
			}
			list = append(list, a)
			if a.Kind == media.ToGray {
				break
			}
		}
		equalsTorchvisions(t, p, list)
	}
}

func factor(r *rand.Rand) float32 {
	extremes := []float32{0, 1, 2, -1, 1e-30, 1e30, math.MaxFloat32, 255, 0.99999994, 1.0000001, 1. / 255}
	if r.IntN(3) == 0 {
		return extremes[r.IntN(len(extremes))]
	}
	return float32(2 * r.Float64())
}

func TestEveryHueEqualsTorchvisions(t *testing.T) {
	p := media.Pixels{Width: 256, Height: 256, Stride: 768, Color: media.RGB, DType: tensor.Uint8, Data: make([]byte, 768*256)}
	for red := 0; red < 256; red += hueStep {
		for i := range 1 << 16 {
			copy(p.Data[3*i:], []byte{byte(red), byte(i >> 8), byte(i)})
		}
		equalsTorchvisions(t, p, []media.Adjust{{Kind: media.Hue, Factor: float32(red)/255 - 0.5}})
		equalsTorchvisions(t, p, []media.Adjust{{Kind: media.Hue, Factor: 0}})
	}
}

const hueStep = 15

// All pairs of a byte and the image's mean, for many factors.
func TestEveryBlendEqualsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 2))
	for range 300 {
		p := confetti(r, media.RGB, 64, 12)
		base, spread := r.IntN(256), 1+r.IntN(255)
		for i := range p.Data {
			p.Data[i] = byte(min(255, base+r.IntN(spread)))
		}
		kind := allKinds[r.IntN(3)]
		equalsTorchvisions(t, p, []media.Adjust{{Kind: kind, Factor: factor(r)}})
	}
}

// What torchvision takes an alpha channel away for leaves it alone here.
func TestAdjustLeavesAlphaAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	for _, kind := range []media.AdjustKind{media.Hue, media.Grayscale, media.Brightness, media.Contrast, media.Saturation} {
		with := confetti(r, media.RGBA, 20, 20)
		without := media.Pixels{Width: 20, Height: 20, Stride: 60, Color: media.RGB, DType: tensor.Uint8, Data: make([]byte, 1200)}
		for i := range 400 {
			copy(without.Data[3*i:3*i+3], with.Data[4*i:])
		}
		before := bytes.Clone(with.Data)
		a := media.Adjust{Kind: kind, Factor: 0.3}
		for _, p := range []media.Pixels{with, without} {
			if _, err := a.Apply(p); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 400 {
			if !bytes.Equal(with.Data[4*i:4*i+3], without.Data[3*i:3*i+3]) || with.Data[4*i+3] != before[4*i+3] {
				t.Fatalf("%v: pixel %d is %v, was %v; without alpha it is %v", kind, i,
					with.Data[4*i:4*i+4], before[4*i:4*i+4], without.Data[3*i:3*i+3])
			}
		}
	}
}

// The lightness of 16 bits has the weights of that of 8.
func TestGrayscaleOf16Bits(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	narrow := confetti(r, media.RGB, 30, 30)
	for _, kind := range []media.AdjustKind{media.Grayscale, media.ToGray} {
		wide := media.Pixels{Width: 30, Height: 30, Stride: 180, Color: media.RGB, DType: tensor.Uint16, Data: make([]byte, 5400)}
		for i, v := range narrow.Data {
			wide.Data[2*i], wide.Data[2*i+1] = v, v
		}
		eight := narrow
		eight.Data = bytes.Clone(narrow.Data)
		a := media.Adjust{Kind: kind}
		eight, err := a.Apply(eight)
		if err != nil {
			t.Fatal(err)
		}
		wide, err = a.Apply(wide)
		if err != nil || wide.Color != eight.Color {
			t.Fatalf("%v: %v, %v", kind, wide.Color, err)
		}
		for y := range 30 {
			for i, v := range eight.Row(y) {
				got := float64(wide.Row(y)[2*i]) + 256*float64(wide.Row(y)[2*i+1])
				if math.Abs(got/257-float64(v)) > 0.51 {
					t.Fatalf("%v: %v of 65535 where 8 bits give %d", kind, got, v)
				}
			}
		}
	}
}

func TestAdjustRefuses(t *testing.T) {
	small := media.Pixels{Width: 2, Height: 1, Stride: 6, Color: media.RGB, DType: tensor.Uint8, Data: make([]byte, 6)}
	wide := media.Pixels{Width: 2, Height: 1, Stride: 12, Color: media.RGB, DType: tensor.Uint16, Data: make([]byte, 12)}
	short := small
	short.Data = short.Data[:5]
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		a    media.Adjust
		p    media.Pixels
		want error
	}{
		{media.Adjust{Kind: media.Brightness, Factor: 1}, wide, media.ErrUnsupported},
		{media.Adjust{Kind: media.Hue, Factor: 0.1}, wide, media.ErrUnsupported},
		{media.Adjust{Kind: media.ToGray + 1}, small, media.ErrUnsupported},
		{media.Adjust{Kind: media.Brightness, Factor: nan}, small, media.ErrGeometry},
		{media.Adjust{Kind: media.Saturation, Factor: inf}, small, media.ErrGeometry},
		{media.Adjust{Kind: media.Contrast, Factor: -inf}, small, media.ErrGeometry},
		{media.Adjust{Kind: media.Hue, Factor: 0.51}, small, media.ErrGeometry},
		{media.Adjust{Kind: media.Hue, Factor: -0.51}, small, media.ErrGeometry},
		{media.Adjust{Kind: media.Brightness, Factor: 1}, short, media.ErrGeometry},
	} {
		if _, err := c.a.Apply(c.p); !errors.Is(err, c.want) {
			t.Errorf("%v of %v: %v, want %v", c.a, c.p.Form(), err, c.want)
		}
	}
}

func equalsTorchvisions(t *testing.T, p media.Pixels, list []media.Adjust) {
	t.Helper()
	var changes []oracle.Change
	got := p
	got.Data = bytes.Clone(p.Data)
	for _, a := range list {
		changes = append(changes, oracle.Change{Name: a.Kind.String(), Factor: float64(a.Factor)})
		var err error
		if got, err = a.Apply(got); err != nil {
			t.Fatal(err)
		}
	}
	want := oracle.Adjust(t, oracle.Picture{Width: p.Width, Height: p.Height, Channels: p.Color.Channels(), Pix: p.Data}, changes...)
	if want.Channels != got.Color.Channels() {
		t.Fatalf("%v: %v, want %d channels", list, got.Color, want.Channels)
	}
	for y := range p.Height {
		row := want.Pix[y*p.Width*want.Channels:][:p.Width*want.Channels]
		if !bytes.Equal(got.Row(y), row) {
			t.Fatalf("%v of %v: row %d of\n%v\nis\n%v\nwant\n%v", list, p.Form(), y, p.Row(y), got.Row(y), row)
		}
	}
}

func confetti(r *rand.Rand, c media.Color, width, height int) media.Pixels {
	n := width * c.Channels()
	p := media.Pixels{Width: width, Height: height, Stride: n, Color: c, DType: tensor.Uint8, Data: make([]byte, n*height)}
	most := 1 + r.IntN(256)
	for i := range p.Data {
		p.Data[i] = byte(r.IntN(most))
	}
	return p
}
