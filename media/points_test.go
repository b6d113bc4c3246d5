package media_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
)

const torchvisionsPoints = `
import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

def moved(args):
    points = tv_tensors.KeyPoints(torch.tensor(args["points"], dtype=torch.float64), canvas_size=args["size"])
    for name, given in args["steps"]:
        points = getattr(F, name)(points, *given)
    return points.tolist(),
`

// Points go where torchvision's go, one step after the other, also beyond the edges.
func TestPointsMoveAsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 21))
	for range 25 {
		width, height := 20+r.IntN(100), 20+r.IntN(100)
		all := warps(r, width, height)
		all["horizontal_flip"] = oneWarp{op: media.RandomFlip{P: 1}}
		all["vertical_flip"] = oneWarp{op: media.RandomVerticalFlip{P: 1}}
		all["resize"] = oneWarp{op: media.ResizeExact{Height: 31, Width: 57}, args: []any{[2]int{31, 57}}}
		all["pad"] = oneWarp{op: media.Pad{Left: 1, Top: 2, Right: 3, Bottom: 4}, args: []any{[4]int{1, 2, 3, 4}}}
		if rotate := all["rotate"].op.(media.Rotate); rotate.Expand {
			delete(all, "rotate") // torchvision's points are up to a pixel from the image
		}
		points := make([][2]float64, 6)
		for i := range points {
			points[i] = [2]float64{float64(width) * (1.4*r.Float64() - 0.2), float64(height) * (1.4*r.Float64() - 0.2)}
		}
		// Warps are for an image of this size: they come before those that change it.
		chains := [][]string{{"affine", "horizontal_flip"}, {"horizontal_flip", "affine"}, {"vertical_flip", "resize", "pad"}}
		for name := range all {
			chains = append(chains, []string{name})
		}
		for _, of := range chains {
			var ops []media.Op
			var given []any
			for _, name := range of {
				ops = append(ops, all[name].op)
				args := all[name].args
				if args == nil {
					args = []any{}
				}
				given = append(given, []any{name, args})
			}
			var moved [][2]float64
			size := [2]int{height, width}
			oracle.Run(t, torchvisionsPoints, "moved", map[string]any{"points": points, "size": size, "steps": given}, &moved)
			var plan media.Plan
			info := media.Info{Width: width, Height: height}
			if err := media.MakePlan(info, media.Options{}, steps(ops...), drawn{0}, &plan); err != nil {
				t.Fatal(err)
			}
			for i, at := range points {
				x, y := plan.MovedPoint(at[0], at[1], 0)
				if math.Abs(x-moved[i][0])+math.Abs(y-moved[i][1]) > 0.01 {
					t.Fatalf("%v of %d×%d: point %v goes to %v, %v, torchvision's to %v",
						of, width, height, at, x, y, moved[i])
				}
			}
		}
	}
}

// The middle of a pixel, which is half a pixel from its corner, stays with that pixel but
// for flips, which take it to the place before.
func TestPointsAreWhereTheirPixelsAre(t *testing.T) {
	for _, c := range []struct {
		op   media.Op
		x, y float64
	}{
		{media.RandomCrop{Height: 20, Width: 20}, 10.5, 3.5},
		{media.CenterCrop{Height: 10, Width: 10}, 5.5, -1.5},
		{media.Rotate90{Turns: 1}, 3.5, 9.5}, // counter-clockwise
		{media.Rotate90{Turns: 2}, 9.5, 16.5},
		{media.Rotate{Angle: 180}, 9.5, 16.5},
		{media.RandomFlip{P: 1}, 8.5, 3.5},
		{media.RandomVerticalFlip{P: 1}, 10.5, 15.5},
		{media.RandomResizedCrop{Height: 40, Width: 40, Scale: [2]float64{1, 1}, Ratio: [2]float64{1, 1}}, 21, 7},
		{media.Invert{}, 10.5, 3.5},
		{media.RandomIoUCrop{Scale: [2]float64{1, 1}, Aspect: [2]float64{1, 1}, Options: []float64{1}, Trials: 1}, 10.5, 3.5},
		{media.SanitizeBoxes{MinSize: 1, MinArea: 1}, 10.5, 3.5},
	} {
		var plan media.Plan
		err := media.MakePlan(media.Info{Width: 20, Height: 20}, media.Options{}, steps(c.op), drawn{0}, &plan)
		if err != nil {
			t.Fatalf("%#v: %v", c.op, err)
		}
		if x, y := plan.MovedPoint(10.5, 3.5, 0); x != c.x || y != c.y {
			t.Errorf("%#v takes it to %v, %v", c.op, x, y)
		}
		if x, y := plan.MovedPoint(10.5, 3.5, 1); x != 10.5 || y != 3.5 {
			t.Errorf("%#v takes what goes along later to %v, %v", c.op, x, y)
		}
	}
}
