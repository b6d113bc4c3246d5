//go:build cgo

package jpeg

// #include <stddef.h>
// #include <stdlib.h>
// #include "alone.h"
import "C"

import (
	"unsafe"

	"github.com/headrace/headrace/media/turbo"
)

// alone decodes a whole image to RGB with nothing to fall back on. Tests use it to see
// that pixels are this package's own.
func alone(src []byte, kernels string) (rgb []byte, ok bool) {
	var h header
	if !h.read(src) {
		return nil, false
	}
	rgb = make([]byte, int(h.c.width)*int(h.c.height)*3)
	name := C.CString(kernels)
	defer C.free(unsafe.Pointer(name))
	ok = C.hj_alone(&h.c, name, (*C.uint8_t)(&src[0]), C.size_t(len(src)), (*C.uint8_t)(&rgb[0])) != 0
	return rgb, ok
}

// PassOver decodes the entropy-coded data of an image and throws them away, to measure
// how long that takes. It reports whether the image is one that this package decodes.
func PassOver(src []byte) bool {
	h := headers.Get().(*header)
	defer headers.Put(h)
	name := C.CString(turbo.Decoder{}.Kernels())
	defer C.free(unsafe.Pointer(name))
	return h.read(src) && C.hj_alone(&h.c, name, (*C.uint8_t)(unsafe.SliceData(src)), C.size_t(len(src)), nil) != 0
}

// alonePlanes decodes the planes at so many eighths of the size.
func alonePlanes(src []byte, kernels string, eighths int) (samples []byte, ok bool) {
	h := headers.Get().(*header)
	defer headers.Put(h)
	if !h.read(src) {
		return nil, false
	}
	name := C.CString(kernels)
	defer C.free(unsafe.Pointer(name))
	most := (int(h.c.width) + 64) * (int(h.c.height) + 64) * 10
	samples = make([]byte, most)
	n := C.hj_alone_planes(&h.c, name, C.int(eighths), (*C.uint8_t)(unsafe.SliceData(src)),
		C.size_t(len(src)), (*C.uint8_t)(unsafe.SliceData(samples)))
	if n < 0 {
		return nil, false
	}
	return samples[:n], true
}
