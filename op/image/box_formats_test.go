package image

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/media"
)

// The numbers of a box are what it is made of, in every form.
func TestBoxesInEveryForm(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 41))
	for name, f := range boxFormats {
		for range 200 {
			var box boxNumbers
			switch f.numbers {
			case 4:
				x, y := 50*r.Float64(), 50*r.Float64()
				box = f.ofEdges(media.Bounds{X0: x, Y0: y, X1: x + 1 + 20*r.Float64(), Y1: y + 1 + 20*r.Float64()})
			default:
				w, h, angle := 1+20*r.Float64(), 1+20*r.Float64(), 360*r.Float64()-180
				box = f.ofCorners(media.TurnedBox(50*r.Float64(), 50*r.Float64(), w, h, angle))
			}
			again := boxNumbers{}
			if f.corners != nil {
				again = f.ofCorners(f.corners(box))
			} else {
				again = f.ofEdges(f.edges(box))
			}
			for i, v := range box {
				if math.Abs(again[i]-v) > 1e-9 || i >= f.numbers && v != 0 {
					t.Fatalf("%s: %v is %v", name, box, again)
				}
			}
		}
	}
}

// All forms of one box move alike, and leave alike.
func TestFormsMoveAlike(t *testing.T) {
	steps := []media.Step{{Op: media.RandomFlip{P: 1}}, {Op: media.CenterCrop{Height: 40, Width: 50}, ID: 1},
		{Op: media.ResizeExact{Height: 20, Width: 50}, ID: 2}}
	var plan media.Plan
	if err := media.MakePlan(media.Info{Width: 100, Height: 80}, media.Options{}, steps, always{}, &plan); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edges, want media.Bounds
		stays       bool
	}{
		{media.Bounds{X0: 40, Y0: 30, X1: 50, Y1: 40}, media.Bounds{X0: 25, Y0: 5, X1: 35, Y1: 10}, true},
		{media.Bounds{X0: 70, Y0: 30, X1: 90, Y1: 70}, media.Bounds{X0: 0, Y0: 5, X1: 5, Y1: 20}, true},
		{media.Bounds{X0: 0, Y0: 0, X1: 20, Y1: 20}, media.Bounds{}, false},
		{media.Bounds{X0: 40, Y0: 30, X1: math.NaN(), Y1: 40}, media.Bounds{}, false},
	} {
		e := c.edges
		corners := media.Quad{{e.X0, e.Y0}, {e.X1, e.Y0}, {e.X1, e.Y1}, {e.X0, e.Y1}}
		for name, f := range boxFormats {
			box := boxNumbers{}
			if f.corners != nil {
				box = f.ofCorners(corners)
			} else {
				box = f.ofEdges(e)
			}
			got, stays := f.moved(box, &plan, 0)
			if stays != c.stays {
				t.Errorf("%s of %v stays: %v", name, e, stays)
			}
			if !stays {
				continue
			}
			b := f.bounds(got)
			for i, d := range [4]float64{b.X0 - c.want.X0, b.Y0 - c.want.Y0, b.X1 - c.want.X1, b.Y1 - c.want.Y1} {
				if math.Abs(d) > 1e-9 {
					t.Errorf("%s of %v is in %v, want %v (%d)", name, e, b, c.want, i)
				}
			}
		}
	}
}

type always struct{}

func (always) Float64(uint64, uint32) float64 { return 0 }
