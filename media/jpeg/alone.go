//go:build cgo

package jpeg

// #include <stddef.h>
// #include <stdlib.h>
// #include "alone.h"
import "C"

import "unsafe"

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
