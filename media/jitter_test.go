package media_test

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// These numbers stay: a seed must give the same images in every release.
func TestJitterDrawsArePinned(t *testing.T) {
	all := media.ColorJitter{
		Brightness: [2]float64{0.6, 1.4}, Contrast: [2]float64{0.5, 1.5}, Saturation: [2]float64{0, 2}, Hue: [2]float64{-0.1, 0.1},
	}
	some := all
	some.Brightness, some.Saturation = [2]float64{}, [2]float64{1, 1}
	b, c, s, h := media.Brightness, media.Contrast, media.Saturation, media.Hue
	for _, test := range []struct {
		op    media.ColorJitter
		draws drawn
		want  []media.Adjust
	}{
		{all, drawn{0, 0, 0, 0, 0, 0, 0}, []media.Adjust{{b, 0.6}, {c, 0.5}, {s, 0}, {h, -0.1}}},
		{all, drawn{0.25, 0, 0, 0.5, 0.75, 0.25, 0.5}, []media.Adjust{{c, 1.25}, {s, 0.5}, {h, 0}}}, // brightness by 1 is nothing
		{all, drawn{0.9, 0.9, 0.9, 0.25, 0.25, 0.25, 0.25}, []media.Adjust{{h, -0.05}, {b, 0.8}, {c, 0.75}, {s, 0.5}}},
		{all, drawn{0.5, 0.4, 0.6, 0.1, 0.2, 0.3, 0.4}, []media.Adjust{{s, 0.6}, {b, 0.68}, {h, -0.02}, {c, 0.7}}},
		{some, drawn{0.5, 0.4, 0.6, 0.1, 0.2, 0.3, 0.4}, []media.Adjust{{h, -0.02}, {c, 0.7}}},
		{some, drawn{0, 0.99, 0.99, 0, 0.999, 0, 0.999}, []media.Adjust{{h, 0.0998}, {c, 1.499}}},
	} {
		got := adjusts(planned(t, 5, 5, test.draws, test.op))
		if !slices.Equal(got, test.want) {
			t.Errorf("%v with %v: %v, want %v", test.op, test.draws, got, test.want)
		}
	}
	for _, test := range []struct {
		draw float64
		gray bool
	}{{0, true}, {0.0999, true}, {0.1, false}, {0.999, false}} {
		got := adjusts(planned(t, 5, 5, drawn{test.draw}, media.RandomGrayscale{P: 0.1}))
		if (len(got) == 1) != test.gray || test.gray && got[0] != (media.Adjust{Kind: media.Grayscale}) {
			t.Errorf("random_grayscale with %v: %v", test.draw, got)
		}
	}
}

func TestJitterBoundsAreTorchvisions(t *testing.T) {
	for _, x := range []float64{0, 0.1, 0.4, 0.999, 1, 1.5, 100} {
		want := oracle.JitterBounds(t, [4]float64{x, x, x, min(x, 0.5)})
		got := media.JitterAround(x)
		for i, w := range want[:3] {
			if w == nil && got != [2]float64{1, 1} || w != nil && got != *w {
				t.Errorf("around %v: %v, want %v for number %d", x, got, w, i)
			}
		}
		if w, x := want[3], min(x, 0.5); w == nil && x != 0 || w != nil && *w != [2]float64{-x, x} {
			t.Errorf("hues around %v: %v", x, w)
		}
	}
}

// With P the changes are those of the draws before, or none.
func TestJitterIsAppliedWithProbability(t *testing.T) {
	always := media.ColorJitter{Brightness: [2]float64{0.6, 1.4}, Contrast: [2]float64{0.5, 1.5}, Hue: [2]float64{-0.1, 0.1}}
	r := rand.New(rand.NewPCG(8, 23))
	for _, p := range []float64{0, 0.2, 0.8, 1} {
		sometimes := always
		sometimes.P = &p
		const n = 20000
		applied := 0
		for range n {
			draws := make(drawn, 8)
			for i := range draws {
				draws[i] = r.Float64()
			}
			got := adjusts(planned(t, 5, 5, draws, sometimes))
			want := adjusts(planned(t, 5, 5, draws[:7], always))
			if draws[7] >= p {
				want = nil
			} else {
				applied++
			}
			if !slices.Equal(got, want) {
				t.Fatalf("p %v with %v: %v, want %v", p, draws, got, want)
			}
		}
		if off := math.Abs(float64(applied) - n*p); off > 5*math.Sqrt(n*p*(1-p)) {
			t.Errorf("p %v: %d of %d are changed", p, applied, n)
		}
	}
}

