package media_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// drawn is a media.Rand that gives the numbers of one operation, by the number of the
// draw, and then the first ones again.
type drawn []float64

func (d drawn) Float64(_ uint64, draw uint32) float64 { return d[int(draw)%len(d)] }

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
		for _, op := range []media.Op{media.RandomFlip{P: c.p}, media.RandomVerticalFlip{P: c.p}, media.RandomRotate90{P: c.p}} {
			if got := planned(t, 9, 9, drawn{c.draw, 0.5}, op).Stages[0].Turn; (got > 1) != c.flips {
				t.Errorf("%T, %+v: turned by %v", op, c, got)
			}
		}
	}
}

// As few stages as possible: what can be one pass over the pixels is one.
func TestStages(t *testing.T) {
	resize, crop := media.Resize{Size: 64}, media.CenterCrop{Height: 48, Width: 48}
	random, flip := media.RandomResizedCrop{Height: 32, Width: 32}, media.RandomFlip{P: 1}
	quarter, upside := media.Rotate90{Turns: 1}, media.RandomVerticalFlip{P: 1}
	pad, grey := media.Pad{Left: 1, Bottom: 2}, media.Pad{Top: 1, Fill: [4]uint16{99, 99, 99}}
	bright, contrast := media.ColorJitter{Brightness: [2]float64{2, 2}}, media.ColorJitter{Contrast: [2]float64{2, 2}}
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
		"turns":                       {[]media.Op{quarter, flip, resize, quarter, crop, upside, crop, quarter}, 1},
		"resize of a turned crop":     {[]media.Op{crop, quarter, flip, resize}, 1},
		"turns between resizes":       {[]media.Op{resize, quarter, random, flip, upside}, 2},
		"padding twice":               {[]media.Op{resize, pad, quarter, pad}, 1},
		"padding in two colours":      {[]media.Op{pad, grey, crop}, 2},
		"padding, cut off":            {[]media.Op{pad, crop, grey}, 2},
		"padding that is nothing":     {[]media.Op{crop, media.Pad{}, resize}, 1},
		"colours":                     {[]media.Op{resize, crop, bright, contrast}, 1},
		"turns of changed colours":    {[]media.Op{resize, contrast, flip, quarter, bright}, 1},
		"crop of changed colours":     {[]media.Op{resize, bright, crop, contrast}, 1},
		"crop after contrast":         {[]media.Op{resize, contrast, crop}, 2},
		"crop of the whole":           {[]media.Op{resize, crop, contrast, crop}, 1},
		"padding of changed colours":  {[]media.Op{resize, bright, pad}, 2},
		"resize of changed colours":   {[]media.Op{bright, resize}, 2},
		"bucket":                      {[]media.Op{crop, flip, media.ResizeToBucket{Sizes: []media.Size{{Height: 20, Width: 30}}}, flip, pad}, 2},
	} {
		if plan := planned(t, 300, 200, drawn(make([]float64, 22)), c.ops...); len(plan.Stages) != c.stages {
			t.Errorf("%s: %d stages, want %d: %+v", name, len(plan.Stages), c.stages, plan.Stages)
		}
	}
}

// Stages fit together.
func TestPlansAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := media.Info{Width: rapid.IntRange(1, 400).Draw(t, "width"), Height: rapid.IntRange(1, 400).Draw(t, "height"),
			Orientation: rapid.IntRange(0, 9).Draw(t, "orientation")}
		var ops []media.Op
		for range rapid.IntRange(0, 6).Draw(t, "ops") {
			ops = append(ops, decodertest.AnyOp(t, tensor.Uint8))
		}
		var plan media.Plan
		draws := make(drawn, 22)
		for i := range draws {
			draws[i] = rapid.Float64Range(0, 0.999).Draw(t, "draw")
		}
		upright := rapid.Bool().Draw(t, "upright")
		if err := media.MakePlan(info, media.Options{Orient: upright}, steps(ops...), draws, &plan); err != nil {
			if kind(err) == nil {
				t.Fatal(err)
			}
			return
		}
		width, height := info.Width, info.Height
		if plan.Orientation > 4 {
			width, height = height, width
		}
		for _, s := range plan.Stages {
			if !s.Crop.In(width, height) || s.Window.Width <= 0 || s.Window.Height <= 0 || !s.Visible().In(s.Width, s.Height) {
				t.Fatalf("%v: %+v of %d×%d", ops, s, width, height)
			}
			width, height = s.Window.Width, s.Window.Height
			if s.Turn > 4 {
				width, height = height, width
			}
			if at := s.Target(); !at.In(width, height) {
				t.Fatalf("%v: %+v goes to %+v", ops, s, at)
			}
		}
		if width != plan.Width || height != plan.Height {
			t.Fatalf("%v: %d×%d, the plan says %d×%d", ops, width, height, plan.Width, plan.Height)
		}
	})
}

