package media

import (
	"fmt"

	"headrace/tensor"
)

// Plan is what a whole sequence of operations comes to for one picture. Its zero value is ready for MakePlan, which may be called
// on the same Plan again and again.
type Plan struct {
	Options       Options // how the picture is decoded
	Orientation   int     // 1–8: how the stored picture is turned before the first stage
	Stages        []Stage // at least one
	Width, Height int     // of the result
	Color         Color   // of the result
	Output        Output
}

// Output is the form that pixels get when all stages are done, while they are written to where they belong.
type Output struct {
	DType  tensor.DType // Uint8 or Uint16, as the stages leave them; or Float32, Float16, BFloat16
	Layout Layout
	// Mean and Std of each channel, for floating point: a value v of 8 bits becomes (v/255 - Mean) / Std, one of 16 bits (v/65535 - Mean) / Std.
	Mean, Std [3]float32
}

// Form is that of the result.
func (p *Plan) Form() Form { return Form{p.Height, p.Width, p.Color, p.Output.DType, p.Output.Layout} }

// Stage is one pass over pixels: crop, resize, window, turn, adjust, in this order. Each part may be without effect.
type Stage struct {
	// Crop is the part of the input that takes part. Its edges are hard: no pixel from beyond them is mixed in.
	Crop Rect
	// Width and Height are what Crop is resized to; Crop's own size where it is not.
	Width, Height int
	// Filter is what it is resized with.
	Filter Filter
	// Window is the part of those Width × Height pixels that is the result. Where it reaches beyond them, the result is Fill.
	Window Rect
	// Fill is the colour of padding, by channel; of 16 bits where pixels are. An alpha channel is its last.
	Fill [4]uint16
	// Turn is how the result is turned: 1 not at all, or another of EXIF's orientations. From 5 on, its sides are those of Window, exchanged.
	Turn int
	// Adjust is what is done to colours, one after the other.
	Adjust []Adjust
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
	if s.Turn == 2 {
		x = s.Window.Width - x - v.Width
	}
	return Rect{x, v.Y - s.Window.Y, v.Width, v.Height}
}

// MakePlan works out what the steps, one after the other, do to the picture that info describes, decoded as o says. The random operations
// among them ask r. plan is overwritten; its memory is used again.
func MakePlan(info Info, o Options, steps []Step, r Rand, plan *Plan) error {
	if info.Width <= 0 || info.Height <= 0 {
		return fmt.Errorf("%w: a picture of %d×%d pixels", ErrGeometry, info.Width, info.Height)
	}
	plan.Options, plan.Color = o, o.Color
	plan.Output = Output{DType: o.Form().DType}
	plan.Orientation = 1
	if o.Orient && info.Orientation >= 1 && info.Orientation <= 8 {
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

func (p *Plan) addStage() {
	whole := Rect{0, 0, p.Width, p.Height}
	p.Stages = append(p.Stages, Stage{Crop: whole, Width: p.Width, Height: p.Height, Window: whole, Turn: 1})
}

func (p *Plan) last() *Stage { return &p.Stages[len(p.Stages)-1] }

// resize scales the picture to this size. It joins the last stage if that has only cropped so far: then the window is the crop.
// After a flip it does not, although that would differ by rounding only: results are exact, not nearly so.
func (p *Plan) resize(width, height int) {
	if width == p.Width && height == p.Height {
		return
	}
	s := p.last()
	if s.Resizes() || s.Pads() || s.Turn != 1 {
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
	if s.Turn == 2 {
		r.X = p.Width - r.X - r.Width
	}
	s.Window = Rect{s.Window.X + r.X, s.Window.Y + r.Y, r.Width, r.Height}
	p.Width, p.Height = r.Width, r.Height
}

func (p *Plan) flip() {
	s := p.last()
	s.Turn = 3 - s.Turn // 1 and 2 are each other's mirror
}