// All orders are equally likely, factors are spread evenly between their bounds, and
// none depends on another.
func TestJitterIsFair(t *testing.T) {
	op := media.ColorJitter{
		Brightness: [2]float64{0.6, 1.4}, Contrast: [2]float64{0.5, 1.5}, Saturation: [2]float64{0.2, 1.8}, Hue: [2]float64{-0.5, 0.25},
	}
	bounds := [...][2]float64{op.Brightness, op.Contrast, op.Saturation, op.Hue}
	const n, bins = 48000, 16
	orders := make(map[[4]media.AdjustKind]int)
	var factors [4][bins]int
	var pairs [4][4][4]int // quarter of the factor, by its place in the order
	r := rand.New(rand.NewPCG(22, 1))
	for range n {
		var draws drawn
		for range 7 {
			draws = append(draws, r.Float64())
		}
		var order [4]media.AdjustKind
		for place, a := range adjusts(planned(t, 5, 5, draws, op)) {
			order[place] = a.Kind
			b := bounds[a.Kind]
			share := (float64(a.Factor) - b[0]) / (b[1] - b[0])
			if share < -1e-6 || share > 1+1e-6 {
				t.Fatalf("%v by %v, beyond %v", a.Kind, a.Factor, b)
			}
			share = min(max(share, 0), 1-1e-9)
			factors[a.Kind][int(share*bins)]++
			pairs[a.Kind][place][int(share*4)]++
		}
		orders[order]++
	}
	if len(orders) != 24 {
		t.Errorf("%d orders", len(orders))
	}
	evenly(t, "orders", slices.Collect(maps.Values(orders)))
	for kind := range factors {
		evenly(t, media.AdjustKind(kind).String(), factors[kind][:])
		evenly(t, media.AdjustKind(kind).String()+" by place", slices.Concat(pairs[kind][0][:], pairs[kind][1][:], pairs[kind][2][:], pairs[kind][3][:]))
	}
}

