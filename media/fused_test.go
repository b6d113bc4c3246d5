package media_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"headrace/media"
	"headrace/tensor"
)

// One plan for all steps gives the bytes that one plan for each step gives, on the pixels that the step before left. And it keeps what Results promises.
func TestFusedEqualsUnfused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, info := anyPixels(t)
		steps := anySteps(t, src.DType)
		chance := hashed(rapid.Uint64().Draw(t, "chance"))
		o := media.Options{Orient: true, Color: src.Color, DType: src.DType}
		got, plan, err := made(info, o, steps, chance, src)
		want, wantErr := unfused(info, o, steps, chance, src)
		if err != nil || wantErr != nil {
			if kind(err) == nil || kind(err) != kind(wantErr) {
				t.Fatalf("%v of %v: %v at once, %v one after the other", steps, src.Form(), err, wantErr)
			}
			return
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%v of %v, orientation %d: differs from one after the other at byte %d of %d\n%+v",
				steps, src.Form(), info.Orientation, firstDifference(got, want), len(want), plan.Stages)
		}
		for _, known := range []bool{false, true} {
			form := o.Form()
			if known {
				form.Width, form.Height = info.Oriented()
			}
			promised, err := media.Results(form, steps)
			if err != nil {
				t.Fatalf("%v of %v: no promise: %v", steps, form, err)
			}
			made := plan.Form()
			if promised.Height == media.Unknown {
				promised.Height = made.Height
			}
			if promised.Width == media.Unknown {
				promised.Width = made.Width
			}
			if promised != made {
				t.Fatalf("%v of %v: promised %v, made %v", steps, form, promised, made)
			}
		}
	})
}

// A turn before a resize moves to the stage before, where another may be already, or into the orientation.
func TestTurnsMoveToTheFront(t *testing.T) {
	src := media.Pixels{Data: random(17*11*3, 1), Stride: 17 * 3, Width: 17, Height: 11, DType: tensor.Uint8}
	contrast := media.ColorJitter{Contrast: [2]float64{1.5, 1.5}}
	resize := media.ResizeExact{Height: 9, Width: 13, Filter: media.Bicubic}
	for orientation := 1; orientation <= 8; orientation++ {
		for turn := range 64 {
			turns := func(bits int) []media.Op {
				return []media.Op{media.Rotate90{Turns: bits}, media.RandomFlip{P: float64(bits >> 2 & 1)}}
			}
			var ops []media.Op
			ops = append(ops, turns(turn)...)
			if turn%3 > 0 {
				ops = append(ops, media.ResizeExact{Height: 10, Width: 12})
			}
			ops = append(append(ops, turns(turn*5)...), contrast, media.CenterCrop{Height: 7, Width: 8})
			ops = append(append(ops, turns(turn>>3)...), resize)
			info := media.Info{Width: 17, Height: 11, Orientation: orientation}
			o := media.Options{Orient: true}
			got, plan, err := made(info, o, steps(ops...), constant(0.5), src)
			if err != nil {
				t.Fatal(err)
			}
			want, err := unfused(info, o, steps(ops...), constant(0.5), src)
			if err != nil || !bytes.Equal(got, want) || len(plan.Stages) != 2 {
				t.Fatalf("%v, orientation %d: differs, or %v: %+v", ops, orientation, err, plan.Stages)
			}
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// kind is the error of package media that another wraps.
func kind(err error) error {
	for _, k := range []error{media.ErrGeometry, media.ErrTooLarge, media.ErrUnsupported} {
		if errors.Is(err, k) {
			return k
		}
	}
	return nil
}

// made plans and runs.
func made(info media.Info, o media.Options, steps []media.Step, r media.Rand, src media.Pixels) ([]byte, media.Plan, error) {
	var plan media.Plan
	if err := media.MakePlan(info, o, steps, r, &plan); err != nil {
		return nil, plan, err
	}
	f := plan.Form()
	n := f.RowBytes() * f.Height
	if f.Layout == media.CHW {
		n *= f.Color.Channels()
	}
	dst := bytes.Repeat([]byte{0xA5}, n)
	return dst, plan, media.GoRunner{}.Run(dst, f.RowBytes(), src, &plan)
}

// unfused turns the picture upright and then makes one step after the other.
func unfused(info media.Info, o media.Options, steps []media.Step, r media.Rand, src media.Pixels) ([]byte, error) {
	data, plan, err := made(info, o, nil, r, src)
	layout := media.HWC
	for i, s := range steps {
		if err != nil {
			return nil, err
		}
		f := plan.Form()
		if l, ok := s.Op.(media.ToLayout); ok {
			layout = l.Layout // which comes last, if it changes anything
			continue
		}
		if f.DType != tensor.Uint8 && f.DType != tensor.Uint16 {
			return nil, media.ErrGeometry // numbers take nothing but an order
		}
		p := media.Pixels{Data: data, Stride: f.RowBytes(), Width: f.Width, Height: f.Height, Color: f.Color, DType: f.DType}
		data, plan, err = made(media.Info{Width: f.Width, Height: f.Height}, media.Options{Color: f.Color, DType: f.DType}, steps[i:i+1], r, p)
	}
	if err == nil && layout == media.CHW {
		data = planes(data, plan.Form())
	}
	return data, err
}

func planes(data []byte, f media.Form) (out []byte) {
	n, size := f.Color.Channels(), f.DType.Size()
	for c := range n {
		for i := range f.Width * f.Height {
			out = append(out, data[(i*n+c)*size:][:size]...)
		}
	}
	return out
}

// hashed is a media.Rand whose numbers depend on everything.
type hashed uint64

func (h hashed) Float64(op uint64, draw uint32) float64 {
	return rand.New(rand.NewPCG(uint64(h), op<<32|uint64(draw))).Float64()
}

func anyPixels(t *rapid.T) (media.Pixels, media.Info) {
	p := media.Pixels{
		Width: rapid.IntRange(1, 40).Draw(t, "width"), Height: rapid.IntRange(1, 40).Draw(t, "height"),
		Color: rapid.SampledFrom([]media.Color{media.RGB, media.RGBA, media.Gray}).Draw(t, "color"),
		DType: rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Uint16}).Draw(t, "dtype"),
	}
	p.Stride = p.Width*p.PixelBytes() + rapid.IntRange(0, 9).Draw(t, "gap")
	p.Data = random(p.Stride*p.Height, rapid.Uint64().Draw(t, "pixels"))
	return p, media.Info{Width: p.Width, Height: p.Height, Orientation: rapid.IntRange(1, 8).Draw(t, "orientation")}
}

func random(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range b {
		b[i] = byte(r.Uint32())
		if seed%3 == 0 {
			b[i] = -(b[i] & 1)
		}
	}
	return b
}

func anySteps(t *rapid.T, dtype tensor.DType) (steps []media.Step) {
	for i := range rapid.IntRange(0, 7).Draw(t, "steps") {
		steps = append(steps, media.Step{Op: anyOp(t, dtype), ID: uint64(i)})
	}
	if rapid.Bool().Draw(t, "normalized") {
		steps = append(steps, media.Step{Op: media.Normalize{
			Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.25, 0.25, 0.25},
			DType: rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16}).Draw(t, "to"),
		}})
	}
	if rapid.Bool().Draw(t, "planes") {
		steps = append(steps, media.Step{Op: media.ToLayout{Layout: media.CHW}})
	}
	return steps
}

