//go:build cgo

package ffmpeg

// #include <stdlib.h>
// #include "load.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/video"
)

// RawFrame implements raw frames of package video.
func (videoLibrary) RawFrame(r *video.Raw) (bytes int64, tag string, err error) {
	lib, err := opened()
	if err != nil {
		return 0, "", err
	}
	const longest = 31 // of the names that FFmpeg has
	if len(r.Format) > longest {
		return 0, "", fmt.Errorf("%w: there is no pixel format %.40q", media.ErrUnsupported, r.Format)
	}
	name := C.CString(r.Format)
	defer C.free(unsafe.Pointer(name))
	var number C.uint32_t
	var text [C.HR_AV_TEXT]C.char
	n := C.hr_av_raw_picture(lib.c, name, C.int32_t(r.Width), C.int32_t(r.Height), &number, &text[0])
	if n < 0 {
		return 0, "", failure(C.int(n), &text)
	}
	const most = 1 << 30 // of a packet
	if n > most {
		return 0, "", fmt.Errorf("%w: raw frames of %d bytes", media.ErrUnsupported, int64(n))
	}
	return int64(n), string(binary.LittleEndian.AppendUint32(nil, uint32(number))), nil
}
