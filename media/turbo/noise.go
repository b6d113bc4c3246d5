//go:build cgo

package turbo

// #cgo noescape hr_noise_picture
// #cgo nocallback hr_noise_picture
// #include "noise.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/media"
)

func init() { kernels["gaussian_noise"] = gaussianNoise }

// gaussianNoise does in place the effect of this name.
func gaussianNoise(s *media.Pass, p media.Pixels) media.Pixels {
	all := s.Args.NoiseLevels()
	C.hr_noise_picture(level(), (*C.int16_t)(unsafe.Pointer(&all[0])), C.uint64_t(s.Args.NoiseSeed()), (*C.uint8_t)(&p.Data[0]),
		C.int(p.Color.Channels()), C.int(p.Width), C.int(p.Height), C.ptrdiff_t(p.Stride))
	return p
}
