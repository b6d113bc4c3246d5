package media

import "github.com/headrace/headrace/media/internal/orient"

// Plan is what a whole sequence of operations comes to for one image. Its zero value
// is ready for MakePlan, which may be called on the same Plan again and again.
type Plan struct {
	Options       Options // how the image is decoded
	Orientation   int     // 1–8: how the stored image is turned before the first stage
	Stages        []Stage // at least one
	Width, Height int     // of the result
	Color         Color   // of the result
	Output        Output

	Along *Along // what goes with the image; nil: nothing. MakePlan leaves it

	inWidth, inHeight int // of what the first stage works on: turned as Orientation says

	given   []Size // to each step
	moves   []move // where its pixels went, step by step
	draws   []Draw // nil: nobody wants to know
	drawing int    // the step that is placed
}

// Form is that of the result; of a clip, of one frame.
func (p *Plan) Form() Form {
	return Form{Height: p.Height, Width: p.Width, Color: p.Color, DType: p.Output.DType, Layout: p.Output.Layout}
}

// Stage is one pass over pixels: crop, resize or warp, window, turn, passes, in this
// order. Each part may be without effect.
type Stage struct {
	// Crop is the part of the input that takes part. Its edges are hard: no pixel from
	// beyond them is mixed in.
	Crop Rect
	// Part, where it is not all of Crop, is what is resized; what is beside it in
	// Crop is mixed in as far as the filter reaches.
	Part Part
	// Width and Height are what Crop, or Part, is resized to; Crop's own size where it
	// is not.
	Width, Height int
	// Filter is what it is resized with.
	Filter Filter
	// Warp is what makes Width × Height pixels of Crop instead of resizing it, if it is
	// not nil. Pixels without a source are Fill. The first stage has none.
	Warp *Warp
	// Window is the part of those Width × Height pixels that is the result. Where it
	// reaches beyond them, the result is Fill.
	Window Rect
	// Fill is the colour of padding, by channel; of 16 bits where pixels are. An alpha
	// channel is its last.
	Fill [4]uint16
	// Turn is how the result is turned: 1 not at all, or another of EXIF's
	// orientations. From 5 on, its sides are those of Window, exchanged.
	Turn int
	// Passes are what is done to the pixels then, one after the other.
	Passes []Pass
}

// Resizes reports whether the stage changes the scale of its input.
func (s Stage) Resizes() bool {
	return s.Warp == nil && (s.Width != s.Crop.Width || s.Height != s.Crop.Height || s.Part != Part{})
}

// Pads reports whether the window reaches beyond the resized image.
func (s Stage) Pads() bool { return !s.Window.In(s.Width, s.Height) }

// Idle reports whether the stage does no more than to cut a window out.
func (s *Stage) Idle() bool {
	moved := s.Warp != nil || s.Resizes() || s.Pads() || s.Turn > 1
	return !moved && len(s.Passes) == 0
}

// Visible is the part of Window that the resized image covers. It is the zero Rect if
// there is none.
func (s Stage) Visible() Rect {
	x0, y0 := max(s.Window.X, 0), max(s.Window.Y, 0)
	x1, y1 := min(s.Window.X+s.Window.Width, s.Width), min(s.Window.Y+s.Window.Height, s.Height)
	if x1 <= x0 || y1 <= y0 {
		return Rect{}
	}
	return Rect{x0, y0, x1 - x0, y1 - y0}
}

// Target is where Visible is in the result of the stage. It is the zero Rect if
// nothing is visible.
func (s Stage) Target() Rect {
	v := s.Visible()
	if v == (Rect{}) {
		return v
	}
	v.X -= s.Window.X
	v.Y -= s.Window.Y
	if s.Turn <= 1 {
		return v
	}
	return v.upright(s.Turn, s.Window.Width, s.Window.Height)
}

// Given is the size of the image to which step i is done.
func (p *Plan) Given(i int) Size { return p.given[i] }

func (p *Plan) addStage() {
	n := len(p.Stages)
	var list []Pass
	if n < cap(p.Stages) { // a stage of an earlier plan is there: its list is used again
		list = p.Stages[:n+1][n].Passes[:0]
	}
	whole := Rect{0, 0, p.Width, p.Height}
	p.Stages = append(p.Stages, Stage{Crop: whole, Width: p.Width, Height: p.Height, Window: whole, Turn: 1, Passes: list})
}