// evenly fails where counts are less alike than one in a million fair draws.
func evenly(t *testing.T, what string, counts []int) {
	t.Helper()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	expected, chi2 := float64(sum)/float64(len(counts)), 0.0
	for _, n := range counts {
		chi2 += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	// Wilson and Hilferty: the cube root of χ²/k is nearly normal.
	k := float64(len(counts) - 1)
	z := (math.Cbrt(chi2/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
	if z > 4.75 || z < -4.75 {
		t.Errorf("%s: χ² is %.1f with %v degrees of freedom: %v", what, chi2, k, counts)
	}
}

func TestColorsOfGrayStay(t *testing.T) {
	o := media.Options{Color: media.Gray}
	var plan media.Plan
	op := media.ColorJitter{Brightness: [2]float64{2, 2}, Contrast: [2]float64{3, 3}, Saturation: [2]float64{2, 2}, Hue: [2]float64{0.2, 0.2}}
	all := steps(op, media.ToGrayscale{}, media.RandomGrayscale{P: 1})
	if err := media.MakePlan(media.Info{Width: 3, Height: 3}, o, all, drawn{0, 0, 0, 0, 0, 0, 0}, &plan); err != nil {
		t.Fatal(err)
	}
	want := []media.Adjust{{Kind: media.Brightness, Factor: 2}, {Kind: media.Contrast, Factor: 3}}
	if got := adjusts(plan); !slices.Equal(got, want) || plan.Color != media.Gray {
		t.Errorf("%v of %v, want %v", got, plan.Color, want)
	}
}

func TestColorOperationsTellForms(t *testing.T) {
	rgb := media.Form{Height: 3, Width: media.Unknown, DType: tensor.Uint8}
	rgba, gray, wide, planes, float := rgb, rgb, rgb, rgb, rgb
	rgba.Color, gray.Color, wide.DType, planes.Layout, float.DType = media.RGBA, media.Gray, tensor.Uint16, media.CHW, tensor.Float32
	jitter, toGray, three, random := media.ColorJitter{}, media.ToGrayscale{Channels: 1}, media.ToGrayscale{Channels: 3}, media.RandomGrayscale{P: 0.5}
	wideGray := wide
	wideGray.Color = media.Gray
	for _, c := range []struct {
		op   media.Op
		in   media.Form
		want media.Form
		err  error
	}{
		{jitter, rgb, rgb, nil},
		{jitter, rgba, rgba, nil},
		{jitter, gray, gray, nil},
		{jitter, wide, wide, media.ErrUnsupported},
		{jitter, planes, planes, media.ErrGeometry},
		{jitter, float, float, media.ErrGeometry},
		{toGray, rgb, gray, nil},
		{media.ToGrayscale{}, rgba, gray, nil},
		{toGray, gray, gray, nil},
		{toGray, wide, wideGray, nil},
		{toGray, planes, planes, media.ErrGeometry},
		{toGray, float, float, media.ErrGeometry},
		{three, rgb, rgb, nil},
		{three, wide, wide, nil},
		{three, rgba, rgba, media.ErrUnsupported},
		{three, gray, gray, media.ErrUnsupported},
		{random, rgb, rgb, nil},
		{random, rgba, rgba, nil},
		{random, gray, gray, nil},
		{random, wide, wide, nil},
		{random, planes, planes, media.ErrGeometry},
		{random, float, float, media.ErrGeometry},
	} {
		got, err := c.op.Result(c.in)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%#v of %v: %v, %v, want %v, %v", c.op, c.in, got, err, c.want, c.err)
		}
	}
}

func TestColorParametersAreChecked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, op := range []media.Op{
		media.ColorJitter{Brightness: [2]float64{-0.1, 1}},
		media.ColorJitter{Brightness: [2]float64{1.1, 1}},
		media.ColorJitter{Contrast: [2]float64{nan, 1}},
		media.ColorJitter{Contrast: [2]float64{0, nan}},
		media.ColorJitter{Saturation: [2]float64{0, inf}},
		media.ColorJitter{Saturation: [2]float64{0, 1e39}},
		media.ColorJitter{Hue: [2]float64{-0.51, 0}},
		media.ColorJitter{Hue: [2]float64{0, 0.51}},
		media.ColorJitter{Hue: [2]float64{0.2, 0.1}},
		media.ColorJitter{P: new(-0.1)},
		media.ColorJitter{P: new(1.1)},
		media.ColorJitter{P: new(nan)},
		media.ToGrayscale{Channels: 2},
		media.ToGrayscale{Channels: -1},
		media.ToGrayscale{Channels: 4},
		media.RandomGrayscale{P: -0.1},
		media.RandomGrayscale{P: 1.1},
		media.RandomGrayscale{P: nan},
		media.ToLayout{Layout: 3},
		media.Normalize{Std: [3]float64{1, 1, 0}},
		media.Normalize{Std: [3]float64{1, -1, 1}},
		media.Normalize{Std: [3]float64{1, nan, 1}},
		media.Normalize{Std: [3]float64{inf, 1, 1}},
		media.Normalize{Std: [3]float64{1e39, 1, 1}},
		media.Normalize{Std: [3]float64{1, 1, 1e-46}},
		media.Normalize{Std: [3]float64{1, 1, 1e-39}},
		media.Normalize{Std: [3]float64{1, 1, 1}, Mean: [3]float64{nan, 0, 0}},
		media.Normalize{Std: [3]float64{1, 1, 1}, Mean: [3]float64{0, inf, 0}},
		media.Normalize{Std: [3]float64{1, 1, 1}, Mean: [3]float64{0, 0, 1e39}},
		media.Normalize{Std: [3]float64{1, 1, 1e-5}, DType: tensor.Float16},
		media.Normalize{Std: [3]float64{1, 1, 1}, DType: tensor.Float64},
		media.Normalize{Std: [3]float64{1, 1, 1}, DType: tensor.Uint8},
	} {
		if err := op.Check(); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%#v: %v", op, err)
		}
		var plan media.Plan
		if err := media.MakePlan(media.Info{Width: 3, Height: 3}, media.Options{}, steps(op), drawn{0, 0, 0, 0, 0, 0, 0}, &plan); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("a plan with %#v: %v", op, err)
		}
	}
	for _, op := range []media.Op{
		media.ColorJitter{Saturation: [2]float64{0, math.SmallestNonzeroFloat64}},
		media.Normalize{Std: [3]float64{1, 1, 1e-5}, DType: tensor.BFloat16},
		media.Normalize{Std: [3]float64{1e30, 1e-30, 1}, Mean: [3]float64{-5, 5, 1e30}},
	} {
		if err := op.Check(); err != nil {
			t.Errorf("%#v: %v", op, err)
		}
	}
}

// adjusts are the changes of colours of the plan's first stage, which has no others.
func adjusts(plan media.Plan) (all []media.Adjust) {
	for _, s := range plan.Stages[0].Passes {
		if a, ok := s.Adjust(); ok {
			all = append(all, a)
		}
	}
	return all
}
