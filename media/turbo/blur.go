//go:build cgo

package turbo

// #cgo noescape hr_blur_picture
// #cgo nocallback hr_blur_picture
// #include "blur.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/blur"
)

func init() { kernels["gaussian_blur"] = gaussianBlur }

// Weights are computed in Go, and passed as they are.
var (
	_ [C.HR_BLUR_MOST]byte    = [blur.Most]byte{}
	_ [C.HR_BLUR_BITS]byte    = [blur.Bits]byte{}
	_ [C.HR_BLUR_BETWEEN]byte = [blur.Between]byte{}
)

// gaussianBlur does in place the effect of this name.
func gaussianBlur(a *media.Args, p media.Pixels) media.Pixels {
	weights, reach := blur.Of(int(a[0]), a[1])
	if reach == 0 {
		return p
	}
	w := C.hr_blur_weights{reach: C.int(reach)}
	for i, v := range weights {
		w.at[i] = C.int16_t(v)
	}
	channels, width, height := C.int(p.Color.Channels()), C.int(p.Width), C.int(p.Height)
	scratch := blur.Take(int(C.hr_blur_scratch(channels, width, height, w.reach)))
	defer blur.Give(scratch)
	C.hr_blur_picture(level(), &w, (*C.uint8_t)(&p.Data[0]), channels, width, height, C.ptrdiff_t(p.Stride),
		(*C.int16_t)(unsafe.Pointer(unsafe.SliceData(*scratch))))
	return p
}
