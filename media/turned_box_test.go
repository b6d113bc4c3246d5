package media_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
)

const torchvisionsTurned = `
import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

def moved(args):
    boxes = tv_tensors.BoundingBoxes(torch.tensor(args["boxes"], dtype=torch.float64), format="XYXYXYXY", canvas_size=args["size"])
    boxes.clamping_mode = args["clamping"]
    return getattr(F, args["name"])(boxes, *args["args"]).tolist(),
`

func numbersOf(q media.Quad) (v [8]float64) {
	for i, at := range q {
		v[2*i], v[2*i+1] = at[0], at[1]
	}
	return v
}

// Turned boxes that stay within the image go where torchvision's go.
func TestTurnedBoxesMoveAsTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 31))
	compared := 0
	for range 25 {
		width, height := 60+r.IntN(100), 60+r.IntN(100)
		all := warps(r, width, height)
		all["horizontal_flip"] = oneWarp{op: media.RandomFlip{P: 1}, args: []any{}}
		all["vertical_flip"] = oneWarp{op: media.RandomVerticalFlip{P: 1}, args: []any{}}
		all["resize"] = oneWarp{op: media.ResizeExact{Height: 131, Width: 57}, args: []any{[2]int{131, 57}}}
		all["pad"] = oneWarp{op: media.Pad{Left: 1, Top: 2, Right: 3, Bottom: 4}, args: []any{[4]int{1, 2, 3, 4}}}
		boxes, quads := [][8]float64{}, []media.Quad{}
		for range 6 {
			quads = append(quads, media.TurnedBox(float64(width)*(0.4+0.2*r.Float64()), float64(height)*(0.4+0.2*r.Float64()),
				2+9*r.Float64(), 2+9*r.Float64(), 360*r.Float64()-180))
			boxes = append(boxes, numbersOf(quads[len(quads)-1]))
		}
		for name, one := range all {
			if turn, is := one.op.(media.Rotate); is && turn.Expand {
				continue // up to a pixel from the image
			}
			var want [][8]float64
			oracle.Run(t, torchvisionsTurned, "moved", map[string]any{"boxes": boxes, "size": [2]int{height, width},
				"name": name, "args": one.args, "clamping": nil}, &want)
			plan := planned(t, width, height, drawn{0}, one.op)
			for i, q := range quads {
				got := plan.MovedTurned(q, 0)
				around := got.Around()
				right, bottom := float64(plan.Width), float64(plan.Height)
				beyond := around.X0 < 0 || around.Y0 < 0 || around.X1 > right || around.Y1 > bottom
				if beyond || got == (media.Quad{}) {
					continue // it is cut
				}
				if angle := got.Angle(); angle < -50 || angle > 145 {
					continue // torchvision shortens a parallelogram of angles beyond -90, and otherwise lengthens it
				}
				compared++
				for k, v := range numbersOf(got) {
					if math.Abs(v-want[i][k]) > 0.02 {
						t.Fatalf("%#v of %d×%d: box %v goes to %v, torchvision's to %v",
							one.op, width, height, q, got, want[i])
					}
				}
			}
		}
	}
	if compared < 150 {
		t.Errorf("%d were compared", compared)
	}
}

