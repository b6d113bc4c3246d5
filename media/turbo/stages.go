//go:build cgo

package turbo

// #include "decode.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/media/internal/resample"
	"github.com/headrace/headrace/tensor"
)

// picture is what a stage works on: a JPEG that is still to be decoded, or pixels.
type picture struct {
	jpeg          []byte
	front         Front        // that decodes it
	pixels        media.Pixels // without jpeg
	width, height int          // as stored
	orientation   int          // how it is turned before the stage
}

func (p *picture) tooSmall() error {
	return fmt.Errorf("%w: the plan is for a larger image than %d×%d", media.ErrGeometry, p.width, p.height)
}

// target is where the rows of a result go, and the C code that writes them there; nil
// where they are RGB of 8 bits.
type target struct {
	rows   []byte // from the first row that is computed on, which may be the last in memory
	stride int
	out    *C.hr_output
}

// Usual reports whether a plan works on RGB of 8 bits, which the kernels are made for.
func Usual(plan *media.Plan) bool {
	f := plan.Options.Form()
	return f.Color == media.RGB && f.DType == tensor.Uint8
}

// run carries out a plan.
func (h *handle) run(dst []byte, stride int, in picture, plan *media.Plan) error {
	if w, h := orient.Size(in.orientation, in.width, in.height); !plan.Stages[0].Crop.In(w, h) {
		return in.tooSmall()
	}
	err := h.stages(dst, stride, in, plan)
	C.hr_trim(h.c)
	return err
}

// stages carries out the stages of the plan: the first on the image, the others on
// the result of the one before.
func (h *handle) stages(dst []byte, stride int, in picture, plan *media.Plan) error {
	last := len(plan.Stages) - 1
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		if i > 0 && in.pixels.Color == media.Gray {
			return h.gray(dst, stride, in.pixels, plan, i)
		}

		width, height := orient.Size(stage.Turn, stage.Window.Width, stage.Window.Height)
		warpsNext := i == 0 && last > 0 && plan.Stages[1].Warp != nil
		if warpsNext && stage.Idle() && in.jpeg == nil && in.orientation <= 1 {
			in.pixels, in.width, in.height = viewed(in.pixels, stage), width, height
			continue // the next one looks at it where it is
		}
		bare := stage.Warp == nil && !stage.Pads() && len(stage.Passes) == 0
		upright := stage.Turn <= 4 && in.orientation <= 4 // rows stay rows
		if i == last && !plain(plan) && bare && upright {
			to := target{dst, stride, h.output(&plan.Output)}
			h.job.plane = C.ptrdiff_t(stride * height)
			return h.stage(to, &in, stage, plan.Options.Mode)
		}

		p := media.Pixels{Data: dst, Stride: stride, Width: width, Height: height, DType: tensor.Uint8}
		if i < last || !plain(plan) {
			p.Stride = width * 3
			if p.Data = h.memory(i&1, p.Stride*height); p.Data == nil {
				return media.ErrMemory
			}
		}

		if stage.Warp != nil {
			warp(stage, p, in.pixels)
		} else if err := h.padded(p, &in, stage, plan.Options.Mode); err != nil {
			return err
		}

		p = carryOut(stage.Passes, p)
		if i == last && !plain(plan) {
			write(h.prepared, &plan.Output, dst, stride, p)
		}
		in = picture{pixels: p, width: width, height: height, orientation: 1}
	}
	return nil
}

// viewed is the part of pixels that an idle stage leaves.
func viewed(p media.Pixels, stage *media.Stage) media.Pixels {
	p.Data = p.Data[(stage.Crop.Y+stage.Window.Y)*p.Stride+3*(stage.Crop.X+stage.Window.X):]
	p.Width, p.Height = stage.Window.Width, stage.Window.Height
	return p
}

// padded computes a stage's result, colours aside.
func (h *handle) padded(to media.Pixels, in *picture, stage *media.Stage, mode media.Mode) error {
	if stage.Pads() {
		media.Border(to, stage.Target(), stage.Fill)
	}
	return h.stage(target{to.Data, to.Stride, nil}, in, stage, mode)
}

// plain reports whether what the last stage makes is the result.
func plain(plan *media.Plan) bool {
	return plan.Color == media.RGB && plan.Output.DType == tensor.Uint8 && plan.Output.Layout == media.HWC
}

// gray carries out the stages from i on, of an image that has lost its colours.
func (h *handle) gray(dst []byte, stride int, p media.Pixels, plan *media.Plan, i int) error {
	rest := *plan
	rest.Options.Color, rest.Orientation, rest.Stages = media.Gray, 1, plan.Stages[i:]
	return media.GoRunner{}.Run(dst, stride, p, &rest)
}

