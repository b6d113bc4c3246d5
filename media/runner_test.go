package media_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/decodertest"
	"github.com/headrace/headrace/tensor"
)

// Chains of operations on the geometry give the pixels of Pillow, torchvision and NumPy.
func TestGeometryEqualsPillows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mode := rapid.SampledFrom([]string{"RGB", "RGBA", "L", "I;16"}).Draw(rt, "mode")
		p := oracle.Image{Mode: mode, Width: rapid.IntRange(1, 90).Draw(rt, "width"), Height: rapid.IntRange(1, 90).Draw(rt, "height")}
		src := pixelsOf(p)
		p.Pix = decodertest.Random(src.Stride*src.Height, rapid.Uint64().Draw(rt, "pixels"))
		src.Data = p.Pix
		var ops []media.Op
		var theirs []oracle.Step
		size := [2]int{src.Height, src.Width}
		resizes := 0
		for range rapid.IntRange(1, 5).Draw(rt, "steps") {
			op, steps := anyGeometry(rt, src, size)
			f, err := op.Result(media.Form{Height: size[0], Width: size[1], Color: src.Color, DType: src.DType})
			if err != nil || f.Height < 1 || f.Width < 1 || f.Height > 2000 || f.Width > 2000 {
				continue
			}
			size = [2]int{f.Height, f.Width}
			if name := steps[0].Name; mode == "I;16" && (name[0] == 'r' && name != "rot90" || name[0] == 'f') {
				resizes++
			}
			ops, theirs = append(ops, op), append(theirs, steps...)
		}
		o := media.Options{Color: src.Color, DType: src.DType}
		got, plan, err := made(media.Info{Width: p.Width, Height: p.Height}, o, steps(ops...), constant(0), src)
		if err != nil {
			rt.Fatal(err)
		}
		want := oracle.Geometry(t, p, theirs...)
		if want.Width != plan.Width || want.Height != plan.Height {
			rt.Fatalf("%+v of %d×%d: %d×%d pixels, want %d×%d", ops, p.Width, p.Height, plan.Width, plan.Height, want.Width, want.Height)
		}
		if mode != "I;16" {
			if !bytes.Equal(got, want.Pix) {
				rt.Fatalf("%+v of %s %d×%d: differs at byte %d of %d\n%+v", ops, mode, p.Width, p.Height, firstDifference(got, want.Pix), len(got), plan.Stages)
			}
			return
		}
		for i := range len(got) / 2 {
			g, w := int(binary.NativeEndian.Uint16(got[2*i:])), int(binary.LittleEndian.Uint16(want.Pix[2*i:]))
			if max(g-w, w-g) > resizes {
				rt.Fatalf("%+v of %s %d×%d: pixel %d is %d, want %d, after %d resizes", ops, mode, p.Width, p.Height, i, g, w, resizes)
			}
		}
	})
}

func pixelsOf(p oracle.Image) media.Pixels {
	src := media.Pixels{Width: p.Width, Height: p.Height, DType: tensor.Uint8, Data: p.Pix}
	switch p.Mode {
	case "RGBA":
		src.Color = media.RGBA
	case "L":
		src.Color = media.Gray
	case "I;16":
		src.Color, src.DType = media.Gray, tensor.Uint16
	}
	src.Stride = src.Width * src.PixelBytes()
	return src
}

