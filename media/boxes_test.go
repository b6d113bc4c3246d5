package media_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/tensor"
)

// A box of one colour is where that colour is when all is done.
func TestBoxesAreWhereTheirPixelsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(4, 40).Draw(t, "width"), rapid.IntRange(4, 40).Draw(t, "height")
		x0, y0 := rapid.IntRange(0, width-1).Draw(t, "x0"), rapid.IntRange(0, height-1).Draw(t, "y0")
		x1, y1 := rapid.IntRange(x0+1, width).Draw(t, "x1"), rapid.IntRange(y0+1, height).Draw(t, "y1")
		data := make([]byte, 3*width*height)
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				data[3*(y*width+x)] = 255
			}
		}

		all := []media.Op{
			media.RandomFlip{P: 0.5}, media.RandomVerticalFlip{P: 0.5}, media.RandomRotate90{P: 1}, media.Rotate90{Turns: 1},
			media.RandomCrop{Height: 3, Width: 4}, media.CenterCrop{Height: 5, Width: 4},
			media.Pad{Left: 1, Top: 2, Right: 3, Bottom: 4, Fill: [4]uint16{}},
		}
		var steps []media.Step
		for i := range rapid.IntRange(0, 6).Draw(t, "steps") {
			steps = append(steps, media.Step{Op: rapid.SampledFrom(all).Draw(t, "op"), ID: uint64(i)})
		}
		var plan media.Plan
		key := order.NewKey(rapid.Uint64().Draw(t, "seed"), 0, 0, 0)
		if err := media.MakePlan(media.Info{Width: width, Height: height, Orientation: 1}, media.Options{}, steps, &key, &plan); err != nil {
			return // a crop of more than there is
		}
		dst := make([]byte, 3*plan.Width*plan.Height+media.Slack)
		in := media.Pixels{Data: data, Stride: 3 * width, Width: width, Height: height, DType: tensor.Uint8}
		if err := media.CurrentRunner().Run(dst, 3*plan.Width, in, &plan); err != nil {
			t.Fatal(err)
		}

		want := media.Bounds{X0: math.Inf(1), Y0: math.Inf(1)}
		for y := range plan.Height {
			for x := range plan.Width {
				if dst[3*(y*plan.Width+x)] == 255 {
					want.X0, want.Y0 = min(want.X0, float64(x)), min(want.Y0, float64(y))
					want.X1, want.Y1 = max(want.X1, float64(x+1)), max(want.Y1, float64(y+1))
				}
			}
		}
		got := plan.Moved(media.Bounds{X0: float64(x0), Y0: float64(y0), X1: float64(x1), Y1: float64(y1)}, 0)
		if empty := got.X1 <= got.X0 || got.Y1 <= got.Y0; empty != (want.X1 == 0) || !empty && got != want {
			t.Fatalf("it is %v, and should be %v", got, want)
		}
	})
}