// An orientation that nobody asked for is not applied.
func TestUnasked(t *testing.T) {
	var plan media.Plan
	info := media.Info{Width: 30, Height: 20, Orientation: 6}
	for _, ops := range [][]media.Op{nil, {media.Resize{Size: 9}}, {media.RandomFlip{P: 1}}} {
		if err := media.MakePlan(info, media.Options{}, steps(ops...), drawn{0}, &plan); err != nil || plan.Orientation != 1 {
			t.Errorf("%v: orientation %d, %v", ops, plan.Orientation, err)
		}
	}
}

// What is turned anyway is turned once.
func TestTurnsCancel(t *testing.T) {
	for orientation, back := range map[int]int{1: 0, 3: 2, 6: 1, 8: -1} {
		var plan media.Plan
		info := media.Info{Width: 30, Height: 20, Orientation: orientation}
		err := media.MakePlan(info, media.Options{Orient: true}, steps(media.Rotate90{Turns: back}, media.CenterCrop{Height: 5, Width: 6}), nil, &plan)
		if s := plan.Stages[0]; err != nil || plan.Orientation != 1 || s.Turn != 1 || s.Window != (media.Rect{X: 12, Y: 8, Width: 6, Height: 5}) {
			t.Errorf("%d, turned by %d: %+v, %v", orientation, back, plan, err)
		}
	}
}

func TestRotate90(t *testing.T) {
	for turns, want := range map[int]int{0: 1, 1: 8, 2: 3, 3: 6, 4: 1, -1: 6, 5: 8, -6: 3, math.MaxInt: 6, math.MinInt: 1} {
		plan := planned(t, 30, 20, nil, media.ResizeExact{Height: 5, Width: 9}, media.Rotate90{Turns: turns})
		if plan.Stages[0].Turn != want {
			t.Errorf("%d turns: %+v", turns, plan.Stages)
		}
	}
	for u, want := range map[float64]int{0: 1, 0.25: 8, 0.5: 3, 0.999: 6} {
		resize := media.ResizeExact{Height: 5, Width: 9}
		if plan := planned(t, 30, 20, drawn{0.4, u}, resize, media.RandomRotate90{P: 0.5}); plan.Stages[0].Turn != want {
			t.Errorf("drawn %v: %+v", u, plan.Stages)
		}
		if plan := planned(t, 30, 20, drawn{0.5, u}, resize, media.RandomRotate90{P: 0.5}); plan.Stages[0].Turn != 1 {
			t.Errorf("drawn %v: turned unasked: %+v", u, plan.Stages)
		}
	}
}

