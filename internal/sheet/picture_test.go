package sheet

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"

	"pgregory.net/rapid"
)

var imageNet = Undo{Mean: [3]float64{0.485, 0.456, 0.406}, Std: [3]float64{0.229, 0.224, 0.225}}

// The package media makes the tensors: every type and layout that a recipe can end in,
// of all 256 levels.
func TestPictureOfWhatRecipesGive(t *testing.T) {
	for _, color := range []media.Color{media.RGB, media.Gray} {
		source := rising(color)
		want, err := Picture(tensor.Tensor{DType: tensor.Uint8, Shape: source.Form().Shape(), Data: source.Data}, media.HWC, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Data { // which is what went in
			if at := i * source.PixelBytes() / 3; want.Data[i] != source.Data[at] {
				t.Fatalf("%v: byte %d is %d, was %d", color, i, want.Data[i], source.Data[at])
			}
		}
		for _, layout := range []media.Layout{media.HWC, media.CHW} {
			for dtype, off := range map[tensor.DType]int{tensor.Float32: 0, tensor.Float16: 0, tensor.BFloat16: 1, tensor.Uint8: 0} {
				undo := imageNet
				if color == media.Gray {
					undo = Undo{Mean: [3]float64{0.5, 0.5, 0.5}, Std: [3]float64{0.25, 0.25, 0.25}}
				}
				steps := []media.Step{{Op: media.Normalize{Mean: undo.Mean, Std: undo.Std, DType: dtype}},
					{Op: media.ToLayout{Layout: layout}}}
				if dtype == tensor.Uint8 {
					steps = steps[1:]
				}
				got, err := Picture(run(t, source, steps), layout, &undo)
				if err != nil {
					t.Fatal(err)
				}
				for i := range want.Data {
					if d := int(got.Data[i]) - int(want.Data[i]); d > off || -d > off {
						t.Fatalf("%v %v %v: byte %d is %d, was %d", color, dtype, layout, i, got.Data[i], want.Data[i])
					}
				}
			}
		}
	}
}

// rising is an image of all 256 levels, of each channel elsewhere.
func rising(color media.Color) media.Pixels {
	p := media.Pixels{Width: 32, Height: 16, Color: color, DType: tensor.Uint8, Stride: 32 * color.Channels()}
	p.Data = make([]byte, p.Stride*p.Height)
	for i := range p.Data {
		c := color.Channels()
		p.Data[i] = byte(i/c + 85*(i%c))
	}
	return p
}

func run(t *testing.T, source media.Pixels, steps []media.Step) tensor.Tensor {
	t.Helper()
	var plan media.Plan
	o := media.Options{Color: source.Color, DType: source.DType}
	if err := media.MakePlan(media.Info{Width: source.Width, Height: source.Height}, o, steps, nil, &plan); err != nil {
		t.Fatal(err)
	}
	f := plan.Form()
	n, err := f.Shape().Bytes(f.DType)
	if err != nil {
		t.Fatal(err)
	}
	out := tensor.Tensor{DType: f.DType, Shape: f.Shape(), Data: make([]byte, n)}
	if err := (media.GoRunner{}).Run(out.Data, f.RowBytes(), source, &plan); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSixteenBitsShowTheUpperByte(t *testing.T) {
	data := binary.LittleEndian.AppendUint16(nil, 0x12ff)
	p, err := Picture(tensor.Tensor{DType: tensor.Uint16, Shape: tensor.Shape{1, 1, 1}, Data: data}, media.HWC, nil)
	if err != nil || p.Data[0] != 0x12 {
		t.Errorf("%v %v", p.Data, err)
	}
}

func TestTransparencyOverACheckerboard(t *testing.T) {
	const side = 16
	data := make([]byte, 4*side*side)
	for i := range side * side {
		copy(data[4*i:], []byte{200, 100, 0, byte(i)}) // opaque at the end of the 256
	}
	planes := make([]byte, len(data))
	for i := range data {
		planes[i%4*side*side+i/4] = data[i]
	}
	p, err := Picture(tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{side, side, 4}, Data: data}, media.HWC, nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Picture(tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{4, side, side}, Data: planes}, media.CHW, nil)
	if err != nil || string(p.Data) != string(q.Data) {
		t.Errorf("the layouts differ, %v", err)
	}
	for i := range side * side {
		under, a := 0xcc, float64(i)/255
		if (i%side/8+i/side/8)%2 == 1 {
			under = 0x88
		}
		for c, over := range []float64{200, 100, 0} {
			if want := over*a + float64(under)*(1-a); math.Abs(want-float64(p.Data[3*i+c])) > 0.51 {
				t.Fatalf("alpha %d, channel %d: %d, want %v", i, c, p.Data[3*i+c], want)
			}
		}
	}
}

// What nobody said how to show is stretched over what a screen has; what is no number
// can be seen.
func TestNumbersOfUnknownMeaning(t *testing.T) {
	for dtype, want := range map[tensor.DType][]byte{
		tensor.Int8: {0, 128, 255}, tensor.Int16: {0, 128, 255}, tensor.Int32: {0, 128, 255}, tensor.Int64: {0, 128, 255},
		tensor.Uint32: {0, 128, 255}, tensor.Uint64: {0, 128, 255}, tensor.Float64: {0, 128, 255}, tensor.Bool: {0, 0, 255},
	} {
		data := make([]byte, 3*dtype.Size())
		for i, v := range []int{20, 70, 120} {
			at := data[i*dtype.Size():]
			switch dtype {
			case tensor.Float64:
				binary.LittleEndian.PutUint64(at, math.Float64bits(float64(v)))
			case tensor.Bool:
				at[0] = byte(i / 2)
			default:
				at[0] = byte(v)
			}
		}
		p, err := Picture(tensor.Tensor{DType: dtype, Shape: tensor.Shape{1, 3, 1}, Data: data}, media.HWC, nil)
		if err != nil || p.Data[0] != want[0] || p.Data[3] != want[1] || p.Data[6] != want[2] {
			t.Errorf("%v: %v %v, want %v", dtype, p.Data, err, want)
		}
	}
	odd := tensor.Tensor{DType: tensor.Float32, Shape: tensor.Shape{1, 4, 1}}
	for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 7} {
		odd.Data = binary.LittleEndian.AppendUint32(odd.Data, math.Float32bits(v))
	}
	p, err := Picture(odd, media.HWC, nil)
	if err != nil || string(p.Data[:3]) != string(magenta) || p.Data[3] != 255 || p.Data[6] != 0 {
		t.Errorf("%v %v", p.Data, err)
	}
}

