package media_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"headrace/internal/oracle"
	"headrace/media"
	"headrace/tensor"
)

// drawn is a media.Rand that gives the numbers of one operation, by the number of the draw.
type drawn []float64

func (d drawn) Float64(_ uint64, draw uint32) float64 { return d[draw] }

func planned(t testing.TB, width, height int, r media.Rand, ops ...media.Op) media.Plan {
	t.Helper()
	var plan media.Plan
	if err := media.MakePlan(media.Info{Width: width, Height: height}, media.Options{Orient: true}, steps(ops...), r, &plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

func steps(ops ...media.Op) (s []media.Step) {
	for i, op := range ops {
		s = append(s, media.Step{Op: op, ID: uint64(i)})
	}
	return s
}

func TestResizedSizesEqualTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var cases [][4]int
	for range 20000 {
		size := 1 + r.IntN(700)
		longest := size + 1 + r.IntN(300)
		if r.IntN(2) == 0 {
			longest = 0
		}
		cases = append(cases, [4]int{1 + r.IntN(3000), 1 + r.IntN(3000), size, longest})
	}
	for i, want := range oracle.ResizedSizes(t, cases) {
		c := cases[i]
		got, err := media.Resize{Size: c[2], MaxSize: c[3]}.Result(media.Form{Height: c[0], Width: c[1], DType: tensor.Uint8})
		if err != nil || got.Height != want[0] || got.Width != want[1] {
			t.Errorf("%v: %+v, want %v", c, got, want)
		}
	}
}

func TestRandomResizedCropEqualsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var cases []oracle.RandomCrop
	for range 3000 {
		c := oracle.RandomCrop{Width: 1 + r.IntN(800), Height: 1 + r.IntN(800), Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3. / 4, 4. / 3}}
		switch r.IntN(4) {
		case 0:
			c.Height = 1 + c.Height/40 // hardly any try fits
		case 1:
			c.Scale, c.Ratio = [2]float64{0.5, 0.5}, [2]float64{0.25, 8}
		}
		for i := range c.Draws {
			c.Draws[i] = r.Float64()
		}
		cases = append(cases, c)
	}
	for i, want := range oracle.RandomResizedCrops(t, cases) {
		c := cases[i]
		plan := planned(t, c.Width, c.Height, drawn(c.Draws[:]), media.RandomResizedCrop{Height: 999, Width: 998, Scale: c.Scale, Ratio: c.Ratio})
		if got := plan.Stages[0].Crop; got != (media.Rect{X: want[1], Y: want[0], Width: want[3], Height: want[2]}) {
			t.Errorf("%+v: %+v, want %v", c, got, want)
		}
	}
}

func TestCenterCrop(t *testing.T) {
	for _, c := range []struct{ side, crop, at int }{
		{224, 224, 0}, {256, 224, 16}, {257, 224, 16}, {259, 224, 18}, {261, 224, 18}, // halves go to the even number
		{10, 20, -5}, {10, 21, -5}, {11, 20, -4}, {1, 2, 0}, // the odd pixel of padding goes right and below
	} {
		plan := planned(t, c.side, c.side, nil, media.CenterCrop{Height: c.crop, Width: c.crop})
		want := media.Rect{X: c.at, Y: c.at, Width: c.crop, Height: c.crop}
		if len(plan.Stages) != 1 || plan.Stages[0].Window != want {
			t.Errorf("%+v: %+v", c, plan.Stages)
		}
	}
}