// A box that is cut is the least of its angle around what is left of it.
func TestTurnedBoxesAreCut(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 32))
	cut, gone := 0, 0
	for range 300 {
		q := media.TurnedBox(60*r.Float64(), 60*r.Float64(), 3+20*r.Float64(), 3+20*r.Float64(), 360*r.Float64())
		plan := planned(t, 60, 60, drawn{0.5}, media.CenterCrop{Height: 24, Width: 30})
		got := plan.MovedTurned(q, 0)
		left := media.Bounds{X0: 15, Y0: 18, X1: 45, Y1: 42}
		w, h := q.Sides()

		// Points of the box, by how far they are along its sides.
		least, most := [2]float64{2, 2}, [2]float64{-1, -1}
		const n = 80
		for i := range n + 1 {
			for k := range n + 1 {
				a, d := float64(i)/n, float64(k)/n
				x := q[0][0] + a*(q[1][0]-q[0][0]) + d*(q[3][0]-q[0][0])
				y := q[0][1] + a*(q[1][1]-q[0][1]) + d*(q[3][1]-q[0][1])
				if x >= left.X0 && x <= left.X1 && y >= left.Y0 && y <= left.Y1 {
					least = [2]float64{min(least[0], a), min(least[1], d)}
					most = [2]float64{max(most[0], a), max(most[1], d)}
				}
			}
		}
		gw, gh := got.Sides()
		if most[0] < least[0] {
			if gw > w/20 && gh > h/20 { // more than a corner between those points
				t.Fatalf("%v is gone, and %v is left", q, got)
			}
			gone++
			continue
		}
		if math.Abs(gw-w*(most[0]-least[0])) > 4*w/n || math.Abs(gh-h*(most[1]-least[1])) > 4*h/n {
			t.Fatalf("of %v %v is left, and %v to %v of its sides are in %v", q, got, least, most, left)
		}
		if turned := math.Mod(math.Abs(got.Angle()-q.Angle()), 360); turned > 1e-9 && turned < 360-1e-9 {
			t.Fatalf("%v is turned to %v", q, got)
		}
		if gw < w*0.99 || gh < h*0.99 {
			cut++
		}
	}
	if cut < 50 || gone < 20 {
		t.Errorf("%d are cut, and %d gone", cut, gone)
	}
}

// The numbers of a box are what it is made of.
func TestTurnedBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 33))
	for range 1000 {
		angle := 360*r.Float64() - 180
		q := media.TurnedBox(3, 4, 5, 6, angle)
		w, h := q.Sides()
		if math.Abs(w-5) > 1e-12 || math.Abs(h-6) > 1e-12 || math.Abs(q.Angle()-angle) > 1e-11 || q[0] != [2]float64{3, 4} {
			t.Fatalf("by %v: %v, %v by %v, by %v", angle, q, w, h, q.Angle())
		}
	}
	for _, angle := range []float64{0, 90, -90, 45, 135, -135} {
		if q := media.TurnedBox(0, 0, 2, 1, angle); math.Abs(q.Angle()-angle) > 1e-13 {
			t.Errorf("%v is %v", angle, q.Angle())
		}
	}
	nan := media.Quad{{math.NaN(), 0}, {1, 0}, {1, 1}, {0, 1}}
	plan := planned(t, 60, 60, drawn{0}, media.CenterCrop{Height: 24, Width: 30}, media.Rotate{Angle: 3})
	for _, q := range []media.Quad{nan, {}, {{1, 1}, {1, 1}, {5, 1}, {5, 1}}, media.TurnedBox(-99, -99, 5, 5, 3)} {
		if got := plan.MovedTurned(q, 0); got != (media.Quad{}) {
			t.Errorf("%v is %v", q, got)
		}
	}
}

// What is too small, or partly beyond the image, is left out; the middle says whether a
// box is in a part that goes by boxes.
func TestTurnedBoxesAreSanitized(t *testing.T) {
	box := media.TurnedBox(20, 20, 6, 5, 30)
	for _, c := range []struct {
		q     media.Quad
		stays bool
	}{
		{box, true}, {media.TurnedBox(20, 20, 6, 3.9, 30), false}, {media.TurnedBox(20, 20, 4.5, 4.5, 30), false},
		{media.TurnedBox(0, 20, 6, 6, -30), false}, {media.TurnedBox(55, 20, 6, 6, 0), false},
	} {
		plan := planned(t, 60, 60, drawn{0}, media.SanitizeBoxes{MinSize: 4, MinArea: 25})
		if got := plan.MovedTurned(c.q, 0); (got == c.q) != c.stays || !c.stays && got != (media.Quad{}) {
			t.Errorf("%v is %v", c.q, got)
		}
		if got := plan.MovedTurned(c.q, 1); got != c.q {
			t.Errorf("%v that goes along later is %v", c.q, got)
		}
	}
}
