package media

import "fmt"

// Plan is the geometry of a whole sequence of operations on one picture. Its zero value is ready for MakePlan, which may be called
// on the same Plan again and again.
type Plan struct {
	Orientation   int     // 1–8: how the stored picture is turned before the first stage
	Width, Height int     // of the result
	Stages        []Stage // at least one
}

// Stage is one pass over pixels: crop, resize, window, flip, in this order. Each part may be without effect.
type Stage struct {
	// Crop is the part of the input that takes part. Its edges are hard: no pixel from beyond them is mixed in.
	Crop Rect
	// Width and Height are what Crop is resized to; Crop's own size where it is not.
	Width, Height int
	// Window is the part of those Width × Height pixels that is the result. Where it reaches beyond them, the result is black.
	Window Rect
	// Flip mirrors the result: left becomes right.
	Flip bool
}

// Rect is a rectangle of pixels; its right and lower edges lie outside it.
type Rect struct{ X, Y, Width, Height int }

// In reports whether the rectangle lies within a picture of this size.
func (r Rect) In(width, height int) bool {
	return r.X >= 0 && r.Y >= 0 && r.X+r.Width <= width && r.Y+r.Height <= height
}

// Resizes reports whether the stage changes the scale of its input.
func (s Stage) Resizes() bool { return s.Width != s.Crop.Width || s.Height != s.Crop.Height }

// Pads reports whether the window reaches beyond the resized picture.
func (s Stage) Pads() bool { return !s.Window.In(s.Width, s.Height) }

// Visible is the part of Window that the resized picture covers. It is the zero Rect if there is none.
func (s Stage) Visible() Rect {
	x0, y0 := max(s.Window.X, 0), max(s.Window.Y, 0)
	x1, y1 := min(s.Window.X+s.Window.Width, s.Width), min(s.Window.Y+s.Window.Height, s.Height)
	if x1 <= x0 || y1 <= y0 {
		return Rect{}
	}
	return Rect{x0, y0, x1 - x0, y1 - y0}
}

// Target is where Visible stands in the result of the stage. It is the zero Rect if nothing is visible.
func (s Stage) Target() Rect {
	v := s.Visible()
	if v == (Rect{}) {
		return v
	}
	x := v.X - s.Window.X
	if s.Flip {
		x = s.Window.Width - x - v.Width
	}
	return Rect{x, v.Y - s.Window.Y, v.Width, v.Height}
}

// MakePlan computes the geometry of steps on the picture that info describes, and puts it into plan. The picture is turned
// upright first if applyOrientation is set. r may be nil if no step is random.
func MakePlan(info Info, applyOrientation bool, steps []Step, r Rand, plan *Plan) error {
	if info.Width <= 0 || info.Height <= 0 {
		return fmt.Errorf("%w: a picture of %d×%d pixels", ErrGeometry, info.Width, info.Height)
	}
	plan.Orientation = 1
	if applyOrientation && info.Orientation >= 1 && info.Orientation <= 8 {
		plan.Orientation = info.Orientation
	} else {
		info.Orientation = 1
	}
	plan.Width, plan.Height = info.Oriented()
	plan.Stages = plan.Stages[:0]
	plan.addStage()
	for i := range steps {
		if err := steps[i].Op.place(plan, steps[i].ID, r); err != nil {
			return err
		}
		if plan.Width <= 0 || plan.Height <= 0 {
			return fmt.Errorf("%w: %#v leaves %d×%d pixels of %d×%d",
				ErrGeometry, steps[i].Op, plan.Width, plan.Height, info.Width, info.Height)
		}
		if plan.Width > MaxPixels/plan.Height {
			return fmt.Errorf("%w: %#v makes %d×%d pixels of %d×%d",
				ErrTooLarge, steps[i].Op, plan.Width, plan.Height, info.Width, info.Height)
		}
	}
	return nil
}

// addStage begins a stage that changes nothing yet.
func (p *Plan) addStage() {
	whole := Rect{0, 0, p.Width, p.Height}
	p.Stages = append(p.Stages, Stage{Crop: whole, Width: p.Width, Height: p.Height, Window: whole})
}

func (p *Plan) last() *Stage { return &p.Stages[len(p.Stages)-1] }

// resize scales the picture to this size. It joins the last stage if that has only cropped so far: then the window is the crop.
// After a flip it does not, although that would differ by rounding only: results are exact, not nearly so.
func (p *Plan) resize(width, height int) {
	if width == p.Width && height == p.Height {
		return
	}
	s := p.last()
	if s.Resizes() || s.Pads() || s.Flip {
		p.addStage()
		s = p.last()
	}
	s.Crop = Rect{s.Crop.X + s.Window.X, s.Crop.Y + s.Window.Y, s.Window.Width, s.Window.Height}
	s.Width, s.Height = width, height
	s.Window = Rect{0, 0, width, height}
	p.Width, p.Height = width, height
}

// window cuts r out of the picture; where r reaches beyond it, the result is black. That takes a stage of its own after a cut:
// what was cut off must not come back.
func (p *Plan) window(r Rect) {
	s := p.last()
	if !r.In(p.Width, p.Height) && s.Visible() != (Rect{0, 0, s.Width, s.Height}) {
		p.addStage()
		s = p.last()
	}
	if s.Flip {
		r.X = p.Width - r.X - r.Width
	}
	s.Window = Rect{s.Window.X + r.X, s.Window.Y + r.Y, r.Width, r.Height}
	p.Width, p.Height = r.Width, r.Height
}

func (p *Plan) flip() {
	s := p.last()
	s.Flip = !s.Flip
}
