//go:build cgo

package turbo

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/tensor"
)

// The runner makes of any pixels what the one in Go makes of them, by any operations,
// with every set of kernels.
func TestRunnerEqualsGos(t *testing.T) {
	for _, name := range levels() {
		t.Run(name, func(t *testing.T) {
			defer setLevel(name)()
			rapid.Check(t, func(t *rapid.T) {
				p := anyPixels(t)
				info := media.Info{Width: p.Width, Height: p.Height, Orientation: rapid.IntRange(1, 8).Draw(t, "orientation")}
				o := media.Options{Orient: true, Color: p.Color, DType: p.DType, Mode: media.Mode(rapid.IntRange(0, 1).Draw(t, "mode"))}
				plan := anyPlan(t, info, o)
				want, wantErr := ran(media.GoRunner{}, p, plan)
				got, err := ran(Runner{}, p, plan)
				if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
					t.Fatalf("differs: %v, want %v: %+v", err, wantErr, plan)
				}
			})
		})
	}
}

// The decoder makes of a JPEG what the runner makes of its pixels, in every form.
func TestDecoderEqualsRunner(t *testing.T) {
	for _, name := range levels() {
		t.Run(name, func(t *testing.T) {
			defer setLevel(name)()
			rapid.Check(t, func(t *rapid.T) {
				names := []string{"grey", "4:4:4", "4:2:0", "4:2:0 progressive"}
				data := encode(rapid.SampledFrom(names).Draw(t, "layout"), rapid.IntRange(1, 70).Draw(t, "width"), rapid.IntRange(1, 70).Draw(t, "height"), 1)
				info, err := media.Probe(data)
				if err != nil {
					t.Fatal(err)
				}
				info.Orientation = rapid.IntRange(1, 8).Draw(t, "orientation")
				o := media.Options{Orient: true, Color: anyColor(t), DType: anyDType(t)}
				if o.Color != media.RGBA && rapid.Bool().Draw(t, "background") {
					o.Background = &[3]uint8{1, 2, 3}
				}
				p := media.Pixels{Width: info.Width, Height: info.Height, Color: o.Color, DType: o.DType}
				p.Stride = p.Width * p.PixelBytes()
				p.Data = make([]byte, p.Stride*p.Height)
				if err := (pixels{Decoder{}}).DecodePixels(p, data, &info); err != nil {
					t.Fatal(err)
				}
				plan := anyPlan(t, info, o)
				want, wantErr := ran(media.GoRunner{}, p, plan)
				got := space(plan)
				err = Decoder{}.DecodeInto(got, plan.Form().RowBytes(), data, &info, plan)
				if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
					t.Fatalf("differs: %v, want %v: %+v", err, wantErr, plan)
				}
			})
		})
	}
}

func ran(r media.Runner, p media.Pixels, plan *media.Plan) ([]byte, error) {
	dst := space(plan)
	return dst, r.Run(dst, plan.Form().RowBytes(), p, plan)
}

// space is memory for the result of a plan.
func space(plan *media.Plan) []byte {
	f := plan.Form()
	n := f.RowBytes() * f.Height
	if f.Layout == media.CHW {
		n *= f.Color.Channels()
	}
	return bytes.Repeat([]byte{0xA5}, n)
}

func anyColor(t *rapid.T) media.Color {
	return rapid.SampledFrom([]media.Color{media.RGB, media.RGB, media.RGB, media.RGBA, media.Gray}).Draw(t, "color")
}

func anyDType(t *rapid.T) tensor.DType {
	return rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Uint8, tensor.Uint8, tensor.Uint16}).Draw(t, "dtype")
}

// anyPixels have gaps between their rows, and as much or as little after the last as
// may be.
func anyPixels(t *rapid.T) media.Pixels {
	p := media.Pixels{Width: rapid.IntRange(1, 50).Draw(t, "width"), Height: rapid.IntRange(1, 50).Draw(t, "height"), Color: anyColor(t), DType: anyDType(t)}
	p.Stride = p.Width*p.PixelBytes() + rapid.IntRange(0, 9).Draw(t, "gap")
	p.Data = make([]byte, p.Stride*(p.Height-1)+p.Width*p.PixelBytes()+rapid.SampledFrom([]int{0, 1, 63, media.Slack}).Draw(t, "slack"))
	fill(p.Data, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1).Draw(t, "kind"))
	return p
}

