//go:build cgo

package turbo

// #cgo CFLAGS: -O3 -std=gnu11
// #cgo LDFLAGS: -ljpeg
// #cgo noescape hr_decode
// #cgo nocallback hr_decode
// #cgo noescape hr_resample
// #cgo nocallback hr_resample
// #include "decode.h"
// #include "memory.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"headrace/media"
	"headrace/media/internal/orient"
	"headrace/media/internal/resample"
	"headrace/tensor"
)

func init() { media.Register(media.JPEG, Decoder{}) }

// Decoder decodes JPEG with libjpeg-turbo. It implements media.Decoder.
type Decoder struct{}

// Name returns "libjpeg-turbo".
func (Decoder) Name() string { return "libjpeg-turbo" }

// DecodeInto implements media.Decoder.
func (Decoder) DecodeInto(dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
	if err := media.CheckTarget(dst, stride, plan); err != nil {
		return err
	}
	if info.Width <= 0 || info.Height <= 0 || info.Width > media.MaxPixels/info.Height {
		return fmt.Errorf("%w: %d×%d pixels", media.ErrTooLarge, info.Width, info.Height)
	}
	if len(src) == 0 {
		return fmt.Errorf("%w: no data", media.ErrTruncated)
	}
	h, err := borrow()
	if err != nil {
		return err
	}
	defer h.giveBack()
	return h.run(dst, stride, src, info, plan)
}

// run carries out the stages of the plan: the first on what is decoded, the others on the result of the one before.
func (h *handle) run(dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
	if len(plan.Stages) > 1 {
		defer C.hr_trim(h.c)
	}
	var before []byte // result of the stage before
	for i := range plan.Stages {
		stage := &plan.Stages[i]
		to, toStride := dst, stride
		if i < len(plan.Stages)-1 {
			toStride = stage.Window.Width * 3
			if to = h.output(i&1, toStride*stage.Window.Height); to == nil {
				return errMemory
			}
		}
		at := stage.Target()
		if stage.Pads() {
			p := media.Pixels{Data: to, Stride: toStride, Width: stage.Window.Width, Height: stage.Window.Height, DType: tensor.Uint8}
			media.Border(p, at, stage.Fill)
		}
		if at.Width > 0 && at.Height > 0 {
			h.tables(stage)
			var err error
			if i == 0 {
				err = h.decode(to[at.Y*toStride+at.X*3:], toStride, src, info, plan.Orientation, stage.Crop)
			} else {
				err = h.resample(to[at.Y*toStride+at.X*3:], toStride, before, plan.Stages[i-1].Window.Width, stage.Crop)
			}
			if err != nil {
				return err
			}
		}
		before = to
	}
	return nil
}

// tables computes the weights of a stage, and what of its crop they need.
func (h *handle) tables(stage *media.Stage) {
	v := stage.Visible()
	filter := resample.Filter(stage.Filter)
	h.x.Set(resample.Axis{In: stage.Crop.Width, Out: stage.Width, First: v.X, N: v.Width, Filter: filter, Flip: stage.Turn == 2})
	h.y.Set(resample.Axis{In: stage.Crop.Height, Out: stage.Height, First: v.Y, N: v.Height, Filter: filter})
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

func (h *handle) decode(dst []byte, stride int, src []byte, info *media.Info, orientation int, crop media.Rect) error {
	x0, x1 := h.x.Bounds()
	y0, y1 := h.y.Bounds()
	left, top, cols, rows := crop.X+x0, crop.Y+y0, x1-x0, y1-y0
	sx, sy, sw, sh := orient.Stored(orientation, info.Width, info.Height, left, top, cols, rows)
	if sx < 0 || sy < 0 || sx+sw > info.Width || sy+sh > info.Height {
		return fmt.Errorf("%w: the plan is for a larger picture than %d×%d", media.ErrGeometry, info.Width, info.Height)
	}
	j := &h.job
	j.width, j.height = C.int32_t(info.Width), C.int32_t(info.Height)
	j.left, j.top, j.cols, j.rows = C.int32_t(sx), C.int32_t(sy), C.int32_t(sw), C.int32_t(sh)
	j.turned_cols, j.turned_rows = C.int32_t(cols), C.int32_t(rows)
	j.upright = 1
	if orientation > 1 {
		j.upright = 0
		pixel := func(x, y int) int { // of the stored part, counted row by row
			px, py := orient.At(orientation, info.Width, info.Height, left+x, top+y)
			return (py-sy)*sw + px - sx
		}
		origin := pixel(0, 0)
		j.origin = C.int32_t(origin)
		j.step_x, j.step_y = C.int32_t(pixel(1, 0)-origin), C.int32_t(pixel(0, 1)-origin)
	}
	return h.failure(C.hr_decode(h.c, level(), &h.job, pointer(src), C.size_t(len(src)), pointer(dst), C.ptrdiff_t(stride),
		spans(&h.x), weights(&h.x), spans(&h.y), weights(&h.y)))
}

func (h *handle) resample(dst []byte, stride int, src []byte, width int, crop media.Rect) error {
	x0, _ := h.x.Bounds()
	y0, _ := h.y.Bounds()
	src = src[((crop.Y+y0)*width+crop.X+x0)*3:]
	return h.failure(C.hr_resample(h.c, level(), &h.job, pointer(src), C.ptrdiff_t(width*3), pointer(dst), C.ptrdiff_t(stride),
		spans(&h.x), weights(&h.x), spans(&h.y), weights(&h.y)))
}

func pointer(b []byte) *C.uint8_t          { return (*C.uint8_t)(unsafe.SliceData(b)) }
func spans(t *resample.Table) *C.hr_span   { return (*C.hr_span)(unsafe.Pointer(&t.Spans[0])) }
func weights(t *resample.Table) *C.int32_t { return (*C.int32_t)(&t.Weights[0]) }
func (h *handle) output(i, size int) []byte {
	p := C.hr_stage_memory(h.c, C.int(i), C.size_t(size))
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(p), size)
}

var errMemory = fmt.Errorf("media/turbo: out of memory")

// failure turns a status of the C code into an error.
func (h *handle) failure(status C.int) error {
	kind := media.ErrCorrupt
	switch status {
	case C.HR_OK:
		return nil
	case C.HR_MEMORY:
		return errMemory
	case C.HR_TRUNCATED:
		kind = media.ErrTruncated
	case C.HR_UNSUPPORTED:
		kind = media.ErrUnsupported
	}
	return fmt.Errorf("%w: libjpeg: %s", kind, C.GoString(C.hr_message(h.c)))
}

// Offsets within a picture are counted in 32 bits in C.
const _ = uint(math.MaxInt32 - media.MaxPixels*3)
