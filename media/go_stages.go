package media

import (
	"sync"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/media/internal/resample"
	"github.com/headrace/headrace/tensor"
)

// goScratch is what plain Go keeps from image to image: the input and the output of
// a stage, rows between the passes, what is to be turned, tables.
type goScratch struct {
	in, out, rows, unturned []byte
	x, y                    resample.Table
}

var goScratches = sync.Pool{New: func() any { return new(goScratch) }}

// giveBack keeps s for the next image, without what a giant among images needed.
func (s *goScratch) giveBack() {
	for _, b := range [...]*[]byte{&s.in, &s.out, &s.rows, &s.unturned} {
		if cap(*b) > scratch.Keep {
			scratch.Free(*b)
			*b = nil
		}
	}
	goScratches.Put(s)
}

// run carries the stages out and writes what comes of them. load gives a part of the
// upright image, in the form that the plan's options ask for.
func (s *goScratch) run(dst []byte, stride int, plan *Plan, load func(part Rect) Pixels) error {
	f := plan.Options.Form()
	var now Pixels
	viewed := false
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		part := stage.Crop
		if stage.Warp == nil {
			part = s.tables(stage, f.DType)
		}
		if i == 0 {
			now = load(part)
		} else {
			now = now.part(part)
			if !viewed {
				s.in, s.out = s.out, s.in
			}
		}
		if viewed = i == 0 && len(plan.Stages) > 1 && plan.Stages[1].Warp != nil && stage.Idle(); viewed {
			continue // the next one looks at it where it is
		}

		width, height := orient.Size(stage.Turn, stage.Window.Width, stage.Window.Height)
		var to Pixels
		if i == len(plan.Stages)-1 && now.Color == plan.Color && f.DType == plan.Output.DType && plan.Output.Layout == HWC {
			to = Pixels{dst, stride, width, height, now.Color, f.DType}
		} else {
			to = packed(&s.out, width, height, now.Color, f.DType)
		}

		s.stage(to, now, stage)
		now = to
		var err error
		if now, err = applyAll(stage.Passes, now); err != nil {
			return err
		}
	}

	if &now.Data[0] == &dst[0] {
		return nil
	}
	return plan.Output.Write(dst, stride, now)
}

// tables computes the weights of a stage, and what part of its input they need.
func (s *goScratch) tables(stage *Stage, dtype tensor.DType) Rect {
	v, wide := stage.Visible(), dtype == tensor.Uint16
	flipX, flipY, _ := orient.Parts(stage.Turn)
	filter := resample.Filter(stage.Filter)
	s.x.Set(resample.Axis{In: stage.Crop.Width, Out: stage.Width, First: v.X, N: v.Width, Filter: filter, Flip: flipX, Wide: wide,
		From: stage.Part.X, Size: stage.Part.Width, Beside: true})
	s.y.Set(resample.Axis{In: stage.Crop.Height, Out: stage.Height, First: v.Y, N: v.Height, Filter: filter, Flip: flipY, Wide: wide,
		From: stage.Part.Y, Size: stage.Part.Height, Beside: true})
	x0, x1 := s.x.Bounds()
	y0, y1 := s.y.Bounds()
	return Rect{stage.Crop.X + x0, stage.Crop.Y + y0, x1 - x0, y1 - y0}
}

// stage writes to what the stage makes of the part of its input that the tables need,
// colours aside. It may change that part.
func (s *goScratch) stage(to, in Pixels, stage *Stage) {
	if stage.Warp != nil {
		stage.WarpInto(to, in)
		return
	}
	at := stage.Target()
	Border(to, at, stage.Fill)
	if at == (Rect{}) {
		return
	}
	to = to.part(at)
	if stage.Turn <= 4 {
		s.scale(to, in)
		return
	}
	upright := packed(&s.unturned, to.Height, to.Width, to.Color, to.DType)
	s.scale(upright, in)
	n := to.PixelBytes()
	for y := range to.Height {
		row := to.Row(y)
		for x := range to.Width {
			copy(row[x*n:][:n], upright.Row(x)[y*n:])
		}
	}
}

// scale resamples the part that the tables need. Colours are weighted by how opaque
// they are: what is transparent must not shine through.
func (s *goScratch) scale(to, in Pixels) {
	if s.x.Identity() && s.y.Identity() {
		s.copy(to, in)
		return
	}

	if to.Color == RGBA && s.x.Filter != resample.Nearest {
		multiplyAlpha(in)
		defer divideAlpha(to)
	}

	row, column := resample.Row, resample.Column
	if to.DType == tensor.Uint16 {
		row, column = resample.WideRow, resample.WideColumn
	}
	channels := to.Color.Channels()
	x0, _ := s.x.Bounds()
	y0, _ := s.y.Bounds()

	if resample.VerticalFirst(&s.x, &s.y) {
		s.rows = grow(s.rows, len(in.Row(0)))
		for i, span := range s.y.Spans {
			column(s.rows, in.Data, in.Stride, y0, span, s.y.Weights)
			row(to.Row(i), s.rows, channels, x0, &s.x)
		}
		return
	}

	between := packed(&s.rows, to.Width, in.Height, to.Color, to.DType)
	for y := range in.Height {
		row(between.Row(y), in.Row(y), channels, x0, &s.x)
	}
	for i, span := range s.y.Spans {
		column(to.Row(i), between.Data, between.Stride, y0, span, s.y.Weights)
	}
}

// copy is scale where no axis changes.
func (s *goScratch) copy(to, in Pixels) {
	n := to.PixelBytes()
	for y := range to.Height {
		from, row := in.Row(y), to.Row(y)
		if s.y.Flip {
			from = in.Row(in.Height - 1 - y)
		}
		if !s.x.Flip {
			copy(row, from)
			continue
		}
		for x := range to.Width {
			copy(row[x*n:][:n], from[(to.Width-1-x)*n:])
		}
	}
}

// packed makes pixels without gaps of b's memory, which grows where it must.
func packed(b *[]byte, width, height int, c Color, d tensor.DType) Pixels {
	p := Pixels{nil, width * c.Channels() * d.Size(), width, height, c, d}
	*b = grow(*b, p.Stride*height)
	p.Data = *b
	return p
}
