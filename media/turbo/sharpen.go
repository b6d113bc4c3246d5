//go:build cgo

package turbo

// #cgo noescape hr_sharpen_picture
// #cgo nocallback hr_sharpen_picture
// #include "sharpen.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
	"github.com/headrace/headrace/media"
)

func init() { kernels["adjust_sharpness"] = sharpen }

var sharpenRows = scratch.Pool{Brief: true}

// sharpen does in place the effect adjust_sharpness.
func sharpen(s *media.Pass, p media.Pixels) media.Pixels {
	channels := p.Color.Channels()
	rows := sharpenRows.Take(3 * channels * p.Width)
	defer sharpenRows.Give(rows)
	C.hr_sharpen_picture(level(), C.float(s.Args[0]), (*C.uint8_t)(&p.Data[0]), C.int(channels), C.int(p.Width), C.int(p.Height),
		C.ptrdiff_t(p.Stride), (*C.uint8_t)(unsafe.SliceData(*rows)))
	return p
}