// anyGeometry is an operation and what it is called elsewhere, for an image of this
// height and width.
func anyGeometry(t *rapid.T, src media.Pixels, in [2]int) (media.Op, []oracle.Step) {
	side := rapid.IntRange(1, 100)
	a, b := side.Draw(t, "a"), side.Draw(t, "b")
	f := rapid.SampledFrom(decodertest.Filters).Draw(t, "filter")
	if src.DType == tensor.Uint16 && f > media.Hamming {
		f = media.Box // Pillow's sums of 16 bits are wrong where they are negative
	}
	step := func(name string, args ...int) []oracle.Step { return []oracle.Step{{Name: name, Args: args}} }
	anchor := media.Anchor(rapid.IntRange(0, 8).Draw(t, "anchor"))
	x, y := halves[anchor][0], halves[anchor][1]
	switch rapid.IntRange(0, 12).Draw(t, "op") {
	case 0:
		return media.Resize{Size: a%60 + 1, Filter: f}, step("resize", a%60+1, 0, int(f))
	case 1:
		longest := a%60 + 1 + b
		return media.Resize{Size: a%60 + 1, MaxSize: longest, Filter: f}, step("resize", a%60+1, longest, int(f))
	case 2:
		return media.ResizeExact{Height: a, Width: b, Filter: f}, step("resize_exact", a, b, int(f))
	case 3:
		return media.CenterCrop{Height: a, Width: b}, step("center_crop", a, b)
	case 4:
		return media.RandomFlip{P: 1}, step("hflip")
	case 5:
		return media.RandomVerticalFlip{P: 1}, step("vflip")
	case 6:
		turns := rapid.IntRange(-9, 9).Draw(t, "turns")
		return media.Rotate90{Turns: turns}, step("rot90", turns)
	case 7:
		h, w := min(a, in[0]), min(b, in[1])
		return media.RandomCrop{Height: h, Width: w}, step("crop", 0, 0, h, w)
	case 8:
		bucket := media.ResizeToBucket{Sizes: []media.Size{{Height: a, Width: b}}, Filter: f}
		height, width := a, b
		if float64(in[1])/float64(in[0]) > float64(b)/float64(a) {
			width = int(float64(a*in[1]) / float64(in[0]))
		} else {
			height = int(float64(b*in[0]) / float64(in[1]))
		}
		return bucket, append(step("resize_exact", height, width, int(f)), step("center_crop", a, b)...)
	case 9:
		return media.ResizeCrop{Height: a, Width: b, Filter: f, Anchor: anchor}, step("fit", a, b, int(f), x, y)
	case 10:
		o := media.ResizePad{Height: a, Width: b, Filter: f, Anchor: anchor, Fill: anyFill(t)}
		if in[0] >= 2*a*in[1] || in[1] >= 2*b*in[0] { // Pillow leaves out what is half a pixel and less
			return media.RandomFlip{P: 1}, step("hflip")
		}
		return o, step("fit_and_pad", filled([]int{a, b, int(f), x, y}, src, o.Fill)...)
	case 11:
		o := media.PadTo{Height: in[0] + a%20, Width: in[1] + b%20, Anchor: anchor, Fill: anyFill(t)}
		return o, step("pad_to", filled([]int{o.Height, o.Width, x, y}, src, o.Fill)...)
	}
	border := rapid.IntRange(0, 9)
	o := media.Pad{Left: border.Draw(t, "left"), Top: border.Draw(t, "top"), Right: border.Draw(t, "right"), Bottom: border.Draw(t, "bottom")}
	o.Fill = anyFill(t)
	return o, step("pad", filled([]int{o.Left, o.Top, o.Right, o.Bottom}, src, o.Fill)...)
}

// halves are how far anchors are from the left and from above.
var halves = [...][2]int{media.Center: {1, 1}, media.TopLeft: {0, 0}, media.Top: {1, 0}, media.TopRight: {2, 0}, media.Left: {0, 1},
	media.Right: {2, 1}, media.BottomLeft: {0, 2}, media.Bottom: {1, 2}, media.BottomRight: {2, 2}}

func anyFill(t *rapid.T) (fill [4]uint16) {
	for c := range fill {
		fill[c] = uint16(rapid.IntRange(0, 255).Draw(t, "fill"))
	}
	return fill
}

// filled appends a colour by channel.
func filled(args []int, src media.Pixels, fill [4]uint16) []int {
	for _, v := range fill[:src.Color.Channels()] {
		args = append(args, int(v))
	}
	return args
}