func TestBucketsAreNearest(t *testing.T) {
	sizes := [][2]int{{512, 512}, {384, 640}, {640, 384}, {320, 768}, {768, 320}, {448, 576}}
	op := media.ResizeToBucket{}
	for _, s := range sizes {
		op.Sizes = append(op.Sizes, media.Size{Height: s[0], Width: s[1]})
	}
	r := rand.New(rand.NewPCG(3, 3))
	var pictures [][2]int
	for range 3000 {
		pictures = append(pictures, [2]int{1 + r.IntN(3000), 1 + r.IntN(3000)})
	}
	for i, want := range oracle.Buckets(t, pictures, sizes) {
		w, h := pictures[i][0], pictures[i][1]
		if got, err := op.Result(media.Form{Height: h, Width: w, DType: tensor.Uint8}); err != nil || got.Height != sizes[want][0] || got.Width != sizes[want][1] {
			t.Errorf("%d×%d: %v, %v, want %v", w, h, got, err, sizes[want])
		}
		plan := planned(t, w, h, nil, op)
		s := plan.Stages[0]
		short := min(s.Width-s.Window.Width, s.Height-s.Window.Height)
		if short != 0 || !s.Window.In(s.Width, s.Height) || plan.Width != sizes[want][1] || plan.Height != sizes[want][0] {
			t.Errorf("%d×%d: %+v", w, h, s)
		}
	}
	tie := media.ResizeToBucket{Sizes: []media.Size{{Height: 10, Width: 20}, {Height: 20, Width: 10}, {Height: 40, Width: 20}}}
	for want, size := range map[media.Size]media.Size{{Height: 10, Width: 20}: {Height: 7, Width: 7}, {Height: 20, Width: 10}: {Height: 9, Width: 5}} {
		if got, err := tie.Result(media.Form{Height: size.Height, Width: size.Width, DType: tensor.Uint8}); err != nil || got.Height != want.Height || got.Width != want.Width {
			t.Errorf("%v: %v, %v, want %v", size, got, err, want)
		}
	}
	if got, err := tie.Result(media.Options{}.Form()); err != nil || got.Height != media.Unknown || got.Width != media.Unknown {
		t.Errorf("%v, %v", got, err)
	}
	one := media.ResizeToBucket{Sizes: tie.Sizes[:1]}
	if got, err := one.Result(media.Options{}.Form()); err != nil || got.Height != 10 || got.Width != 20 {
		t.Errorf("%v, %v", got, err)
	}
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
		{media.Resize{Size: -5}, media.ErrGeometry}, {media.Resize{Size: math.MinInt, MaxSize: math.MaxInt}, media.ErrGeometry},
		{media.Resize{Size: 5, Filter: 6}, media.ErrGeometry}, {media.ResizeExact{Height: 5, Width: 5, Filter: 255}, media.ErrGeometry},
		{media.ResizeExact{Height: math.MaxInt, Width: math.MaxInt}, media.ErrGeometry},
		{media.RandomResizedCrop{Height: 5, Width: 5, Filter: 9}, media.ErrGeometry},
		{media.RandomResizedCrop{Height: 5, Width: 5, Scale: [2]float64{math.NaN(), 1}}, media.ErrGeometry},
		{media.RandomResizedCrop{Height: 5, Width: 5, Ratio: [2]float64{1, math.Inf(1)}}, media.ErrGeometry},
		{media.ResizeCrop{Height: 5}, media.ErrGeometry}, {media.ResizeCrop{Height: 5, Width: 5, Filter: 6}, media.ErrGeometry},
		{media.ResizePad{Height: 5, Width: 5, Anchor: 9}, media.ErrGeometry}, {media.ResizePad{Height: 60000, Width: 60000}, media.ErrGeometry},
		{media.ResizePad{Height: 5, Width: 5, Fill: [4]uint16{256}}, media.ErrGeometry},
		{media.PadTo{Height: 5, Width: 5}, media.ErrGeometry}, {media.PadTo{Height: 500}, media.ErrGeometry},
		{media.ResizeToBucket{}, media.ErrGeometry}, {media.ResizeToBucket{Sizes: []media.Size{{Height: 1}}}, media.ErrGeometry},
		{media.ResizeToBucket{Sizes: []media.Size{{Height: 1, Width: 1}}, Filter: 7}, media.ErrGeometry},
		{media.ResizeToBucket{Sizes: []media.Size{{Height: 60000, Width: 1}}}, media.ErrTooLarge},
		{media.Pad{Left: -1}, media.ErrGeometry}, {media.Pad{Right: 65536}, media.ErrGeometry}, {media.Pad{Top: math.MaxInt, Bottom: math.MaxInt}, media.ErrGeometry},
		{media.Pad{Left: 65535, Right: 65535, Top: 65535, Bottom: 65535}, media.ErrTooLarge},
		{media.Pad{Left: 1, Fill: [4]uint16{0, 256}}, media.ErrGeometry},
		{media.RandomVerticalFlip{P: -0.1}, media.ErrGeometry}, {media.RandomRotate90{P: math.Inf(1)}, media.ErrGeometry},
		{media.RandomCrop{Height: math.MinInt, Width: 1}, media.ErrGeometry},
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

// anyOf draws an operation of a step, with arguments that are right for RGB images; nil:
// none was found.
func anyOf(t *rapid.T, op recipe.Op) media.Op {
	image := sample.TensorType(tensor.Uint8, tensor.Unknown, tensor.Unknown, 3)
	image.Axes = "HWC"
	args, _, ok := recipetest.Fitting(t, op, sample.Schema{{Name: "image", Type: image}})
	if !ok {
		return nil
	}
	return args.(recipe.Transform).Transform()
}

// Nothing but a layout follows what makes numbers of pixels, and nothing but numbers what
// makes planes of them.
func TestPixelsComeBeforeOutput(t *testing.T) {
	refused := make(map[string]bool)
	rapid.Check(t, func(t *rapid.T) {
		for _, step := range recipetest.Transforms() {
			op := anyOf(t, step)
			for _, output := range []media.Op{media.Normalize{Std: [3]float64{1, 1, 1}}, media.ToLayout{Layout: media.CHW}} {
				_, isNumbers := op.(media.Normalize)
				if _, isLayout := op.(media.ToLayout); op == nil || isLayout || isNumbers && reflect.TypeOf(output) != reflect.TypeOf(op) {
					continue
				}
				refused[step.Name] = true
				var plan media.Plan
				err := media.MakePlan(media.Info{Width: 80, Height: 70}, media.Options{}, steps(output, op), decodertest.Hashed(1), &plan)
				_, promise := media.Results(media.Options{}.Form(), steps(output, op))
				if !errors.Is(err, media.ErrGeometry) || !errors.Is(promise, media.ErrGeometry) {
					t.Fatalf("%#v, then %#v: %v, %v", output, op, err, promise)
				}
			}
		}
	})
	if len(refused) < len(recipetest.Transforms())-1 {
		t.Errorf("only %v were tried", refused)
	}
}

// Whatever parameters say: an error of this package, or a plan.
func TestHostileParameters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, step := range recipetest.Transforms() {
			if op := anyOf(t, step); op != nil {
				hostile := reflect.New(reflect.TypeOf(op)).Elem()
				hostile.Set(reflect.ValueOf(op))
				spoil(t, hostile)
				tryHostile(t, hostile.Interface().(media.Op))
			}
		}
	})
}

