package media_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

// One plan for all steps gives the bytes that one plan for each step gives, on the
// pixels that the step before left. And it keeps what Results promises.
func TestFusedEqualsUnfused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, info := anyPixels(t)
		steps := decodertest.AnySteps(t, src.DType)
		chance := decodertest.Hashed(rapid.Uint64().Draw(t, "chance"))
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

// A turn before a resize moves to the stage before, where another may be already, or
// into the orientation.
func TestTurnsMoveToTheFront(t *testing.T) {
	src := media.Pixels{Data: decodertest.Random(17*11*3, 1), Stride: 17 * 3, Width: 17, Height: 11, DType: tensor.Uint8}
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

// unfused turns the image upright and then makes one step after the other.
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

func anyPixels(t *rapid.T) (media.Pixels, media.Info) {
	p := media.Pixels{
		Width: rapid.IntRange(1, 40).Draw(t, "width"), Height: rapid.IntRange(1, 40).Draw(t, "height"),
		Color: rapid.SampledFrom([]media.Color{media.RGB, media.RGBA, media.Gray}).Draw(t, "color"),
		DType: rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Uint16}).Draw(t, "dtype"),
	}
	p.Stride = p.Width*p.PixelBytes() + rapid.IntRange(0, 9).Draw(t, "gap")
	p.Data = decodertest.Random(p.Stride*p.Height, rapid.Uint64().Draw(t, "pixels"))
	return p, media.Info{Width: p.Width, Height: p.Height, Orientation: rapid.IntRange(1, 8).Draw(t, "orientation")}
}
