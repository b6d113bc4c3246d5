//go:build cgo

package ffmpeg

// #cgo CFLAGS: -O3
// #cgo noescape hr_floats
// #cgo nocallback hr_floats
// #cgo noescape hr_pairs
// #cgo nocallback hr_pairs
// #include "floats.h"
import "C"

import "unsafe"

// Floats writes the first samples as float32 from -1 to 1, those of all channels at one
// time side by side: as many as to has room for, which the frame must have.
func (s *Sound) Floats(to []float32) {
	each, kind := len(to)/len(s.Planes), C.int(s.Type)
	from := func(plane int) unsafe.Pointer {
		return unsafe.Pointer(unsafe.SliceData(s.Planes[plane][:each*s.Type.Bytes()]))
	}
	if len(s.Planes) == 2 { // which most of what is coded has
		C.hr_pairs((*C.float)(unsafe.SliceData(to)), from(0), from(1), C.size_t(each), kind)
		return
	}
	for c := range s.Planes {
		C.hr_floats((*C.float)(unsafe.SliceData(to[c:])), C.size_t(len(s.Planes)), from(c), C.size_t(each), kind)
	}
}
