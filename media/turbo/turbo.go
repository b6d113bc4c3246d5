//go:build cgo

package turbo

// #cgo CFLAGS: -O3 -std=gnu11
// #cgo LDFLAGS: -ljpeg
// #cgo noescape hr_decode
// #cgo nocallback hr_decode
// #cgo noescape hr_resample
// #cgo nocallback hr_resample
// #cgo noescape hr_transpose
// #cgo nocallback hr_transpose
// #include "decode.h"
// #include "memory.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/orient"
	"github.com/headrace/headrace/media/internal/resample"
)

func init() {
	media.Register(media.JPEG, Decoder{})
	media.SetRunner(Runner{})
}

// Decoder decodes JPEG with libjpeg-turbo. It implements media.Decoder.
type Decoder struct{}

// Name returns "libjpeg-turbo" and the version, as in "libjpeg-turbo-2.1.5".
func (Decoder) Name() string { return name }

var name = fmt.Sprintf("libjpeg-turbo-%d.%d.%d", C.LIBJPEG_TURBO_VERSION_NUMBER/1000000,
	C.LIBJPEG_TURBO_VERSION_NUMBER/1000%1000, C.LIBJPEG_TURBO_VERSION_NUMBER%1000)

// Kernels names the set of instructions that works on pixels on this machine, as in
// "avx2".
func (Decoder) Kernels() string { return levelName() }

// DecodeInto implements media.Decoder. Pixels of other forms than RGB of 8 bits are
// decoded whole before anything else is done to them.
func (Decoder) DecodeInto(dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
	if !Usual(plan) {
		info := *info // moves to the heap, the caller's does not have to
		return others.DecodeInto(dst, stride, src, &info, plan)
	}
	return DecodeBy(Front{}, dst, stride, src, info, plan)
}

// Front is a decoder of another make for the first half of the work, from a JPEG to rows
// of pixels or planes. libjpeg-turbo decodes what it leaves.
type Front struct {
	Functions unsafe.Pointer // a struct hr_front, as front.h says; nil: there is none
	Header    unsafe.Pointer // what they learn of the image; there are no Go pointers in it
}

// DecodeBy does what [Decoder.DecodeInto] does, by a front, for plans on RGB of 8 bits,
// which [Usual] tells. The rest is as if libjpeg-turbo had made the pixels.
func DecodeBy(front Front, dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
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
	return h.run(dst, stride, picture{jpeg: src, front: front, width: info.Width, height: info.Height, orientation: plan.Orientation}, plan)
}

// decode resamples a part of a JPEG, for which the tables are set.
func (h *handle) decode(to target, in *picture, crop media.Rect) error {
	x0, x1 := h.x.Bounds()
	y0, y1 := h.y.Bounds()
	left, top, cols, rows := crop.X+x0, crop.Y+y0, x1-x0, y1-y0
	sx, sy, sw, sh := orient.Stored(in.orientation, in.width, in.height, left, top, cols, rows)
	j := &h.job
	j.width, j.height = C.int32_t(in.width), C.int32_t(in.height)
	j.left, j.top, j.cols, j.rows = C.int32_t(sx), C.int32_t(sy), C.int32_t(sw), C.int32_t(sh)
	h.turning(in, left, top, cols, rows, func(x, y int) int { return ((y-sy)*sw + x - sx) * 3 })
	return h.failure(C.hr_decode(h.c, level(), (*C.hr_front)(in.front.Functions), in.front.Header,
		&h.job, pointer(in.jpeg), C.size_t(len(in.jpeg)), pointer(to.rows), C.ptrdiff_t(to.stride), to.out,
		spans(&h.x), weights(&h.x), spans(&h.y), weights(&h.y)))
}

// turning tells how the pixels of a part of the upright image are found. at gives the
// place of a stored pixel in memory.
func (h *handle) turning(in *picture, left, top, cols, rows int, at func(x, y int) int) {
	j := &h.job
	j.turned_cols, j.turned_rows = C.int32_t(cols), C.int32_t(rows)
	place := func(x, y int) int { return at(orient.At(in.orientation, in.width, in.height, left+x, top+y)) }
	origin := place(0, 0)
	j.origin = C.ptrdiff_t(origin)
	j.step_x, j.step_y = C.ptrdiff_t(place(1, 0)-origin), C.ptrdiff_t(place(0, 1)-origin)
	j.upright = 0
	if in.orientation == 1 {
		j.upright = 1
	}
}

func pointer(b []byte) *C.uint8_t          { return (*C.uint8_t)(unsafe.SliceData(b)) }
func spans(t *resample.Table) *C.hr_span   { return (*C.hr_span)(unsafe.Pointer(&t.Spans[0])) }
func weights(t *resample.Table) *C.int32_t { return (*C.int32_t)(&t.Weights[0]) }

// failure turns a status of the C code into an error.
func (h *handle) failure(status C.int) error {
	kind := media.ErrCorrupt
	switch status {
	case C.HR_OK:
		return nil
	case C.HR_MEMORY:
		return media.ErrMemory
	case C.HR_TRUNCATED:
		kind = media.ErrTruncated
	case C.HR_UNSUPPORTED:
		kind = media.ErrUnsupported
	}
	return fmt.Errorf("%w: libjpeg: %s", kind, C.GoString(C.hr_message(h.c)))
}

// Offsets within an image are counted in 32 bits in C.
const _ = uint(math.MaxInt32 - media.MaxPixels*3)
