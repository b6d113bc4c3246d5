//go:build cgo

package turbo

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/tensor"
)

// try decodes in a mode, as bytes of whatever form.
func try(data []byte, mode media.Mode, steps []media.Step, orientation int) ([]byte, error) {
	info, err := media.Probe(data)
	if err != nil {
		return nil, err
	}
	info.Orientation = orientation
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true, Mode: mode}, steps, decodertest.Draws(0.3), &plan); err != nil {
		return nil, err
	}
	dst := space(&plan)
	return dst, Decoder{}.DecodeInto(dst, plan.Form().RowBytes(), data, &info, &plan)
}

// photo is an image of slopes, a little noise, and edges mostly of lightness, as
// images have them.
func photo(c, x, y int) float64 {
	wave := func(v, period int) float64 { return math.Abs(float64(v%period)/float64(period) - 0.5) }
	v := 60 + 20*float64(c) + 120*wave(x*(2+c)+y, 300) + 100*wave(y*(4-c)+x, 410) + float64((x*7+y*13+x*y)%9)
	if (x/40+y/50)%3 == 1 {
		v += 30 / float64(1+3*c)
	}
	return v
}

// distances are those of the bytes of two images, in order.
func distances(a, b []byte) (mean float64, sorted []int) {
	for i := range a {
		d := int(a[i]) - int(b[i])
		d = max(d, -d)
		mean += float64(d) / float64(len(a))
		sorted = append(sorted, d)
	}
	slices.Sort(sorted)
	return mean, sorted
}

// Without a reduction in the transform, fast pixels are the exact ones; with one, not far
// from them.
func TestFastIsNearExact(t *testing.T) {
	layouts := map[string]testjpeg.Layout{
		"grey": {}, "4:4:4": {Sampling: testjpeg.S444}, "4:2:2": {Sampling: testjpeg.S422}, "4:2:0": {Sampling: testjpeg.S420},
		"4:4:0": {Sampling: testjpeg.S440}, "4:1:1": {Sampling: testjpeg.S411}, "progressive": {Sampling: testjpeg.S420, Progressive: true},
		"separate": {Sampling: testjpeg.S420, Separate: true}, "grey 2x2": {Sampling: [][2]int{{2, 2}}}, "1x1 of 2x1": {Sampling: [][2]int{{2, 1}, {2, 1}, {2, 1}}},
	}
	crop := []media.Step{{Op: media.RandomResizedCrop{Height: 60, Width: 90}}, {Op: media.RandomFlip{P: 1}}}
	for name, l := range layouts {
		for _, size := range [][2]int{{330, 251}, {251, 330}, {900, 700}, {140, 131}} {
			data := testjpeg.Encode(size[0], size[1], l, photo)
			for _, steps := range [][]media.Step{valStepsOf(128, 112), crop, {{Op: media.ResizeExact{Height: 150, Width: 151, Filter: media.Lanczos}}}} {
				for orientation := 1; orientation <= 8; orientation += tier.Cases(3, 1) {
					exact, err := try(data, media.Exact, steps, orientation)
					if err != nil {
						t.Fatal(err)
					}
					fast, err := try(data, media.Fast, steps, orientation)
					if err != nil {
						t.Fatal(err)
					}
					mean, sorted := distances(exact, fast)
					limit, most := 0.0, 0
					if reduced(t, data, steps, orientation) {
						limit, most = 2.5, 60
					}
					if name == "4:1:1" {
						limit *= 2 // libjpeg repeats such chroma, which here is interpolated
					}
					if p := sorted[len(sorted)*999/1000]; mean > limit || p > most {
						t.Errorf("%s, %v, %v, orientation %d: %.2f levels apart on average, %d in the 99.9th percentile", name, size, steps, orientation, mean, p)
					}
				}
			}
		}
	}
}

// reduced reports whether the inverse transform makes the image smaller.
func reduced(t *testing.T, data []byte, steps []media.Step, orientation int) bool {
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	info.Orientation = orientation
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true}, steps, decodertest.Draws(0.3), &plan); err != nil {
		t.Fatal(err)
	}
	s := untwisted(&plan.Stages[0], &picture{width: info.Width, height: info.Height, orientation: plan.Orientation})
	return eighths(&s) < 8
}

func valStepsOf(size, crop int) []media.Step {
	return []media.Step{{Op: media.Resize{Size: size}}, {Op: media.CenterCrop{Height: crop, Width: crop}}}
}

