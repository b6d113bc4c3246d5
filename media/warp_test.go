package media_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

// pillows are the numbers of torchvision for filters of Pillow.
var pillows = map[media.Filter]int{media.Nearest: 0, media.Bilinear: 2, media.Bicubic: 3}

type oneWarp struct {
	op      media.Op
	args    []any
	nearest bool
}

// warps are random geometric operations, by torchvision's names and with its arguments.
func warps(r *rand.Rand, width, height int) map[string]oneWarp {
	f := []media.Filter{media.Nearest, media.Bilinear, media.Bicubic}[r.IntN(3)]
	fill := uint16(r.IntN(256))
	fills := [4]uint16{fill, fill, fill, fill}
	angle := 720*r.Float64() - 360
	expand := r.IntN(2) == 0
	var center *[2]float64
	if r.IntN(2) == 0 {
		center = &[2]float64{float64(width) * r.Float64(), float64(height) * r.Float64()}
	}
	dx, dy := r.IntN(width)-width/2, r.IntN(height)-height/2
	scale, shear := 0.3+2*r.Float64(), [2]float64{60*r.Float64() - 30, 60*r.Float64() - 30}
	w, h := float64(width-1), float64(height-1)
	start := media.Quad{{0, 0}, {w, 0}, {w, h}, {0, h}}
	end := start
	for i := range end {
		for k, side := range [...]float64{w, h} {
			end[i][k] = float64(int(0.75*end[i][k] + 0.25*side*r.Float64()))
		}
	}
	all := map[string]oneWarp{
		"rotate": {media.Rotate{Angle: angle, Filter: f, Expand: expand, Center: center, Fill: fills},
			[]any{angle, pillows[f], expand, center, fill}, f == media.Nearest},
		"affine": {media.Affine{Angle: angle, Translate: [2]float64{float64(dx), float64(dy)}, Scale: scale, Shear: shear, Filter: f,
			Center: center, Fill: fills}, []any{angle, [2]int{dx, dy}, scale, shear, pillows[f], fill, center}, f == media.Nearest},
	}
	if width > 4 && height > 4 {
		all["perspective"] = oneWarp{media.Perspective{Start: start, End: end, Filter: f, Fill: fills}, []any{start,
			end, pillows[f], fill}, f == media.Nearest}
	}
	return all
}

// Pixels are those of torchvision's functions of Pillow images, nearest ones all but for
// ties.
func TestWarpsEqualTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 1))
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		width, height := 1+r.IntN(90), 1+r.IntN(70)
		for name, one := range warps(r, width, height) {
			for _, color := range []media.Color{media.Gray, media.RGB} {
				p := confetti(r, color, width, height)
				want := oracle.OfPillow(t, pictured(p), name, one.args...)
				got := ran(t, p, one.op)
				if len(got) != len(want.Pix) {
					t.Fatalf("%#v of %v: %d bytes, torchvision has %d×%d", one.op, p.Form(), len(got), want.Width, want.Height)
				}
				most := 0
				for i := range got {
					most = max(most, max(int(got[i]), int(want.Pix[i]))-min(int(got[i]), int(want.Pix[i])))
				}
				if most > 1 || most > 0 && one.nearest {
					t.Errorf("%#v of %v is %d levels from torchvision's", one.op, p.Form(), most)
				}
			}
		}
	}
}

const torchvisionsBoxes = `
import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

def moved(args):
    boxes = tv_tensors.BoundingBoxes(torch.tensor(args["boxes"], dtype=torch.float64).reshape(-1, 4), format="XYXY",
	canvas_size=args["size"])
    out = getattr(F, args["name"])(boxes, *args["args"])
    return [list(out.canvas_size), out.tolist()],
`