// Every channel of 16 bits is treated as a gray image is.
func TestChannelsOf16Bits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		src := media.Pixels{Width: 1 + r.IntN(60), Height: 1 + r.IntN(60), DType: tensor.Uint16}
		src.Stride = src.Width * 6
		src.Data = decodertest.Random(src.Stride*src.Height, r.Uint64())
		op := media.ResizeExact{Height: 1 + r.IntN(60), Width: 1 + r.IntN(60), Filter: decodertest.Filters[r.IntN(5)]}
		info := media.Info{Width: src.Width, Height: src.Height}
		got, _, err := made(info, media.Options{DType: tensor.Uint16}, steps(op), nil, src)
		if err != nil {
			t.Fatal(err)
		}
		for c := range 3 {
			gray := media.Pixels{Width: src.Width, Height: src.Height, Stride: src.Width * 2, Color: media.Gray, DType: tensor.Uint16}
			gray.Data = every(src.Data, 3, c)
			want, _, err := made(info, media.Options{Color: media.Gray, DType: tensor.Uint16}, steps(op), nil, gray)
			if err != nil || !bytes.Equal(every(got, 3, c), want) {
				t.Fatalf("%+v of %d×%d: channel %d differs from the same as a gray picture, %v", op, src.Width, src.Height, c, err)
			}
		}
	}
}

// every picks a channel of 16 bits.
func every(data []byte, channels, channel int) (out []byte) {
	for i := 2 * channel; i < len(data); i += 2 * channels {
		out = append(out, data[i], data[i+1])
	}
	return out
}

// Colours of 16 bits are weighted by alpha: the products are those of Pillow in
// floating point, to a level or two.
func TestAlphaOf16Bits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 40 {
		w, h := 1+r.IntN(50), 1+r.IntN(50)
		src := media.Pixels{Width: w, Height: h, Stride: w * 8, Color: media.RGBA, DType: tensor.Uint16, Data: decodertest.Random(w*h*8, r.Uint64()|1<<63)}
		op := media.ResizeExact{Height: 1 + r.IntN(50), Width: 1 + r.IntN(50), Filter: decodertest.Filters[r.IntN(3)]}
		got, _, err := made(media.Info{Width: w, Height: h}, media.Options{Color: media.RGBA, DType: tensor.Uint16}, steps(op), nil, bytesCloned(src))
		if err != nil {
			t.Fatal(err)
		}
		for c := range 4 {
			floats := oracle.Image{Mode: "F", Width: w, Height: h}
			for i := range w * h {
				floats.Pix = binary.LittleEndian.AppendUint32(floats.Pix, math.Float32bits(float32(product(src.Data[8*i:], c))))
			}
			if op.Width == w && op.Height == h {
				continue // copied
			}
			want := oracle.Geometry(t, floats, oracle.Step{Name: "resize_exact", Args: []int{op.Height, op.Width, int(op.Filter)}})
			for i := range op.Width * op.Height {
				f := float64(math.Float32frombits(binary.LittleEndian.Uint32(want.Pix[4*i:])))
				if g := product(got[8*i:], c); math.Abs(g-f) > 2 {
					t.Fatalf("%+v of %d×%d: pixel %d, channel %d is %.1f, want %.1f", op, w, h, i, c, g, f)
				}
			}
		}
	}
}

// product is a channel of 16 bits times alpha.
func product(pixel []byte, c int) float64 {
	v := float64(binary.NativeEndian.Uint16(pixel[2*c:]))
	if c < 3 {
		v *= float64(binary.NativeEndian.Uint16(pixel[6:])) / 65535
	}
	return v
}

func bytesCloned(p media.Pixels) media.Pixels {
	p.Data = bytes.Clone(p.Data)
	return p
}

