package decodertest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/pixeltest"
	"github.com/headrace/headrace/media/internal/testjpeg"
	"github.com/headrace/headrace/tensor"
)

// Run tests a decoder.
func Run(t *testing.T, d media.Decoder) {
	t.Run("steps equal torchvision's", func(t *testing.T) { steps(t, d) })
	t.Run("everything", func(t *testing.T) { everything(t, d) })
	t.Run("usual steps", func(t *testing.T) { usual(t, d) })
	t.Run("orientations", func(t *testing.T) { orientations(t, d) })
	t.Run("nothing but padding", func(t *testing.T) { padding(t, d) })
	t.Run("stride", func(t *testing.T) { stride(t, d) })
	t.Run("targets", func(t *testing.T) { targets(t, d) })
	t.Run("contradictions", func(t *testing.T) { contradictions(t, d) })
}

// Whole decodes all of an image, as it is stored.
func Whole(t testing.TB, d media.Decoder, data []byte) oracle.Picture {
	t.Helper()
	return Decode(t, d, data, false, nil, nil)
}

// Decode probes, plans and decodes.
func Decode(t testing.TB, d media.Decoder, data []byte, upright bool, steps []media.Step, r media.Rand) oracle.Picture {
	t.Helper()
	p, err := Try(d, data, upright, steps, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Try is Decode for images that may be bad.
func Try(d media.Decoder, data []byte, upright bool, steps []media.Step, r media.Rand) (oracle.Picture, error) {
	info, err := media.Probe(data)
	if err != nil {
		return oracle.Picture{}, err
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: upright}, steps, r, &plan); err != nil {
		return oracle.Picture{}, err
	}
	p := oracle.Picture{Width: plan.Width, Height: plan.Height, Channels: 3, Pix: bytes.Repeat([]byte{0x5A}, plan.Width*plan.Height*3)}
	return p, d.DecodeInto(p.Pix, p.Width*3, data, &info, &plan)
}

// Same says where images differ; nothing if they do not.
func Same(got, want oracle.Picture) string {
	if got.Width != want.Width || got.Height != want.Height {
		return fmt.Sprintf("%d×%d pixels, want %d×%d", got.Width, got.Height, want.Width, want.Height)
	}
	for i := range got.Pix {
		if got.Pix[i] != want.Pix[i] {
			return fmt.Sprintf("(%d,%d) channel %d is %d, want %d", i/3%got.Width, i/3/got.Width, i%3, got.Pix[i], want.Pix[i])
		}
	}
	return ""
}

// Draws is a media.Rand that gives the same number always.
type Draws float64

// Float64 implements media.Rand.
func (d Draws) Float64(uint64, uint32) float64 { return float64(d) }

// steps applies random sequences of operations.
func steps(t *testing.T, d media.Decoder) {
	rapid.Check(t, func(rt *rapid.T) {
		width, height := rapid.IntRange(1, 200).Draw(rt, "width"), rapid.IntRange(1, 200).Draw(rt, "height")
		data := testjpeg.Noise(width, height, 1, testjpeg.Layout{Sampling: testjpeg.S420})
		n := rapid.IntRange(0, 5).Draw(rt, "steps")
		var ours []media.Step
		var theirs []oracle.Step
		for range n {
			op, step := anyStep(rt)
			ours, theirs = append(ours, media.Step{Op: op}), append(theirs, step)
		}
		whole := Whole(t, d, data)
		got, err := Try(d, data, true, ours, Draws(0))
		if errors.Is(err, media.ErrGeometry) || errors.Is(err, media.ErrTooLarge) {
			return // nothing would be left, or far too much: of an image 1 pixel wide and 200 high, say
		}
		if err != nil {
			rt.Fatal(err)
		}
		if s := Same(got, oracle.Transform(t, whole, theirs...)); s != "" {
			rt.Fatalf("%d×%d, %+v: %s", width, height, ours, s)
		}
	})
}

func anyStep(t *rapid.T) (media.Op, oracle.Step) {
	a, b := rapid.IntRange(1, 150).Draw(t, "a"), rapid.IntRange(1, 150).Draw(t, "b")
	switch rapid.IntRange(0, 4).Draw(t, "op") {
	case 0:
		return media.Resize{Size: a%60 + 1}, oracle.Step{Name: "resize", Args: []int{a%60 + 1, 0}}
	case 1:
		longest := a%60 + 1 + b
		return media.Resize{Size: a%60 + 1, MaxSize: longest}, oracle.Step{Name: "resize", Args: []int{a%60 + 1, longest}}
	case 2:
		return media.ResizeExact{Height: a, Width: b}, oracle.Step{Name: "resize_exact", Args: []int{a, b}}
	case 3:
		return media.CenterCrop{Height: a, Width: b}, oracle.Step{Name: "center_crop", Args: []int{a, b}}
	}
	return media.RandomFlip{P: 1}, oracle.Step{Name: "hflip", Args: []int{}}
}

// everything is random chains of all operations, for every colour and depth, of
// images of every orientation. The result is what the runner in Go makes of the
// decoder's own pixels: that these operations are right is tested with the runner.
func everything(t *testing.T, d media.Decoder) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 90).Draw(t, "width"), rapid.IntRange(1, 90).Draw(t, "height")
		orientation := rapid.IntRange(1, 8).Draw(t, "orientation")
		data := testjpeg.Noise(width, height, 2, testjpeg.Layout{Sampling: testjpeg.S420, Segments: [][]byte{EXIF(byte(orientation))}})
		info, err := media.Probe(data)
		if err != nil {
			t.Fatal(err)
		}

		o := media.Options{
			Orient: rapid.Bool().Draw(t, "orient"),
			Color:  rapid.SampledFrom([]media.Color{media.RGB, media.RGBA, media.Gray}).Draw(t, "color"),
			DType:  rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Uint16}).Draw(t, "dtype"),
		}
		if o.Color != media.RGBA && rapid.Bool().Draw(t, "background") {
			o.Background = &[3]uint8{1, 2, 3} // of which nothing is seen
		}

		var plan media.Plan
		if err := media.MakePlan(info, o, AnySteps(t, o.DType), Hashed(rapid.Uint64().Draw(t, "chance")), &plan); err != nil {
			return
		}

		f, rows := plan.Form(), plan.Height
		if f.Layout == media.CHW {
			rows *= f.Color.Channels()
		}
		got, want := make([]byte, rows*f.RowBytes()), make([]byte, rows*f.RowBytes())
		if err := d.DecodeInto(got, f.RowBytes(), data, &info, &plan); err != nil {
			t.Fatal(err)
		}

		whole := oracle.Picture{Width: width, Height: height, Channels: 3, Pix: make([]byte, width*height*3)}
		var simple media.Plan
		err = media.MakePlan(info, media.Options{}, nil, nil, &simple)
		if err == nil {
			err = d.DecodeInto(whole.Pix, width*3, data, &info, &simple)
		}
		if err == nil {
			err = media.GoRunner{}.Run(want, f.RowBytes(), converted(whole, o), &plan)
		}
		if err != nil {
			t.Fatal(err)
		}

		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%+v: %v: byte %d of %d is %d, want %d", plan.Stages, f, i, len(got), got[i], want[i])
			}
		}
	})
}

