package media

import (
	"fmt"

	"github.com/headrace/headrace/media/internal/orient"
)

// GoRunner is the Runner in plain Go: what it computes is what every other one must
// compute.
type GoRunner struct{}

// Name returns "go".
func (GoRunner) Name() string { return "go" }

// Run implements [Runner].
func (GoRunner) Run(dst []byte, stride int, src Pixels, plan *Plan) error {
	return goRun(dst, stride, src, plan, false)
}

// goRun is GoRunner.Run. Where spare says that nobody needs the pixels of src any more,
// it may change them.
func goRun(dst []byte, stride int, src Pixels, plan *Plan, spare bool) error {
	if err := CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if err := src.Check(); err != nil {
		return err
	}
	if f := plan.Options.Form(); src.Color != f.Color || src.DType != f.DType {
		return fmt.Errorf("%w: the plan is for %v of %v, not %v of %v", ErrGeometry, f.Color, f.DType, src.Color, src.DType)
	}
	if err := plan.checkSource(src.Width, src.Height); err != nil {
		return err
	}
	s := goScratches.Get().(*goScratch)
	defer s.giveBack()
	// An image that is upright is worked on where it is. Only colours with an
	// alpha channel are changed by that.
	return s.run(dst, stride, plan, func(part Rect) Pixels {
		if plan.Orientation <= 1 && (spare || src.Color != RGBA) {
			return src.part(part)
		}
		to := packed(&s.in, part.Width, part.Height, src.Color, src.DType)
		turned(to, src, plan.Orientation, part)
		return to
	})
}

// checkSource refuses stored images of a size that the plan was not made for.
func (p *Plan) checkSource(width, height int) error {
	if w, h := orient.Size(p.Orientation, width, height); !p.Stages[0].Crop.In(w, h) {
		return fmt.Errorf("%w: the plan is for a larger image than %d×%d", ErrGeometry, width, height)
	}
	return nil
}

// turned gives a part of the upright image to pixels of its size.
func turned(to, src Pixels, orientation int, part Rect) {
	n := src.PixelBytes()
	for y := range part.Height {
		row := to.Row(y)
		if orientation == 1 {
			copy(row, src.Row(part.Y + y)[part.X*n:])
			continue
		}
		for x := range part.Width {
			sx, sy := orient.At(orientation, src.Width, src.Height, part.X+x, part.Y+y)
			copy(row[x*n:][:n], src.Row(sy)[sx*n:])
		}
	}
}