func TestRandomCropAndFlip(t *testing.T) {
	plan := planned(t, 100, 50, drawn{0.999999, 0.5}, media.RandomCrop{Height: 20, Width: 30})
	if got := plan.Stages[0].Window; got != (media.Rect{X: 35, Y: 30, Width: 30, Height: 20}) {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		draw, p float64
		flips   bool
	}{{0, 0, false}, {0, 0.5, true}, {0.5, 0.5, false}, {0.999, 1, true}} {
		if got := planned(t, 9, 9, drawn{c.draw}, media.RandomFlip{P: c.p}).Stages[0].Turn == 2; got != c.flips {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// As few stages as possible: what can be one pass over the pixels is one.
func TestStages(t *testing.T) {
	resize, crop := media.Resize{Size: 64}, media.CenterCrop{Height: 48, Width: 48}
	random, flip := media.RandomResizedCrop{Height: 32, Width: 32}, media.RandomFlip{P: 1}
	for name, c := range map[string]struct {
		ops    []media.Op
		stages int
	}{
		"nothing":                     {nil, 1},
		"validation":                  {[]media.Op{resize, crop}, 1},
		"training":                    {[]media.Op{random, flip}, 1},
		"crop, then resize":           {[]media.Op{crop, crop, resize}, 1},
		"crop of a flip":              {[]media.Op{resize, flip, crop, flip}, 1},
		"padding":                     {[]media.Op{resize, media.CenterCrop{Height: 500, Width: 500}, crop}, 1},
		"resize to the same":          {[]media.Op{resize, resize, resize}, 1},
		"two resizes":                 {[]media.Op{resize, crop, random}, 2},
		"resize of a flip":            {[]media.Op{flip, resize}, 1},
		"resize of what is padded":    {[]media.Op{media.CenterCrop{Height: 500, Width: 500}, resize}, 2},
		"padding of what was cut off": {[]media.Op{crop, media.CenterCrop{Height: 60, Width: 60}}, 2},
	} {
		if plan := planned(t, 300, 200, drawn(make([]float64, 22)), c.ops...); len(plan.Stages) != c.stages {
			t.Errorf("%s: %d stages, want %d: %+v", name, len(plan.Stages), c.stages, plan.Stages)
		}
	}
}

// What is known of the result's size before the picture is known is right, and stages fit together.
func TestPlansAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := media.Info{Width: rapid.IntRange(1, 400).Draw(t, "width"), Height: rapid.IntRange(1, 400).Draw(t, "height"),
			Orientation: rapid.IntRange(0, 9).Draw(t, "orientation")}
		side := rapid.IntRange(1, 120)
		var ops []media.Op
		for range rapid.IntRange(0, 6).Draw(t, "ops") {
			a, b := side.Draw(t, "a"), side.Draw(t, "b")
			ops = append(ops, []media.Op{
				media.Resize{Size: a}, media.Resize{Size: a, MaxSize: a + b}, media.ResizeExact{Height: a, Width: b}, media.CenterCrop{Height: a, Width: b},
				media.RandomCrop{Height: a, Width: b}, media.RandomResizedCrop{Height: a, Width: b}, media.RandomFlip{P: 0.5},
			}[rapid.IntRange(0, 6).Draw(t, "op")])
		}
		var plan media.Plan
		draws := make(drawn, 22)
		for i := range draws {
			draws[i] = rapid.Float64Range(0, 0.999).Draw(t, "draw")
		}
		upright := rapid.Bool().Draw(t, "upright")
		if err := media.MakePlan(info, media.Options{Orient: upright}, steps(ops...), draws, &plan); err != nil {
			if !errors.Is(err, media.ErrGeometry) && !errors.Is(err, media.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		known, err := media.Results(media.Options{}.Form(), steps(ops...))
		if err != nil || known.Height != media.Unknown && known != plan.Form() {
			t.Fatalf("%v: promised %v, %v, made %v", ops, known, err, plan.Form())
		}
		width, height := info.Width, info.Height
		if plan.Orientation > 4 {
			width, height = height, width
		}
		if !upright && plan.Orientation > 2 { // 2 may be a flip
			t.Fatalf("orientation %d is applied unasked", plan.Orientation)
		}
		for _, s := range plan.Stages {
			if !s.Crop.In(width, height) || s.Window.Width <= 0 || s.Window.Height <= 0 || !s.Visible().In(s.Width, s.Height) {
				t.Fatalf("%v: %+v of %d×%d", ops, s, width, height)
			}
			if at := s.Target(); !at.In(s.Window.Width, s.Window.Height) {
				t.Fatalf("%v: %+v goes to %+v", ops, s, at)
			}
			width, height = s.Window.Width, s.Window.Height
		}
		if width != plan.Width || height != plan.Height {
			t.Fatalf("%v: %d×%d, the plan says %d×%d", ops, width, height, plan.Width, plan.Height)
		}
	})
}

func TestImpossible(t *testing.T) {
	for _, c := range []struct {
		op   media.Op
		kind error
	}{
		{media.Resize{}, media.ErrGeometry}, {media.Resize{Size: 1 << 20}, media.ErrGeometry}, {media.Resize{Size: 9, MaxSize: 9}, media.ErrGeometry},
		{media.ResizeExact{Height: 5}, media.ErrGeometry}, {media.ResizeExact{Height: 60000, Width: 60000}, media.ErrGeometry},
		{media.CenterCrop{Height: -1, Width: 4}, media.ErrGeometry}, {media.RandomCrop{Height: 201, Width: 2}, media.ErrGeometry},
		{media.RandomFlip{P: 1.5}, media.ErrGeometry}, {media.RandomFlip{P: math.NaN()}, media.ErrGeometry},
		{media.RandomResizedCrop{Height: 2}, media.ErrGeometry},
		{media.RandomResizedCrop{Height: 2, Width: 2, Scale: [2]float64{0.5, 0.2}}, media.ErrGeometry},
		{media.RandomResizedCrop{Height: 2, Width: 2, Ratio: [2]float64{0, 1}}, media.ErrGeometry},
		{media.Resize{Size: 60000}, media.ErrTooLarge},
	} {
		var plan media.Plan
		if err := media.MakePlan(media.Info{Width: 300, Height: 200}, media.Options{Orient: true}, steps(c.op), drawn(make([]float64, 22)), &plan); !errors.Is(err, c.kind) {
			t.Errorf("%#v: %v, want %v", c.op, err, c.kind)
		}
	}
	var plan media.Plan
	if err := media.MakePlan(media.Info{}, media.Options{Orient: true}, nil, nil, &plan); !errors.Is(err, media.ErrGeometry) {
		t.Error(err)
	}
	if err := media.MakePlan(media.Info{Width: 1, Height: 200}, media.Options{Orient: true}, steps(media.Resize{Size: 2, MaxSize: 3}), nil, &plan); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("nothing left: %v", err)
	}
}

// A plan is used again and again; what an operation draws is its own, by its ID.
func TestPlanIsReused(t *testing.T) {
	ops := steps(media.RandomResizedCrop{Height: 22, Width: 33}, media.RandomFlip{P: 0.5}, media.Resize{Size: 9})
	info := media.Info{Width: 300, Height: 200, Orientation: 6}
	asked := make(recorder)
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true}, ops, asked, &plan); err != nil {
		t.Fatal(err)
	}
	if want := (recorder{{0, 0}: true, {0, 1}: true, {0, 20}: true, {0, 21}: true, {1, 0}: true}); !reflect.DeepEqual(asked, want) {
		t.Errorf("draws %v, want %v", asked, want)
	}
	var r media.Rand = asked
	if n := testing.AllocsPerRun(100, func() {
		if err := media.MakePlan(info, media.Options{Orient: true}, ops, r, &plan); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type recorder map[[2]uint64]bool

func (r recorder) Float64(op uint64, draw uint32) float64 {
	r[[2]uint64{op, uint64(draw)}] = true
	return 0.3
}
