package media

import (
	"headrace/media/internal/orient"
	"headrace/media/internal/resample"
)

// goScratch is what the Go decoder keeps from picture to picture: the input and the output of a stage, rows between the passes,
// tables.
type goScratch struct {
	in, out, rows []byte
	x, y          resample.Table
}

// run carries the stages out. load writes a part of the upright picture, as RGB pixels without gaps.
func (s *goScratch) run(dst []byte, stride int, plan *Plan, load func(dst []byte, part Rect)) error {
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		v := stage.Visible()
		s.x.Set(stage.Crop.Width, stage.Width, v.X, v.Width, stage.Turn == 2)
		s.y.Set(stage.Crop.Height, stage.Height, v.Y, v.Height, false)
		x0, x1 := s.x.Bounds()
		y0, y1 := s.y.Bounds()
		if i == 0 {
			part := Rect{stage.Crop.X + x0, stage.Crop.Y + y0, x1 - x0, y1 - y0}
			s.in = grow(s.in, part.Width*part.Height*3)
			load(s.in, part)
		} else {
			s.in, s.out = s.out, s.in
			before := plan.Stages[i-1].Window
			s.in = cut(s.in, before.Width, stage.Crop.X+x0, stage.Crop.Y+y0, x1-x0, y1-y0)
		}
		to, toStride := dst, stride
		if i < len(plan.Stages)-1 {
			toStride = stage.Window.Width * 3
			s.out = grow(s.out, toStride*stage.Window.Height)
			to = s.out
		}
		s.stage(to, toStride, stage, x0, y0, x1-x0, y1-y0)
	}
	return nil
}

// stage resamples s.in, which begins at (x0, y0) of the stage's crop, into dst.
func (s *goScratch) stage(dst []byte, stride int, stage *Stage, x0, y0, width, height int) {
	at := stage.Target()
	Blacken(dst, stride, stage.Window.Width, stage.Window.Height, at)
	if at.Width == 0 || at.Height == 0 {
		return
	}
	dst = dst[at.Y*stride+at.X*3:]
	before, after := width*3, at.Width*3 // bytes of a row
	if resample.VerticalFirst(&s.x, &s.y) {
		s.rows = grow(s.rows, before)
		for i, span := range s.y.Spans {
			resample.Column(s.rows, s.in, before, y0, span, s.y.Weights)
			resample.Row(dst[i*stride:], s.rows, x0, &s.x)
		}
		return
	}
	s.rows = grow(s.rows, after*height)
	for y := range height {
		resample.Row(s.rows[y*after:], s.in[y*before:], x0, &s.x)
	}
	for i, span := range s.y.Spans {
		resample.Column(dst[i*stride:][:after], s.rows, after, y0, span, s.y.Weights)
	}
}

// Blacken clears what lies outside a part of a picture of width × height pixels.
func Blacken(dst []byte, stride, width, height int, except Rect) {
	for y := range height {
		row := dst[y*stride:][:width*3]
		if y >= except.Y && y < except.Y+except.Height && except.Width > 0 {
			clear(row[:except.X*3])
			clear(row[(except.X+except.Width)*3:])
		} else {
			clear(row)
		}
	}
}

// cut moves a part of a picture without gaps to the front of its memory.
func cut(pixels []byte, stride, x, y, width, height int) []byte {
	for row := range height {
		copy(pixels[row*width*3:][:width*3], pixels[((y+row)*stride+x)*3:])
	}
	return pixels[:width*height*3]
}

// GoRunner is the Runner in plain Go: what it computes is what every other one must compute.
type GoRunner struct{}

// Name returns "go".
func (GoRunner) Name() string { return "go" }

// Run implements [Runner].
func (GoRunner) Run(dst []byte, stride int, src Pixels, plan *Plan) error {
	if err := CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if err := src.Check(); err != nil {
		return err
	}
	s := goScratches.Get().(*goScratch)
	defer goScratches.Put(s)
	return s.run(dst, stride, plan, func(dst []byte, part Rect) {
		for y := range part.Height {
			for x := range part.Width {
				sx, sy := orient.At(plan.Orientation, src.Width, src.Height, part.X+x, part.Y+y)
				dst = dst[copy(dst[:3], src.Data[sy*src.Stride+3*sx:]):]
			}
		}
	})
}

// onto lays a picture with an alpha channel over a background, in place, and returns it without the channel.
func onto(p Pixels, background [3]uint8, to Color) Pixels {
	panic("media: a background") // to come
}
