//go:build cgo

package turbo

// #cgo noescape hr_mix_bytes
// #cgo nocallback hr_mix_bytes
// #cgo noescape hr_mix_floats
// #cgo nocallback hr_mix_floats
// #include "mix.h"
import "C"

import "unsafe"

// MixBytes implements media.Mixer.
func (Runner) MixBytes(to, a, b []byte, w int) {
	a, b = a[:len(to)], b[:len(to)]
	C.hr_mix_bytes(level(), (*C.uint8_t)(unsafe.SliceData(to)), (*C.uint8_t)(unsafe.SliceData(a)), (*C.uint8_t)(unsafe.SliceData(b)),
		C.int64_t(len(to)), C.int(w))
}

// MixFloats implements media.Mixer.
func (Runner) MixFloats(to, a, b []float32, w int) {
	a, b = a[:len(to)], b[:len(to)]
	C.hr_mix_floats(level(), (*C.float)(unsafe.SliceData(to)), (*C.float)(unsafe.SliceData(a)), (*C.float)(unsafe.SliceData(b)),
		C.int64_t(len(to)), C.float(float32(w)/256), C.float(float32(256-w)/256))
}
