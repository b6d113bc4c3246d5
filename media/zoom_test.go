package media_test

import (
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/media"
)

const torchvisionsSizes = `
from unittest import mock

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

def sizes(args):
    results = []
    for case in args["cases"]:
        draws = iter(case["draws"])

        def rand(n):
            return torch.tensor([next(draws) for _ in range(n)], dtype=torch.float64)

        def randint(high, size):
            return torch.tensor([int(next(draws) * high)])

        height, width = case["size"]
        image = tv_tensors.Image(torch.zeros(1, height, width, dtype=torch.uint8))
        with mock.patch("torch.rand", rand), mock.patch("torch.randint", randint):
            params = getattr(v2, case["name"])(*case["args"]).make_params([image])
        if "size" in params:
            results.append([0, 0, *params["size"]])
        else:
            left, top, right, bottom = params["padding"]
            results.append([left, top, height + top + bottom, width + left + right])
    return results,
`

// Sizes, and the place on the canvas, are torchvision's for the same draws.
func TestSizesEqualTorchvisions(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 4))
	type one struct {
		Name  string    `json:"name"`
		Args  []any     `json:"args"`
		Size  [2]int    `json:"size"`
		Draws []float64 `json:"draws"`
	}
	var cases []one
	var ops []media.Op
	for range 60 {
		size := [2]int{20 + r.IntN(400), 20 + r.IntN(400)}
		u := []float64{r.Float64(), r.Float64(), r.Float64()}
		sizes, target := []int{30 + r.IntN(99), 200, 300}, [2]int{50 + r.IntN(300), 50 + r.IntN(300)}
		cases = append(cases,
			one{"RandomZoomOut", []any{0, []float64{1, 4}, 1}, size, u},
			one{"ScaleJitter", []any{[2]int{target[1], target[0]}, []float64{0.1, 2}}, size, u},
			one{"RandomShortestSize", []any{sizes, 350}, size, u})
		ops = append(ops, media.RandomZoomOut{SideRange: [2]float64{1, 4}, P: 1},
			media.ScaleJitter{Height: target[0], Width: target[1], Scale: [2]float64{0.1,
				2}}, media.RandomShortSize{Sizes: sizes, MaxSize: 350})
	}
	var want [][4]int
	oracle.Run(t, torchvisionsSizes, "sizes", map[string]any{"cases": cases}, &want)
	for i, c := range cases {
		draws := c.Draws
		if c.Name == "RandomZoomOut" {
			draws = append([]float64{0}, draws...)
		}
		var plan media.Plan
		if err := media.MakePlan(media.Info{Height: c.Size[0], Width: c.Size[1]}, media.Options{}, steps(ops[i]),
			drawn(draws), &plan); err != nil {
			t.Fatal(err)
		}
		place := plan.Moved(media.Bounds{X1: 1, Y1: 1}, 0)
		got := [4]int{int(place.X0), int(place.Y0), plan.Height, plan.Width}
		if got != want[i] {
			t.Errorf("%#v of %v: %v, torchvision has %v", ops[i], c.Size, got, want[i])
		}
	}
}

// What would have no pixel has one.
func TestNothingBecomesSmallerThanAPixel(t *testing.T) {
	for _, op := range []media.Op{
		media.ScaleJitter{Height: 3, Width: 3, Scale: [2]float64{0.1, 0.1}},
		media.RandomShortSize{Sizes: []int{1}, MaxSize: 3},
	} {
		var plan media.Plan
		if err := media.MakePlan(media.Info{Height: 1, Width: 300}, media.Options{}, steps(op), drawn{0.5}, &plan); err != nil {
			t.Fatal(err)
		}
		if plan.Height != 1 || plan.Width < 1 {
			t.Errorf("%#v: %d×%d", op, plan.Width, plan.Height)
		}
	}
}

// A part overlaps as it is to, and boxes whose centre is not in it are gone. It ends
// whatever the boxes are.
func TestRandomIoUCrop(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 5))
	cut := 0
	for round := range 300 {
		size := media.Size{Height: 40 + r.IntN(200), Width: 40 + r.IntN(200)}
		least := []float64{0, 0.1, 0.5, 0.9, 1}[round%5]
		along := media.Along{Agree: func(_ uint64, draw func() media.Rect) (media.Rect, error) { return draw(), nil }}
		for range round % 4 {
			x, y := float64(size.Width)*r.Float64(), float64(size.Height)*r.Float64()
			along.Boxes = append(along.Boxes, media.Bounds{X0: x, Y0: y, X1: x + (float64(size.Width)-x)*r.Float64(),
				Y1: y + (float64(size.Height)-y)*r.Float64()})
		}
		op := media.RandomIoUCrop{Scale: [2]float64{0.3, 1}, Aspect: [2]float64{0.5, 2}, Options: []float64{least}, Trials: 40}
		plan := media.Plan{Along: &along}
		if err := media.MakePlan(media.Info{Height: size.Height, Width: size.Width}, media.Options{}, steps(op),
			evenDraws{r}, &plan); err != nil {
			t.Fatal(err)
		}
		if plan.Height == size.Height && plan.Width == size.Width {
			continue
		}
		if cut++; least == 1 || len(along.Boxes) == 0 {
			t.Errorf("%v with %v was cut to %d×%d", op, along.Boxes, plan.Width, plan.Height)
		}
		if by := float64(plan.Width) / float64(plan.Height); by < 0.5 || by > 2 {
			t.Errorf("cut to %d×%d", plan.Width, plan.Height)
		}
		best := 0.0
		for _, b := range along.Boxes {
			got := plan.Moved(b, 0)
			if common := (got.X1 - got.X0) * (got.Y1 - got.Y0); common > 0 {
				best = max(best, common/(float64(plan.Width*plan.Height)+(b.X1-b.X0)*(b.Y1-b.Y0)-common))
			}
		}
		if best < least || best == 0 {
			t.Errorf("an overlap of %v, and not %v", best, least)
		}
	}
	if cut < 50 {
		t.Errorf("%d were cut", cut)
	}
}

// evenDraws are other numbers each time.
type evenDraws struct{ *rand.Rand }

func (e evenDraws) Float64(uint64, uint32) float64 { return e.Rand.Float64() }