// anyPlan is that of a few random operations.
func anyPlan(t *rapid.T, info media.Info, o media.Options) *media.Plan {
	var plan media.Plan
	var list []media.Step
	for i := range rapid.IntRange(0, 6).Draw(t, "steps") {
		step := media.Step{Op: anyOp(t, o), ID: uint64(i)}
		if err := media.MakePlan(info, o, append(list, step), hashed(7), &plan); err == nil {
			list = append(list, step)
		}
	}
	if err := media.MakePlan(info, o, list, hashed(7), &plan); err != nil {
		t.Fatal(err)
	}
	return &plan
}

func anyOp(t *rapid.T, o media.Options) media.Op {
	a, b := rapid.IntRange(1, 60).Draw(t, "a"), rapid.IntRange(1, 60).Draw(t, "b")
	f := media.Filter(rapid.IntRange(0, 4).Draw(t, "filter"))
	both := [2]float64{0.6, 1.4}
	ops := []media.Op{
		media.ResizeExact{Height: a, Width: b, Filter: f}, media.Resize{Size: a, Filter: f}, media.CenterCrop{Height: a, Width: b},
		media.RandomResizedCrop{Height: a, Width: b, Filter: f}, media.Pad{Left: a % 7, Top: b % 5, Right: b % 3, Fill: [4]uint16{9, 99, 199, 255}},
		media.ResizeCrop{Height: a, Width: b, Filter: f, Anchor: media.Anchor(a % 9)}, media.ResizePad{Height: a, Width: b, Filter: f},
		media.RandomFlip{P: 1}, media.RandomVerticalFlip{P: 1}, media.Rotate90{Turns: a}, media.ToGrayscale{Channels: 1}, media.ToGrayscale{Channels: 3},
		media.ColorJitter{Brightness: both, Saturation: both, Hue: [2]float64{-0.2, 0.2}}, media.ColorJitter{Contrast: both},
		media.ToLayout{Layout: media.CHW},
		media.Normalize{Mean: [3]float64{0.4, 0.5, 0.6}, Std: [3]float64{0.2, 0.25, 0.3},
			DType: rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16}).Draw(t, "to")},
	}
	return ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]
}

// hashed is a media.Rand that is a function of its arguments.
type hashed uint64

func (h hashed) Float64(op uint64, draw uint32) float64 {
	return rand.New(rand.NewPCG(uint64(h), op<<32|uint64(draw))).Float64()
}

// What does not fit together is an error, not a crash.
func TestRunnerRefuses(t *testing.T) {
	data := testjpeg.Noise(40, 30, 1, testjpeg.Layout{})
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{}, small, nil, &plan); err != nil {
		t.Fatal(err)
	}
	dst := space(&plan)
	good := media.Pixels{Data: make([]byte, 40*30*3), Stride: 120, Width: 40, Height: 30, DType: tensor.Uint8}
	for name, change := range map[string]func(p *media.Pixels){
		"too small":    func(p *media.Pixels) { p.Width, p.Height = 39, 29 },
		"too short":    func(p *media.Pixels) { p.Data = p.Data[:len(p.Data)-1] },
		"another form": func(p *media.Pixels) { p.Color = media.Gray },
		"no pixels":    func(p *media.Pixels) { p.Width = 0 },
	} {
		p := good
		change(&p)
		if err := (Runner{}).Run(dst, 48, p, &plan); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Runner{}).Run(dst[1:], 48, good, &plan); !errors.Is(err, media.ErrGeometry) {
		t.Errorf("a target that is too small: %v", err)
	}
	for _, mode := range []media.Mode{media.Exact, media.Fast} {
		plan.Options.Mode = mode
		info.Width, info.Height = 39, 29
		if err := (Decoder{}).DecodeInto(dst, 48, data, &info, &plan); !errors.Is(err, media.ErrGeometry) {
			t.Errorf("mode %v: a plan for a larger picture: %v", mode, err)
		}
		info.Width, info.Height = 41, 31
		if err := (Decoder{}).DecodeInto(dst, 48, data, &info, &plan); !errors.Is(err, media.ErrCorrupt) {
			t.Errorf("mode %v: a header of another size: %v", mode, err)
		}
	}
	if media.CurrentRunner().Name() != (Runner{}).Name() {
		t.Errorf("the runner in use is %q", media.CurrentRunner().Name())
	}
}