// converted is an RGB image in the colour and depth that the options ask for.
func converted(p oracle.Picture, o media.Options) media.Pixels {
	out := media.Pixels{Width: p.Width, Height: p.Height, Color: o.Color, DType: o.DType}
	out.Stride = out.Width * out.PixelBytes()
	for ; len(p.Pix) > 0; p.Pix = p.Pix[3:] {
		v := []byte{p.Pix[0], p.Pix[1], p.Pix[2], 255}
		switch o.Color {
		case media.RGB:
			v = v[:3]
		case media.Gray:
			v = []byte{byte((int(v[0])*19595 + int(v[1])*38470 + int(v[2])*7471 + 32768) / 65536)}
		}
		for _, v := range v {
			if out.Data = append(out.Data, v); o.DType == tensor.Uint16 {
				out.Data = append(out.Data, v) // 257·v, in any byte order
			}
		}
	}
	return out
}

// usual is what training and validation do, on images of usual size.
func usual(t *testing.T, d media.Decoder) {
	for i, size := range [][2]int{{500, 375}, {333, 500}, {256, 256}, {1000, 700}, {224, 640}, {2100, 1400}} {
		data := testjpeg.Noise(size[0], size[1], uint64(i), testjpeg.Layout{Sampling: testjpeg.S420})
		whole := Whole(t, d, data)
		got := Decode(t, d, data, true, []media.Step{{Op: media.Resize{Size: 256}}, {Op: media.CenterCrop{Height: 224, Width: 224}}}, nil)
		want := oracle.Transform(t, whole, oracle.Step{Name: "resize", Args: []int{256, 0}},
			oracle.Step{Name: "center_crop", Args: []int{224, 224}})
		if s := Same(got, want); s != "" {
			t.Errorf("val, %v: %s", size, s)
		}

		for _, draw := range []float64{0, 0.3, 0.7, 0.999} {
			steps := []media.Step{{Op: media.RandomResizedCrop{Height: 224, Width: 224}}, {Op: media.RandomFlip{P: 0.5}}}
			var plan media.Plan
			info, err := media.Probe(data)
			if err == nil {
				err = media.MakePlan(info, media.Options{Orient: true}, steps, Draws(draw), &plan)
			}
			if err != nil {
				t.Fatal(err)
			}

			c := plan.Stages[0].Crop
			theirs := []oracle.Step{{Name: "crop", Args: []int{c.Y, c.X, c.Height, c.Width}}, {Name: "resize_exact", Args: []int{224, 224}}}
			if draw < 0.5 {
				theirs = append(theirs, oracle.Step{Name: "hflip", Args: []int{}})
			}
			if s := Same(Decode(t, d, data, true, steps, Draws(draw)), oracle.Transform(t, whole, theirs...)); s != "" {
				t.Errorf("train, %v, %v, crop %+v: %s", size, draw, c, s)
			}
		}
	}
}

