//go:build cgo

package turbo

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

func TestAdjustEqualsGo(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	atEveryLevel(t, func(t *testing.T) {
		for range tier.Cases(80, 400) {
			p := somePixels(r, []media.Color{media.RGB, media.RGB, media.RGBA, media.Gray}[r.IntN(4)], tensor.Uint8)
			list := make([]media.Adjust, 1+r.IntN(4))
			for i := range list {
				list[i] = someAdjust(r)
			}
			equalsGo(t, list, p)
		}
	})
}

func TestAdjustOf16BitsEqualsGo(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	for range 100 {
		p := somePixels(r, media.Color(r.IntN(3)), tensor.Uint16)
		equalsGo(t, []media.Adjust{{Kind: media.Grayscale + media.AdjustKind(r.IntN(2))}}, p)
	}
}

// An image with all colours shows every hue, saturation and lightness.
func TestAdjustOfAllColorsEqualsGo(t *testing.T) {
	step := tier.Cases(5, 1)
	p := media.Pixels{Width: 256, Height: 256, Color: media.RGB, DType: tensor.Uint8, Stride: 3 * 256, Data: make([]byte, 256*256*3)}
	for _, a := range []media.Adjust{
		{Kind: media.Hue, Factor: 0.13}, {Kind: media.Hue, Factor: -0.5}, {Kind: media.Saturation, Factor: 1.7},
		{Kind: media.Saturation, Factor: 0.3}, {Kind: media.Grayscale},
	} {
		for red := 0; red < 256; red += step {
			want := clone(p)
			for i := range 1 << 16 {
				copy(want.Data[3*i:], []byte{byte(red), byte(i >> 8), byte(i)})
			}
			start := clone(want)
			if _, err := a.Apply(want); err != nil {
				t.Fatal(err)
			}
			for _, name := range levels() {
				undo := setLevel(name)
				got := adjust([]media.Adjust{a}, clone(start))
				undo()
				if !bytes.Equal(got.Data, want.Data) {
					t.Fatalf("%s: %v of colours with red %d differ", name, a, red)
				}
			}
		}
	}
}

func equalsGo(t *testing.T, list []media.Adjust, p media.Pixels) {
	t.Helper()
	want := clone(p)
	for _, a := range list {
		var err error
		if want, err = a.Apply(want); err != nil {
			t.Fatal(err)
		}
	}
	got := adjust(list, clone(p))
	if got.Color != want.Color {
		t.Fatalf("%v of %v: %v, want %v", list, p.Form(), got.Color, want.Color)
	}
	for y := range p.Height {
		if !bytes.Equal(got.Row(y), want.Row(y)) {
			t.Fatalf("%v of %v: row %d\n%v\nwant\n%v", list, p.Form(), y, got.Row(y), want.Row(y))
		}
		// Between the rows nothing is written.
		end, next := y*p.Stride+p.Width*p.PixelBytes(), min((y+1)*p.Stride, len(p.Data))
		if !bytes.Equal(got.Data[end:next], p.Data[end:next]) {
			t.Fatalf("%v of %v wrote after row %d", list, p.Form(), y)
		}
	}
}

func TestOutputEqualsGo(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	atEveryLevel(t, func(t *testing.T) {
		for range tier.Cases(120, 600) {
			from := []tensor.DType{tensor.Uint8, tensor.Uint8, tensor.Uint16}[r.IntN(3)]
			p := somePixels(r, []media.Color{media.RGB, media.RGB, media.RGBA, media.Gray}[r.IntN(4)], from)
			o := someOutput(r, p)
			outputEqualsGo(t, &o, p)
		}
	})
}

func outputEqualsGo(t *testing.T, o *media.Output, p media.Pixels) {
	t.Helper()
	f := media.Form{Height: p.Height, Width: p.Width, Color: p.Color, DType: o.DType, Layout: o.Layout}
	rows := p.Height
	if o.Layout == media.CHW {
		rows *= p.Color.Channels()
	}
	stride := f.RowBytes() + rand.IntN(3)*7
	want, got := bytes.Repeat([]byte{0xa5}, rows*stride), bytes.Repeat([]byte{0xa5}, rows*stride)
	if err := o.Write(want, stride, p); err != nil {
		t.Fatal(err)
	}
	var prepared prepared
	write(&prepared, o, got, stride, p)
	write(&prepared, o, got, stride, p)
	if !bytes.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%+v of %v: byte %d is %#x, want %#x", *o, p.Form(), i, got[i], want[i])
			}
		}
	}
}