// Every set of kernels gives the same bytes, and the same is the output through other
// stages, forms and turns.
func TestFastIsTheSameEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"grey", "4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "4:2:0 progressive", "4:2:0 separate", "4:2:0 without last scans", "mixed chroma", "chroma finer", "grey 2x2"}
		data := encode(rapid.SampledFrom(names).Draw(t, "layout"), rapid.IntRange(1, 300).Draw(t, "width"), rapid.IntRange(1, 200).Draw(t, "height"), 3)
		o := media.Options{Orient: true, Mode: media.Fast}
		info, err := media.Probe(data)
		if err != nil {
			t.Fatal(err)
		}
		info.Orientation = rapid.IntRange(1, 8).Draw(t, "orientation")
		plan := anyPlan(t, info, o)
		var want []byte
		for _, name := range levels() {
			undo := setLevel(name)
			got := space(plan)
			err := Decoder{}.DecodeInto(got, plan.Form().RowBytes(), data, &info, plan)
			undo()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s differs: %+v", name, plan)
			}
		}
	})
}

// Colours are converted to within a level of exact arithmetic.
func TestFastColours(t *testing.T) {
	for _, name := range levels() {
		undo := setLevel(name)
		for y := 0; y < 256; y += tier.Cases(25, 5) {
			for cb := range 256 {
				data := make([]byte, 3*256)
				planes := [3][]byte{bytes.Repeat([]byte{byte(y)}, 288), bytes.Repeat([]byte{byte(cb)}, 288), make([]byte, 288)}
				for cr := range 256 {
					planes[2][cr] = byte(cr)
				}
				convert(planes, data)
				for cr := range 256 {
					l, b, r := float64(y), float64(cb)-128, float64(cr)-128
					for c, want := range [3]float64{l + 1.402*r, l - 0.344136*b - 0.714136*r, l + 1.772*b} {
						want = min(max(want, 0), 255)
						if got := float64(data[3*cr+c]); got-want > 0.6 || want-got > 0.6 {
							t.Fatalf("%s: YCbCr %d, %d, %d: channel %d is %v, want %.2f", name, y, cb, cr, c, got, want)
						}
					}
				}
			}
		}
		undo()
	}
}

// Broken files are errors in this mode as well.
func TestFastErrors(t *testing.T) {
	data := testjpeg.Noise(200, 200, 1, testjpeg.Layout{Sampling: testjpeg.S420})
	steps := valStepsOf(40, 36)
	whole, err := try(data, media.Fast, steps, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(data); n += tier.Cases(29, 7) {
		got, err := try(data[:n], media.Fast, steps, 1)
		if err == nil && !bytes.Equal(got, whole) || err != nil && !typed(err) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
		if err == nil && n < len(data)/2 {
			t.Fatalf("%d of %d bytes give a whole picture", n, len(data))
		}
	}
	if again, err := try(data, media.Fast, steps, 1); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("after the errors: other pixels, or %v", err)
	}
}

// A warm decoder takes no memory, in this mode and through outputs and changes of colour.
func TestFastMemory(t *testing.T) {
	data := testjpeg.Noise(300, 260, 1, testjpeg.Layout{Sampling: testjpeg.S420})
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	floats := []media.Step{
		{Op: media.RandomResizedCrop{Height: 50, Width: 60}}, {Op: media.ColorJitter{Contrast: [2]float64{0.5, 1.5}}}, {Op: media.Rotate90{Turns: 1}},
		{Op: media.Normalize{Std: [3]float64{1, 1, 1}, DType: tensor.Float32}}, {Op: media.ToLayout{Layout: media.CHW}},
	}
	for _, mode := range []media.Mode{media.Exact, media.Fast} {
		for i, steps := range [][]media.Step{valStepsOf(60, 50), floats, append(valStepsOf(60, 50), floats[3:]...)} {
			var plan media.Plan
			var draws media.Rand = decodertest.Draws(0.4)
			if err := media.MakePlan(info, media.Options{Mode: mode}, steps, draws, &plan); err != nil {
				t.Fatal(err)
			}
			dst := space(&plan)
			one := func() {
				if err := (Decoder{}).DecodeInto(dst, plan.Form().RowBytes(), data, &info, &plan); err != nil {
					t.Fatal(err)
				}
			}
			one()
			taken, _, _ := memory()
			if n := testing.AllocsPerRun(20, one); n != 0 && !instrumented {
				t.Errorf("%v, %d: %v allocations in Go", mode, i, n)
			}
			if now, _, _ := memory(); now != taken {
				t.Errorf("%v, %d: %d pieces of C memory taken by a warm decoder", mode, i, now-taken)
			}
		}
	}
}