// Boxes go where torchvision's do; it computes in single precision. Where an image is
// expanded, its boxes are up to a pixel from the image: those are left out.
func TestWarpsMoveBoxesAsTorchvision(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 2))
	compared := 0
	for range 20 {
		width, height := 20+r.IntN(200), 20+r.IntN(200)
		for name, one := range warps(r, width, height) {
			boxes := make([][4]float64, 5)
			for i := range boxes {
				x, y := float64(width)*r.Float64(), float64(height)*r.Float64()
				boxes[i] = [4]float64{x, y, x + (float64(width)-x)*r.Float64(), y + (float64(height)-y)*r.Float64()}
			}
			var want [2]json.RawMessage
			oracle.Run(t, torchvisionsBoxes, "moved", map[string]any{"boxes": boxes, "size": [2]int{height, width},
				"name": name, "args": one.args}, &want)
			var size [2]int
			var moved [][4]float64
			if err := errors.Join(json.Unmarshal(want[0], &size), json.Unmarshal(want[1], &moved)); err != nil {
				t.Fatal(err)
			}
			var plan media.Plan
			if err := media.MakePlan(media.Info{Width: width, Height: height}, media.Options{}, steps(one.op), nil, &plan); err != nil {
				t.Fatal(err)
			}
			if turn, is := one.op.(media.Rotate); is && turn.Expand {
				continue
			}
			compared++
			for i, b := range boxes {
				got := plan.Moved(media.Bounds{X0: b[0], Y0: b[1], X1: b[2], Y1: b[3]}, 0)
				for k, v := range [4]float64{got.X0, got.Y0, got.X1, got.Y1} {
					if math.Abs(v-moved[i][k]) > 0.01 {
						t.Fatalf("%#v of %d×%d: box %v goes to %v, torchvision's to %v", one.op, width, height, b, got, moved[i])
					}
				}
			}
		}
	}
	if compared < 40 {
		t.Errorf("%d were compared", compared)
	}
}

// Boxes go where their pixels go: what is white in the image is in the box.
func TestWarpsMoveBoxesWithPixels(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 3))
	for range 100 {
		width, height := 20+r.IntN(60), 20+r.IntN(60)
		for _, one := range warps(r, width, height) {
			x, y := r.IntN(width-10), r.IntN(height-10)
			box := media.Rect{X: x, Y: y, Width: 8 + r.IntN(width-x-8), Height: 8 + r.IntN(height-y-8)}
			p := media.Pixels{Data: make([]byte, width*height), Stride: width, Width: width, Height: height,
				Color: media.Mask, DType: tensor.Uint8}
			for i := range box.Height {
				copy(p.Row(box.Y + i)[box.X:], bytes.Repeat([]byte{1}, box.Width))
			}
			op := reflect.New(reflect.TypeOf(one.op)).Elem()
			op.Set(reflect.ValueOf(one.op))
			op.FieldByName("Fill").Set(reflect.Zero(reflect.TypeFor[[4]uint16]()))
			var plan media.Plan
			o := media.Options{Color: media.Mask}
			if err := media.MakePlan(media.Info{Width: width, Height: height}, o, steps(op.Interface().(media.Op)),
				nil, &plan); err != nil {
				t.Fatal(err)
			}
			got := ran(t, p, op.Interface().(media.Op))
			seen := media.Bounds{X0: math.Inf(1), Y0: math.Inf(1)}
			for i, v := range got {
				if v > 0 {
					x, y := float64(i%plan.Width), float64(i/plan.Width)
					seen = media.Bounds{X0: min(seen.X0, x), Y0: min(seen.Y0, y), X1: max(seen.X1, x+1), Y1: max(seen.Y1, y+1)}
				}
			}
			b := plan.Moved(media.Bounds{X0: float64(box.X), Y0: float64(box.Y), X1: float64(box.X + box.Width),
				Y1: float64(box.Y + box.Height)}, 0)
			if seen.X1 > 0 && !(seen.X0 > b.X0-1 && seen.Y0 > b.Y0-1 && seen.X1 < b.X1+1 && seen.Y1 < b.Y1+1) {
				t.Fatalf("%#v of %d×%d: %v is in %v, and the box in %v", op, width, height, box, seen, b)
			}
		}
	}
}