func atEveryLevel(t *testing.T, test func(t *testing.T)) {
	for _, name := range levels() {
		t.Run(name, func(t *testing.T) {
			defer setLevel(name)()
			test(t)
		})
	}
}

func somePixels(r *rand.Rand, c media.Color, d tensor.DType) media.Pixels {
	p := media.Pixels{Width: 1 + r.IntN(200), Height: 1 + r.IntN(5), Color: c, DType: d}
	p.Stride = p.Width*p.PixelBytes() + r.IntN(3)*5
	p.Data = make([]byte, p.Stride*p.Height) // no byte more than there must be: sanitizers notice who reads beyond
	dull, levels := r.IntN(3) == 0, 1+r.IntN(256)
	for i := range p.Data {
		p.Data[i] = byte(r.IntN(levels))
		if dull && i > 0 { // hardly coloured, with many ties between channels
			p.Data[i] = p.Data[i-1] + byte(r.IntN(3)) - 1
		}
	}
	return p
}

func someAdjust(r *rand.Rand) media.Adjust {
	a := media.Adjust{Kind: media.AdjustKind(r.IntN(6)), Factor: float32(2 * r.Float64())}
	switch {
	case a.Kind == media.Hue:
		a.Factor = float32(r.Float64() - 0.5)
	case r.IntN(4) == 0:
		extremes := []float32{0, 1, 2, -1, 1e-30, 1e30, 3.4e38, 255, 0.99999994, 1.0000001}
		a.Factor = extremes[r.IntN(len(extremes))]
	}
	return a
}

func someOutput(r *rand.Rand, p media.Pixels) media.Output {
	o := media.Output{DType: p.DType, Layout: media.Layout(r.IntN(2))}
	if p.Color != media.RGBA && r.IntN(5) > 0 {
		o.DType = []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16}[r.IntN(3)]
		o.Mean, o.Std = [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
		if r.IntN(2) == 0 {
			for c := range 3 {
				o.Mean[c], o.Std[c] = float32(r.Float64()*2-0.5), float32(r.ExpFloat64()*r.ExpFloat64())+1e-4
			}
		}
		if r.IntN(8) == 0 { // numbers that are subnormal in float16
			o.Mean, o.Std = [3]float32{}, [3]float32{1e4, 1e6, 3e4}
		}
	}
	return o
}

func clone(p media.Pixels) media.Pixels {
	p.Data = bytes.Clone(p.Data)
	return p
}

func BenchmarkAdjust(b *testing.B) {
	p := media.Pixels{Width: 224, Height: 224, Color: media.RGB, DType: tensor.Uint8, Stride: 3 * 224, Data: make([]byte, 224*224*3)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p.Data {
		p.Data[i] = byte(r.Uint32())
	}
	lists := map[string][]media.Adjust{"jitter": {
		{Kind: media.Brightness, Factor: 1.01}, {Kind: media.Contrast, Factor: 0.99}, {Kind: media.Saturation, Factor: 1.01}, {Kind: media.Hue, Factor: 0.02},
	}}
	for k := media.Brightness; k <= media.Grayscale; k++ {
		lists[k.String()] = []media.Adjust{{Kind: k, Factor: 0.499}}
	}
	for _, level := range levels() {
		for name, list := range lists {
			b.Run(fmt.Sprintf("%s/%s", name, level), func(b *testing.B) {
				defer setLevel(level)()
				for b.Loop() {
					adjust(list, p)
				}
			})
		}
	}
}

func BenchmarkOutput(b *testing.B) {
	p := media.Pixels{Width: 224, Height: 224, Color: media.RGB, DType: tensor.Uint8, Stride: 3 * 224, Data: make([]byte, 224*224*3)}
	dst := make([]byte, 4*len(p.Data))
	for _, level := range levels() {
		for _, d := range []tensor.DType{tensor.Uint8, tensor.Float32, tensor.Float16, tensor.BFloat16} {
			for _, l := range []media.Layout{media.HWC, media.CHW} {
				o := media.Output{DType: d, Layout: l, Mean: [3]float32{0.485, 0.456, 0.406}, Std: [3]float32{0.229, 0.224, 0.225}}
				f := media.Form{Width: 224, Height: 224, DType: d, Layout: l}
				b.Run(fmt.Sprintf("%v/%v/%s", d, l, level), func(b *testing.B) {
					defer setLevel(level)()
					var to prepared
					for b.Loop() {
						write(&to, &o, dst, f.RowBytes(), p)
					}
				})
			}
		}
	}
}
