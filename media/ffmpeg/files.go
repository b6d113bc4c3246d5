//go:build cgo

package ffmpeg

// #include <stdlib.h>
// #include "load.h"
import "C"

import "unsafe"

// OpensNoFiles returns an error if options, as they are given to a filter, an encoder or
// a container, may have FFmpeg open files. What FFmpeg does not know opens none.
func OpensNoFiles(of OptionsOf, name, options string) error {
	lib, err := opened()
	if err != nil {
		return err
	}
	c := [2]*C.char{C.CString(name), C.CString(options)}
	defer C.free(unsafe.Pointer(c[0]))
	defer C.free(unsafe.Pointer(c[1]))
	var text [C.HR_AV_TEXT]C.char
	if result := C.hr_av_files(lib.c, C.int32_t(of), c[0], c[1], &text[0]); result < 0 {
		return failure(result, &text)
	}
	return nil
}
