//go:build cgo

package turbo

// #cgo noescape hr_blur_picture
// #cgo nocallback hr_blur_picture
// #include "blur.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
)

func init() { kernels["gaussian_blur"] = gaussianBlur }

// Weights are passed as they are.
var _ [C.HR_BLUR_MOST/2 + 1]int16 = media.Taps{}

var blurRows = scratch.Pool{Brief: true}

// gaussianBlur does in place the effect of this name.
func gaussianBlur(s *media.Pass, p media.Pixels) media.Pixels {
	weights, reach := s.Effect.Taps(&s.Args)
	if reach == 0 {
		return p
	}
	w := C.hr_blur_weights{reach: C.int(reach)}
	for i, v := range weights {
		w.at[i] = C.int16_t(v)
	}
	channels, width, height := C.int(p.Color.Channels()), C.int(p.Width), C.int(p.Height)
	rows := blurRows.Take(2 * int(C.hr_blur_scratch(channels, width, height, w.reach)))
	defer blurRows.Give(rows)
	C.hr_blur_picture(level(), &w, (*C.uint8_t)(&p.Data[0]), channels, width, height, C.ptrdiff_t(p.Stride),
		(*C.int16_t)(unsafe.Pointer(unsafe.SliceData(*rows))))
	return p
}