var filters = []media.Filter{media.Bilinear, media.Box, media.Hamming, media.Bicubic, media.Lanczos}

func anyOp(t *rapid.T, dtype tensor.DType) media.Op {
	side := rapid.IntRange(1, 45)
	a, b := side.Draw(t, "a"), side.Draw(t, "b")
	border := rapid.IntRange(0, 5)
	f := rapid.SampledFrom(filters).Draw(t, "filter")
	p := rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "p")
	ops := []func() media.Op{
		func() media.Op { return media.Resize{Size: a, Filter: f} },
		func() media.Op { return media.Resize{Size: a, MaxSize: a + b, Filter: f} },
		func() media.Op { return media.ResizeExact{Height: a, Width: b, Filter: f} },
		func() media.Op {
			return media.ResizeToBucket{Sizes: []media.Size{{Height: a, Width: b}, {Height: b, Width: a}, {Height: 20, Width: 20}}, Filter: f}
		},
		func() media.Op { return media.CenterCrop{Height: a, Width: b} },
		func() media.Op { return media.CenterCrop{Height: a/4 + 1, Width: b/4 + 1} },
		func() media.Op { return media.RandomCrop{Height: a/4 + 1, Width: b/4 + 1} },
		func() media.Op { return media.RandomResizedCrop{Height: a, Width: b, Filter: f} },
		func() media.Op {
			o := media.Pad{Left: border.Draw(t, "l"), Top: border.Draw(t, "t"), Right: border.Draw(t, "r"), Bottom: border.Draw(t, "b")}
			if rapid.Bool().Draw(t, "filled") {
				o.Fill = [4]uint16{10, 200, 30, 128}
			}
			return o
		},
		func() media.Op { return media.RandomFlip{P: p} },
		func() media.Op { return media.RandomVerticalFlip{P: p} },
		func() media.Op { return media.Rotate90{Turns: a - 20} },
		func() media.Op { return media.RandomRotate90{P: p} },
		func() media.Op { return media.ToGrayscale{} },
		func() media.Op { return media.RandomGrayscale{P: p} },
		func() media.Op {
			if dtype == tensor.Uint16 {
				return media.RandomGrayscale{P: p}
			}
			return media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Contrast: [2]float64{0.5, 1.5},
				Saturation: [2]float64{0, 2}, Hue: [2]float64{-0.3, 0.3}}
		},
		func() media.Op { // nothing that looks at other pixels
			if dtype == tensor.Uint16 {
				return media.RandomFlip{P: p}
			}
			return media.ColorJitter{Brightness: [2]float64{0.5, 1.5}, Hue: [2]float64{-0.3, 0.3}}
		},
		func() media.Op { return media.ToLayout{Layout: media.HWC} },
	}
	return ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]()
}