// Images of a pixel or two, of every kind, come through.
func TestWarpsOfSmallImages(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 8))
	for _, size := range [][2]int{{1, 1}, {1, 5}, {4, 1}, {2, 2}} {
		for _, color := range []media.Color{media.Gray, media.RGB, media.RGBA, media.Mask} {
			for _, dtype := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
				n := color.Channels() * dtype.Size()
				p := media.Pixels{Data: make([]byte, n*size[0]*size[1]), Stride: n * size[0], Width: size[0],
					Height: size[1], Color: color, DType: dtype}
				for range 20 {
					for _, one := range warps(r, size[0], size[1]) {
						ran(t, p, one.op)
					}
					drew(t, p, r.Float64(), media.RandomPerspective{Distortion: 1, P: 1},
						media.RandomAffine{Degrees: [2]float64{-1e6, 1e6}},
						media.RandomZoomOut{SideRange: [2]float64{1, 4},
							P: 1}, media.RandomRotation{Degrees: [2]float64{0, 90}, Expand: true})
				}
			}
		}
	}
}

// A perspective of an image of one row has no inverse, and one of a pixel none either.
func TestPerspectiveOfALineIsNone(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(39, 9)), media.RGB, 30, 1)
	if got := drew(t, p, 0.5, media.RandomPerspective{Distortion: 0.5, P: 1}); !bytes.Equal(got, p.Data) {
		t.Error("it is changed")
	}
}

// Angles are taken modulo a circle; torchvision says what of Pillow's.
func TestLargeAngles(t *testing.T) {
	p := confetti(rand.New(rand.NewPCG(39, 10)), media.RGB, 40, 30)
	for _, angle := range []float64{1e6, -1e6, 1e6 + 0.5, 36000, -630} {
		want := oracle.OfPillow(t, pictured(p), "rotate", angle, 0)
		if got := ran(t, p, media.Rotate{Angle: angle, Filter: media.Nearest}); !bytes.Equal(got, want.Pix) {
			t.Errorf("by %v degrees it differs", angle)
		}
	}
}

// Sixteen bits have the levels of eight, and those between.
func TestWarpsOfSixteenBits(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 11))
	for range 20 {
		width, height := 5+r.IntN(60), 5+r.IntN(60)
		p := confetti(r, media.RGB, width, height)
		wide := media.Pixels{Width: width, Height: height, Stride: 6 * width, Color: media.RGB, DType: tensor.Uint16}
		for _, v := range p.Data {
			wide.Data = append(wide.Data, v, v) // 257·v
		}
		for _, one := range warps(r, width, height) {
			op := reflect.New(reflect.TypeOf(one.op)).Elem()
			op.Set(reflect.ValueOf(one.op))
			fill := [4]uint16{7, 70, 170}
			op.FieldByName("Fill").Set(reflect.ValueOf(fill))
			got := ran(t, p, op.Interface().(media.Op))
			for c := range fill {
				fill[c] *= 257
			}
			op.FieldByName("Fill").Set(reflect.ValueOf(fill))
			for i, v := range ran(t, wide, op.Interface().(media.Op)) {
				if low := int(got[i/2]); i%2 == 1 && (int(v) < low-1 || int(v) > low+1) { // the upper byte, or one that is equal to it
					t.Fatalf("%#v: value %d is %d, and %d of 16 bits", op, i/2, low, v)
				}
			}
		}
	}
}

// A crop after a warp needs no more of the image before than it shows.
func TestCropsNarrowWhatIsWarped(t *testing.T) {
	info := media.Info{Width: 1000, Height: 800}
	var plan media.Plan
	ops := steps(media.Rotate{Angle: 10, Filter: media.Bilinear}, media.CenterCrop{Height: 100, Width: 100}, media.RandomFlip{P: 1})
	if err := media.MakePlan(info, media.Options{}, ops, drawn{0.5}, &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Stages) != 2 {
		t.Fatalf("%+v", plan.Stages)
	}
	if w := plan.Stages[0].Window; w.Width > 130 || w.Height > 130 || plan.Stages[1].Window.Width != 100 {
		t.Errorf("%+v", plan.Stages)
	}
}
