package media_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// Within a level, and mostly equal, whatever the pixels: torchvision sums float32 and
// rounds once.
func TestGaussianBlurIsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 1))
	values, differ := 0, 0
	for i := range 90 {
		size, sigma := 2*r.IntN(64)+1, math.Exp(r.Float64()*6-3)
		if i%2 > 0 {
			size, sigma = 2*r.IntN(12)+1, 0.1+1.9*r.Float64()
		}
		p := confetti(r, media.Color(i%3), size/2+1+r.IntN(60), size/2+1+r.IntN(60))
		if i%5 == 0 { // the hardest edges
			for k := range p.Data {
				p.Data[k] = -(p.Data[k] & 1)
			}
		}
		want := oracle.Functional(t, oracle.Picture{Width: p.Width, Height: p.Height, Channels: p.Color.Channels(), Pix: p.Data},
			"gaussian_blur", []int{size, size}, []float64{sigma, sigma}).Pix
		got := ran(t, p, media.GaussianBlur{KernelSize: size, Sigma: [2]float64{sigma, sigma}})
		for k := range got {
			values++
			off := int(got[k]) - int(want[k])
			if off != 0 {
				differ++
			}
			if off < -1 || off > 1 {
				t.Fatalf("%d, %v of %v: byte %d is %d, want %d", size, sigma, p.Form(), k, got[k], want[k])
			}
		}
	}
	t.Logf("%d of %d values differ", differ, values)
	if differ*50 > values {
		t.Errorf("%d of %d values differ", differ, values)
	}
}

// Where torchvision raises, an image is mirrored as often as need be.
func TestGaussianBlurOfSmallImages(t *testing.T) {
	r := rand.New(rand.NewPCG(42, 2))
	for width := 1; width < 9; width++ {
		small := confetti(r, media.RGB, width, 1+r.IntN(4))
		mirrored := func(i, n int) int {
			for i < 0 || i >= n {
				if i < 0 {
					i = -i
				} else {
					i = 2*(n-1) - i
				}
				if n == 1 {
					i = 0
				}
			}
			return i
		}
		const border = 30
		large := confetti(r, media.RGB, width+2*border, small.Height+2*border)
		for y := range large.Height {
			for x := range large.Width {
				copy(large.Row(y)[3*x:][:3], small.Row(mirrored(y-border, small.Height))[3*mirrored(x-border, width):])
			}
		}
		blur := media.GaussianBlur{KernelSize: 31, Sigma: [2]float64{6, 6}}
		got := ran(t, small, blur)
		want := ran(t, large, blur, media.CenterCrop{Height: small.Height, Width: width})
		if !bytes.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", small.Form(), got, want)
		}
	}
}

// These numbers stay: a seed must give the same images in every release.
func TestGaussianBlurDrawsArePinned(t *testing.T) {
	for _, c := range []struct {
		sigma [2]float64
		draw  float64
		want  float32
	}{{[2]float64{0.1, 2}, 0, 0.1}, {[2]float64{0.1, 2}, 0.5, 1.05}, {[2]float64{1, 3}, 0.75, 2.5}, {[2]float64{7, 7}, 0.3, 7}} {
		var plan media.Plan
		told, err := media.Explain(media.Info{Width: 5, Height: 5}, media.Options{}, steps(media.GaussianBlur{KernelSize: 9, Sigma: c.sigma}), drawn{c.draw}, &plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Stages[0].Passes[0].Args; got != (media.Args{9, c.want}) || told[0].Values["sigma"] != float64(c.want) {
			t.Errorf("%v with %v: %v, and %v is told", c.sigma, c.draw, got, told)
		}
	}
}

func TestGaussianBlurRefuses(t *testing.T) {
	for _, op := range []media.GaussianBlur{
		{KernelSize: 0, Sigma: [2]float64{1, 1}}, {KernelSize: 2, Sigma: [2]float64{1, 1}}, {KernelSize: -3, Sigma: [2]float64{1, 1}},
		{KernelSize: 129, Sigma: [2]float64{1, 1}}, {KernelSize: 3}, {KernelSize: 3, Sigma: [2]float64{2, 1}},
		{KernelSize: 3, Sigma: [2]float64{-1, 1}}, {KernelSize: 3, Sigma: [2]float64{1, math.NaN()}}, {KernelSize: 3, Sigma: [2]float64{1, 1e39}},
		{KernelSize: 3, Sigma: [2]float64{1e-50, 1}},
	} {
		if err := op.Check(); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%#v: %v", op, err)
		}
	}
	op := media.GaussianBlur{KernelSize: 3, Sigma: [2]float64{1, 1}}
	for _, f := range []media.Form{{Height: 2, Width: 2, DType: tensor.Uint16}, {Height: 2, Width: 2, DType: tensor.Uint8, Color: media.Mask}} {
		if _, err := op.Result(f); !errors.Is(err, media.ErrUnsupported) {
			t.Errorf("%v: %v", f, err)
		}
	}
	// A pass with other numbers than MakePlan's is refused before any pixel is changed.
	plan := planned(t, 2, 2, nil, op)
	pass := plan.Stages[0].Passes[0]
	p := media.Pixels{Data: make([]byte, 12), Stride: 6, Width: 2, Height: 2, DType: tensor.Uint8}
	for _, pass.Args = range []media.Args{{2, 1}, {3.5, 1}, {1e9, 1}, {3, 0}, {3, float32(math.NaN())}} {
		if _, err := pass.Apply(p); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%v: %v", pass.Args, err)
		}
	}
}