func TestRunnerRefuses(t *testing.T) {
	src := media.Pixels{Data: make([]byte, 30*20*3), Stride: 90, Width: 30, Height: 20, DType: tensor.Uint8}
	var plan media.Plan
	if err := media.MakePlan(media.Info{Width: 30, Height: 20}, media.Options{}, steps(media.CenterCrop{Height: 5, Width: 5}), nil, &plan); err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 75)
	run := func(dst []byte, stride int, change func(*media.Pixels), plan *media.Plan) error {
		p := src
		if change != nil {
			change(&p)
		}
		return media.GoRunner{}.Run(dst, stride, p, plan)
	}
	if err := run(dst, 15, nil, &plan); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"short":       run(dst[:74], 15, nil, &plan),
		"stride":      run(dst, 14, nil, &plan),
		"empty plan":  run(dst, 15, nil, &media.Plan{}),
		"no pixels":   run(dst, 15, func(p *media.Pixels) { p.Data = p.Data[1:] }, &plan),
		"no size":     run(dst, 15, func(p *media.Pixels) { p.Height = 0 }, &plan),
		"no colour":   run(dst, 15, func(p *media.Pixels) { p.Color = 7 }, &plan),
		"float":       run(dst, 15, func(p *media.Pixels) { p.DType = tensor.Float32 }, &plan),
		"another":     run(dst, 15, func(p *media.Pixels) { p.Color, p.Width = media.Gray, 90 }, &plan),
		"other depth": run(dst, 15, func(p *media.Pixels) { p.DType, p.Width = tensor.Uint16, 15 }, &plan),
		"smaller":     run(dst, 15, func(p *media.Pixels) { p.Height = 19 }, &plan),
	} {
		if !errors.Is(err, media.ErrGeometry) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing but the rows is written, and a warm runner allocates nothing for pixels.
func TestRunnerWritesRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, info := anyPixels(t)
		var plan media.Plan
		o := media.Options{Orient: true, Color: src.Color, DType: src.DType}
		if err := media.MakePlan(info, o, decodertest.AnySteps(t, src.DType), constant(0.3), &plan); err != nil {
			return
		}
		f := plan.Form()
		rows, row := f.Height, f.RowBytes()
		if f.Layout == media.CHW {
			rows *= f.Color.Channels()
		}
		stride := row + rapid.IntRange(0, 9).Draw(t, "gap of rows")
		tight, loose := make([]byte, row*rows), bytes.Repeat([]byte{0xA5}, 16+stride*rows)
		if err := (media.GoRunner{}).Run(tight, row, src, &plan); err != nil {
			t.Fatal(err)
		}
		before := bytes.Clone(src.Data)
		if err := (media.GoRunner{}).Run(loose[16:16+stride*(rows-1)+row], stride, src, &plan); err != nil {
			t.Fatal(err)
		}
		for i, b := range loose {
			want := byte(0xA5)
			if y := (i - 16) / stride; i >= 16 && y < rows && (i-16)%stride < row {
				want = tight[y*row+(i-16)%stride]
			}
			if b != want {
				t.Fatalf("byte %d of rows of %d bytes, %d apart, is %#x, want %#x", i-16, row, stride, b, want)
			}
		}
		if !bytes.Equal(before, src.Data) {
			t.Fatal("the source is changed")
		}
	})
}

// Filters have names, which are those of JSON.
func TestFilterNames(t *testing.T) {
	for _, f := range append(decodertest.Filters[:len(decodertest.Filters):len(decodertest.Filters)], media.Nearest) {
		text, err := f.MarshalText()
		var back media.Filter
		if err != nil || back.UnmarshalText(text) != nil || back != f || string(text) != f.String() {
			t.Errorf("%v: %s, %v, %v", f, text, err, back)
		}
	}
	var f media.Filter
	if err := f.UnmarshalText([]byte("area")); err == nil {
		t.Error("area is taken")
	}
	if _, err := media.Filter(9).MarshalText(); !errors.Is(err, media.ErrGeometry) || fmt.Sprint(media.Filter(9)) != "filter(9)" {
		t.Error(err, media.Filter(9))
	}
}