func (p *Plan) last() *Stage { return &p.Stages[len(p.Stages)-1] }

// resize scales the image to this size. It joins the last stage if that has only
// cropped and turned so far: then the window is the crop.
func (p *Plan) resize(width, height int, f Filter) { p.resizePart(Part{}, width, height, f) }

// resizePart is resize of a part of the image.
func (p *Plan) resizePart(part Part, width, height int, f Filter) {
	if width == p.Width && height == p.Height && part == (Part{}) {
		return
	}
	p.moves = append(p.moves, move{step: p.drawing, from: Size{p.Height, p.Width}, part: part, to: Size{height, width}, turn: 1})
	s := p.last()
	made := s.Warp != nil || s.Resizes() || s.Pads()
	if made || len(s.Passes) > 0 || !p.turnsBefore(len(p.Stages)-1) {
		p.addStage()
		s = p.last()
	}
	if p.Color == Mask {
		f = Nearest
	}
	p.turnBefore(len(p.Stages) - 1)
	s.Crop = Rect{s.Crop.X + s.Window.X, s.Crop.Y + s.Window.Y, s.Window.Width, s.Window.Height}
	s.Part, s.Width, s.Height, s.Filter = part, width, height, f
	s.Window = Rect{0, 0, width, height}
	p.Width, p.Height = width, height
}

// window cuts r out of the image; where r reaches beyond it, the result is fill. That
// takes a stage of its own where fill would get another colour, and where something was
// cut off, which must not come back.
func (p *Plan) window(r Rect, fill [4]uint16) {
	if r == (Rect{0, 0, p.Width, p.Height}) {
		return
	}
	p.moves = append(p.moves, move{step: p.drawing, window: r, turn: 1})
	s := p.last()
	pads := !r.In(p.Width, p.Height)
	if pads && s.changesFill(fill) || s.looksAround() { // at what is cut off here
		p.addStage()
		s = p.last()
	}
	p.Width, p.Height = r.Width, r.Height
	if s.Turn > 1 {
		r = r.stored(s.Turn, s.Window.Width, s.Window.Height)
	}
	s.Window = Rect{s.Window.X + r.X, s.Window.Y + r.Y, r.Width, r.Height}
	if pads {
		s.Fill = fill
	}
}

// changesFill reports whether earlier steps of the stage would show in a border that
// is added: where something was cut off, in the colour of another border, or by a pass.
func (s *Stage) changesFill(fill [4]uint16) bool {
	cut := s.Visible() != Rect{0, 0, s.Width, s.Height}
	fills := s.Pads() || s.Warp != nil
	return cut || fills && s.Fill != fill || len(s.Passes) > 0
}

// turn turns the image as for one of EXIF's orientations. Passes may have changed it
// before: that comes to the same, unless one is fixed.
func (p *Plan) turn(t int) {
	if t == 1 {
		return
	}
	p.moves = append(p.moves, move{step: p.drawing, from: Size{p.Height, p.Width}, turn: t})
	if p.last().fixed() {
		p.addStage()
	}
	s := p.last()
	s.Turn = orient.Then(s.Turn, t)
	p.Width, p.Height = orient.Size(t, p.Width, p.Height)
}

// turnsBefore reports whether the turn of a stage, if it has one, can be done before the
// stage: what the stage before does at last comes to the same then.
func (p *Plan) turnsBefore(i int) bool {
	return p.Stages[i].Turn == 1 || i == 0 || !p.Stages[i-1].fixed()
}

// turnBefore has the turn of a stage that does not resize done before the stage.
func (p *Plan) turnBefore(i int) {
	s := &p.Stages[i]
	t := s.Turn
	if t == 1 {
		return
	}
	width, height := p.inWidth, p.inHeight
	if i > 0 {
		before := &p.Stages[i-1]
		width, height = orient.Size(before.Turn, before.Window.Width, before.Window.Height)
		before.Turn = orient.Then(before.Turn, t)
	} else {
		p.Orientation = orient.Then(p.Orientation, t)
		p.inWidth, p.inHeight = orient.Size(t, width, height)
	}
	s.Window = s.Window.upright(t, s.Width, s.Height)
	s.Crop = s.Crop.upright(t, width, height)
	s.Width, s.Height = s.Crop.Width, s.Crop.Height
	s.Turn = 1
}