// EXIF returns a segment for testjpeg.Layout that states an orientation.
func EXIF(orientation byte) []byte {
	return append([]byte{0xE1}, pixeltest.EXIF(orientation)...)
}

func orientations(t *testing.T, d media.Decoder) {
	sizes := [][2]int{{1, 1}, {1, 9}, {16, 16}, {57, 34}, {34, 57}, {130, 97}}
	for orientation := 1; orientation <= 8; orientation++ {
		for _, size := range sizes {
			for name, sampling := range map[string][][2]int{"4:2:0": testjpeg.S420, "4:2:2": testjpeg.S422, "4:4:0": testjpeg.S440} {
				data := testjpeg.Noise(size[0], size[1], 3,
					testjpeg.Layout{Sampling: sampling, Segments: [][]byte{EXIF(byte(orientation))}})
				whole := Whole(t, d, data)
				upright := oracle.Transpose(t, whole, orientation)
				if s := Same(Decode(t, d, data, true, nil, nil), upright); s != "" {
					t.Errorf("orientation %d, %s, %v: %s", orientation, name, size, s)
				}
				got := Decode(t, d, data, true, []media.Step{{Op: media.Resize{Size: 24}},
					{Op: media.CenterCrop{Height: 20, Width: 22}}}, nil)
				want := oracle.Transform(t, upright, oracle.Step{Name: "resize", Args: []int{24, 0}},
					oracle.Step{Name: "center_crop", Args: []int{20, 22}})
				if s := Same(got, want); s != "" {
					t.Errorf("orientation %d, %s, %v, resized: %s", orientation, name, size, s)
				}
			}
		}
	}
}