func TestWhatIsNoImage(t *testing.T) {
	for _, x := range []tensor.Tensor{
		{DType: tensor.Uint8, Shape: tensor.Shape{4, 4}, Data: make([]byte, 16)},
		{DType: tensor.Uint8, Shape: tensor.Shape{2, 2, 2}, Data: make([]byte, 8)},
		{DType: tensor.Uint8, Shape: tensor.Shape{0, 2, 3}},
		{DType: tensor.Invalid, Shape: tensor.Shape{1, 1, 3}, Data: make([]byte, 3)},
	} {
		if _, err := Picture(x, media.HWC, nil); err == nil || !strings.HasPrefix(err.Error(), "sheet: ") {
			t.Errorf("%v %v: %v", x.DType, x.Shape, err)
		}
	}
}

func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := rapid.IntRange(1, 300).Draw(t, "box")
		p := newPixels(rapid.IntRange(1, 400).Draw(t, "width"), rapid.IntRange(1, 400).Draw(t, "height"))
		for i := range p.Data {
			p.Data[i] = byte(i * 7)
		}
		got, err := Fit(p, box)
		if err != nil {
			t.Fatal(err)
		}
		pl := plan{size: box}
		if want := pl.fitted(Tile{Picture: p}); got.Width != want.X || got.Height != want.Y || max(got.Width, got.Height) > box {
			t.Fatalf("%d×%d in a box of %d is %d×%d, was planned as %v", p.Width, p.Height, box, got.Width, got.Height, want)
		}
		if times := got.Width / p.Width; got.Width == times*p.Width && times > 0 {
			x, y := rapid.IntRange(0, got.Width-1).Draw(t, "x"), rapid.IntRange(0, got.Height-1).Draw(t, "y")
			if max(p.Width, p.Height) <= box && string(got.Row(y)[3*x:][:3]) != string(p.Row(y / times)[3*(x/times):][:3]) {
				t.Fatal("a pixel is not where it belongs")
			}
		}
	})
}