// stage computes what is visible of a stage's result, colours aside.
func (h *handle) stage(to target, in *picture, stage *media.Stage, mode media.Mode) error {
	at := stage.Target()
	if at == (media.Rect{}) {
		return nil
	}
	turned := in.orientation > 1 && stage.Part != media.Part{} // parts that begin within pixels are not turned back
	if mode == media.Fast && in.jpeg != nil && stage.Resizes() && !turned {
		if done, err := h.fast(to, in, stage); done || err != nil {
			return err
		}
	}
	h.tables(stage)
	_, flipY, swap := orient.Parts(stage.Turn)
	if !swap {
		return h.scale(to.part(at, flipY), in, stage.Crop)
	}
	upright := h.memory(2, at.Width*at.Height*3)
	if upright == nil {
		return media.ErrMemory
	}
	all := media.Rect{Width: at.Height, Height: at.Width}
	if err := h.scale(target{upright, at.Height * 3, nil}.part(all, flipY), in, stage.Crop); err != nil {
		return err
	}
	C.hr_transpose(pointer(to.part(at, false).rows), C.ptrdiff_t(to.stride), pointer(upright),
		C.ptrdiff_t(at.Height*3), C.int(at.Height), C.int(at.Width))
	return nil
}

// part is the part of a target that is computed, the last row first if flipped. Rows
// that are not RGB of 8 bits are written as a whole.
func (t target) part(at media.Rect, flip bool) target {
	first := at.Y
	if flip {
		first += at.Height - 1
	}
	t.rows = t.rows[first*t.stride+at.X*3:]
	if flip {
		t.stride = -t.stride
	}
	return t
}

// tables computes the weights of a stage, and what of its crop they need. That rows
// come in reverse order is left to whoever writes them.
func (h *handle) tables(stage *media.Stage) {
	v, filter := stage.Visible(), resample.Filter(stage.Filter)
	flipX, _, _ := orient.Parts(stage.Turn)
	h.x.Set(resample.Axis{In: stage.Crop.Width, Out: stage.Width, First: v.X, N: v.Width, Filter: filter, Flip: flipX,
		From: stage.Part.X, Size: stage.Part.Width, Beside: true})
	h.y.Set(resample.Axis{In: stage.Crop.Height, Out: stage.Height, First: v.Y, N: v.Height, Filter: filter,
		From: stage.Part.Y, Size: stage.Part.Height, Beside: true})
	h.job.x, h.job.y = axis(&h.x), axis(&h.y)
	h.job.vertical_first = 0
	if resample.VerticalFirst(&h.x, &h.y) {
		h.job.vertical_first = 1
	}
}

func axis(t *resample.Table) C.hr_axis {
	lo, hi := t.Bounds()
	a := C.hr_axis{n: C.int32_t(len(t.Spans)), taps: C.int32_t(t.Taps), lo: C.int32_t(lo), width: C.int32_t(hi - lo),
		version: C.uint64_t(t.Version)}
	if t.Identity() {
		a.identity = 1
	}
	return a
}

// scale resamples the part of an image that the tables need.
func (h *handle) scale(to target, in *picture, crop media.Rect) error {
	if in.jpeg != nil {
		return h.decode(to, in, crop)
	}
	return h.resample(to, in, crop)
}

func (h *handle) resample(to target, in *picture, crop media.Rect) error {
	x0, x1 := h.x.Bounds()
	y0, y1 := h.y.Bounds()
	left, top, cols, rows := crop.X+x0, crop.Y+y0, x1-x0, y1-y0
	if w, hh := orient.Size(in.orientation, in.width, in.height); left < 0 || top < 0 || left+cols > w || top+rows > hh {
		return in.tooSmall()
	}
	src := in.pixels.Data
	h.turning(in, left, top, cols, rows, func(x, y int) int { return y*in.pixels.Stride + 3*x })
	if h.job.upright == 1 {
		src, h.job.origin = src[h.job.origin:], 0
		if len(src) < (rows-1)*in.pixels.Stride+3*cols+media.Slack {
			h.job.upright = 0 // there is too little to read after the last row: a copy has more
		}
	}
	return h.failure(C.hr_resample(h.c, level(), &h.job, pointer(src), C.ptrdiff_t(in.pixels.Stride),
		pointer(to.rows), C.ptrdiff_t(to.stride), to.out,
		spans(&h.x), weights(&h.x), spans(&h.y), weights(&h.y)))
}

// memory is C memory for the result of a stage, with media.Slack bytes after it.
func (h *handle) memory(i, size int) []byte {
	p := C.hr_stage_memory(h.c, C.int(i), C.size_t(size))
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(p), size+media.Slack)
}

// output prepares what writes the rows of a result.
func (h *handle) output(o *media.Output) *C.hr_output {
	form := outputForm(o, media.RGB, tensor.Uint8)
	C.hr_output_set(&h.prepared.c, level(), &form)
	return &h.prepared.c
}

// Slack is what the kernels are allowed to read.
var _ [C.HR_PAD]byte = [media.Slack]byte{}