// padding cuts a corner out of the black that a small image was padded with; then
// something is done to it.
func padding(t *testing.T, d media.Decoder) {
	data := testjpeg.Noise(20, 10, 4, testjpeg.Layout{Sampling: testjpeg.S420})
	for _, then := range [][]media.Step{nil, {{Op: media.RandomFlip{P: 1}}}, {{Op: media.ResizeExact{Height: 9, Width: 13}}}} {
		steps := append([]media.Step{{Op: media.CenterCrop{Height: 90, Width: 100}},
			{Op: media.RandomCrop{Height: 30, Width: 40}}}, then...)
		if got := Decode(t, d, data, true, steps, Draws(0)); !bytes.Equal(got.Pix, make([]byte, len(got.Pix))) {
			t.Errorf("%+v: not black", steps)
		}
	}
}

// stride checks that nothing but the rows is written, for results of every width.
func stride(t *testing.T, d media.Decoder) {
	data := testjpeg.Noise(150, 110, 4, testjpeg.Layout{Sampling: testjpeg.S420})
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}

	for width := 1; width <= 100; width++ {
		for _, op := range []media.Op{
			media.ResizeExact{Height: 7, Width: width}, media.CenterCrop{Height: 5, Width: width},
			media.ResizeExact{Height: 110, Width: width}, media.CenterCrop{Height: 300, Width: 2 * width},
		} {
			var plan media.Plan
			if err := media.MakePlan(info, media.Options{Orient: true}, []media.Step{{Op: op}}, nil, &plan); err != nil {
				t.Fatal(err)
			}

			row := plan.Width * 3
			stride := row + 5
			dst := bytes.Repeat([]byte{0xA5}, stride*plan.Height+64)
			if err := d.DecodeInto(dst[32:32+stride*(plan.Height-1)+row], stride, data, &info, &plan); err != nil {
				t.Fatal(err)
			}

			for i, b := range dst {
				if inside := i >= 32 && i < 32+stride*(plan.Height-1)+row && (i-32)%stride < row; !inside && b != 0xA5 {
					t.Fatalf("%#v: byte %d is written: row of %d bytes, %d apart", op, i-32, row, stride)
				}
			}
		}
	}
}

func targets(t *testing.T, d media.Decoder) {
	data := testjpeg.Noise(20, 10, 4, testjpeg.Layout{})
	info, err := media.Probe(data)
	if err != nil {
		t.Fatal(err)
	}
	var plan media.Plan
	if err := media.MakePlan(info, media.Options{Orient: true}, nil, nil, &plan); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"too short":  d.DecodeInto(make([]byte, 599), 60, data, &info, &plan),
		"stride":     d.DecodeInto(make([]byte, 600), 59, data, &info, &plan),
		"nothing":    d.DecodeInto(nil, 60, data, &info, &plan),
		"empty plan": d.DecodeInto(make([]byte, 600), 60, data, &info, &media.Plan{}),
		"another's": d.DecodeInto(make([]byte, 600), 60, data,
			&media.Info{Format: media.JPEG, Width: 19, Height: 10, Components: 1}, &plan),
		"smaller":       d.DecodeInto(make([]byte, 600), 60, testjpeg.Noise(19, 10, 4, testjpeg.Layout{}), &info, &plan),
		"no data":       d.DecodeInto(make([]byte, 600), 60, nil, &info, &plan),
		"no real sizes": d.DecodeInto(make([]byte, 600), 60, data, &media.Info{}, &plan),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// contradictions are damages that must be noticed.
func contradictions(t *testing.T, d media.Decoder) {
	good := testjpeg.Noise(64, 64, 7, testjpeg.Layout{Sampling: testjpeg.S420, Restart: 2})
	scan := bytes.Index(good, []byte{0xFF, 0xDA})
	for name, damage := range map[string]func(b []byte){
		"a hole": func(b []byte) { copy(b[scan+40:], bytes.Repeat([]byte{0xFF, 0xFF, 0xD9, 0xD9}, 20)) },
		"no tables": func(b []byte) {
			for at := 0; ; {
				i := bytes.Index(b[at:], []byte{0xFF, 0xC4})
				if i < 0 {
					break
				}
				b[at+i+1] = 0xFE // a comment
				at += i + 1
			}
		},
	} {
		b := bytes.Clone(good)
		damage(b)
		if _, err := Try(d, b, false, nil, nil); !errors.Is(err, media.ErrCorrupt) && !errors.Is(err, media.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