func tryHostile(t *rapid.T, op media.Op) {
	whole := wholes()
	info := media.Info{Width: whole.Draw(t, "width"), Height: whole.Draw(t, "height"), Orientation: whole.Draw(t, "orientation")}
	o := media.Options{Orient: true, Mode: media.Mode(rapid.IntRange(0, 3).Draw(t, "mode")), Color: media.Color(rapid.IntRange(0, 4).Draw(t, "color"))}
	var plan media.Plan
	err := media.MakePlan(info, o, steps(op, media.RandomFlip{P: 0.5}), decodertest.Hashed(7), &plan)
	if err != nil && kind(err) == nil {
		t.Fatalf("%#v: %v", op, err)
	}
	if err == nil && (plan.Width <= 0 || plan.Height <= 0 || plan.Width > media.MaxPixels/plan.Height) {
		t.Fatalf("%#v of %v: %d×%d", op, info, plan.Width, plan.Height)
	}
}

func wholes() *rapid.Generator[int] {
	return rapid.OneOf(rapid.Int(), rapid.IntRange(-3, 70000), rapid.SampledFrom([]int{math.MaxInt, math.MinInt, math.MaxInt32 + 1, -1, 0}))
}

// spoil gives some of the fields of parameters other values, and lists up to two members.
func spoil(t *rapid.T, v reflect.Value) {
	if v.Kind() != reflect.Struct && rapid.IntRange(0, 3).Draw(t, "right") == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(t, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			spoil(t, v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "length"), 2))
		for i := range v.Len() {
			spoil(t, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		spoil(t, v.Elem())
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "imagenet", "x"}).Draw(t, "text"))
	case reflect.Interface: // without a value
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int:
		v.SetInt(int64(wholes().Draw(t, "whole")))
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(uint64(rapid.IntRange(0, 1<<v.Type().Bits()-1).Draw(t, "short")))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 2),
			rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e-300})).Draw(t, "number"))
	default:
		t.Fatalf("no hostile %v is known here", v.Type())
	}
}

// A plan is used again and again; what an operation draws is its own, by its ID.
func TestPlanIsReused(t *testing.T) {
	ops := steps(media.RandomResizedCrop{Height: 22, Width: 33}, media.RandomFlip{P: 0.5}, media.Resize{Size: 9},
		media.RandomVerticalFlip{P: 0.5}, media.RandomRotate90{P: 1}, media.RandomCrop{Height: 9, Width: 9},
		media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Contrast: [2]float64{0.5, 1.5}}, media.Pad{Left: 2},
		media.ResizeToBucket{Sizes: []media.Size{{Height: 12, Width: 12}, {Height: 14, Width: 10}}},
		media.ColorJitter{Brightness: [2]float64{0.5, 1.5}}, media.RandomGrayscale{P: 0.5}, media.ToGrayscale{},
		media.Normalize{Std: [3]float64{1, 1, 1}}, media.ToLayout{Layout: media.CHW})
	info := media.Info{Width: 300, Height: 200, Orientation: 6}
	asked := make(recorder)
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true}, ops, asked, &plan); err != nil {
		t.Fatal(err)
	}
	want := recorder{{0, 0}: true, {0, 1}: true, {0, 20}: true, {0, 21}: true, {1, 0}: true, {3, 0}: true, {4, 0}: true, {4, 1}: true, {5, 0}: true, {5, 1}: true}
	for draw := range asked {
		if draw[0] <= 5 && !want[draw] || draw[0] > 5 && draw[0] != 6 && draw[0] != 9 && draw[0] != 10 {
			t.Errorf("asked for draw %v", draw)
		}
	}
	for draw := range want {
		if !asked[draw] {
			t.Errorf("did not ask for draw %v", draw)
		}
	}
	if len(plan.Stages) != 4 {
		t.Errorf("%+v", plan.Stages)
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