// What comes after a blur is done after it: a crop does not cut off what it looks at.
func TestGaussianBlurBeforeCrops(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(42, 3)), media.RGB, 40, 30)
	blur := media.GaussianBlur{KernelSize: 9, Sigma: [2]float64{3, 3}}
	whole := ran(t, p, blur)
	for _, c := range []struct{ height, width int }{{10, 10}, {30, 1}} {
		got := ran(t, p, blur, media.CenterCrop{Height: c.height, Width: c.width})
		q := p
		q.Data = whole
		if want := ran(t, q, media.CenterCrop{Height: c.height, Width: c.width}); !bytes.Equal(got, want) {
			t.Error(fmt.Sprint(c, " differs"))
		}
	}
}

func TestGaussianBlurInRecipes(t *testing.T) {
	for args, want := range map[string]string{
		`{"kernel_size":4,"sigma":0}`:     "kernel_size is 4: must be odd, so that a pixel is in the middle; sigma is 0: must be above 0, or two rising numbers above 0",
		`{"kernel_size":3,"sigma":[2,1]}`: "sigma is [2,1]: must be above 0, or two rising numbers above 0",
		`{"kernel_size":3,"sigma":1e99}`:  "is not possible: media: impossible geometry: gaussian_blur with a sigma of 1e+99: must be above 0",
	} {
		_, err := recipetest.OnImages(`{"gaussian_blur":` + args + `}`)
		said := strings.NewReplacer("recipe: ", "", `step "gaussian_blur" (#3): `, "", "\n", "; ").Replace(fmt.Sprint(err))
		if said != want {
			t.Errorf("%s: %s, want %s", args, said, want)
		}
	}
	one, err := recipetest.OnImages(`{"gaussian_blur":{"kernel_size":5,"sigma":1}}`)
	two, err2 := recipetest.OnImages(`{"gaussian_blur":{"kernel_size":5,"sigma":[1,1]}}`)
	if err != nil || err2 != nil || one.Fingerprint() != two.Fingerprint() {
		t.Errorf("a sigma has two forms: %v, %v", err, err2)
	}
}

func TestGaussianBlurTapsAreGauss(t *testing.T) {
	taps := planned(t, 3, 3, nil, media.GaussianBlur{KernelSize: 3, Sigma: [2]float64{1, 1}}).Stages[0].Passes[0].Effect.Taps
	r := rand.New(rand.NewPCG(51, 1))
	for range 3000 {
		size, sigma := 2*r.IntN(64)+1, float32(math.Exp(r.Float64()*8-4))
		w, reach := taps(&media.Args{float32(size), sigma})
		sum, of := int(w[0]), 1.0
		for i := 1; i <= size/2; i++ {
			sum += 2 * int(w[i])
			of += 2 * math.Exp(-float64(i*i)/2/float64(sigma)/float64(sigma))
		}
		if sum != 1<<14 {
			t.Fatalf("%d, %v: %d in all", size, sigma, sum)
		}
		for i, v := range w {
			want := math.Exp(-float64(i*i)/2/float64(sigma)/float64(sigma)) / of * (1 << 14)
			if i > size/2 {
				want = 0
			}
			if v < 0 || math.Abs(float64(v)-want) > 1.001 || (v != 0 && i > reach) || i == reach && i > 0 && v == 0 {
				t.Fatalf("%d, %v: weight %d is %d, want %v; the reach is %d", size, sigma, i, v, want, reach)
			}
		}
	}

	// A curve so narrow that it has one pixel changes nothing, and one so wide that it
	// has no slope is a mean.
	for _, sigma := range []float32{math.SmallestNonzeroFloat32, 1e-20, 0.1} {
		if w, reach := taps(&media.Args{127, sigma}); reach != 0 || w[0] != 1<<14 {
			t.Errorf("%v: %v, %d", sigma, w, reach)
		}
	}
	for _, sigma := range []float32{1e6, math.MaxFloat32} {
		if w, reach := taps(&media.Args{5, sigma}); reach != 2 || w[0]+w[1]+w[2] != 9830 && w[0]+w[1]+w[2] != 9831 {
			t.Errorf("%v: %v, %d", sigma, w, reach)
		}
	}
}

// One colour stays what it is, whatever the weights.
func TestGaussianBlurKeepsOneColor(t *testing.T) {
	for size := 1; size <= 127; size += 2 {
		for _, v := range []byte{0, 1, 127, 254, 255} {
			p := media.Pixels{Data: bytes.Repeat([]byte{v}, 5*11*3), Stride: 33, Width: 11, Height: 5, DType: tensor.Uint8}
			if got := ran(t, p, media.GaussianBlur{KernelSize: size, Sigma: [2]float64{9, 9}}); !bytes.Equal(got, bytes.Repeat([]byte{v}, len(got))) {
				t.Fatalf("%d: %d becomes %v", size, v, got)
			}
		}
	}
}
