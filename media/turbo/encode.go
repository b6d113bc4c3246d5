//go:build cgo

package turbo

// #cgo noescape hr_encode
// #cgo nocallback hr_encode
// #include "encode.h"
// #include "memory.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/media"
)

func init() { media.RegisterEncoder(media.JPEG, Encoder{}) }

// Encoder writes JPEG with libjpeg-turbo. It implements media.Encoder.
type Encoder struct{}

// Name returns "libjpeg-turbo".
func (Encoder) Name() string { return "libjpeg-turbo" }

// AppendEncoded implements media.Encoder.
func (Encoder) AppendEncoded(dst []byte, p media.Pixels, o media.EncodeOptions) ([]byte, error) {
	picture := C.hr_picture{width: C.int32_t(p.Width), height: C.int32_t(p.Height), channels: C.int32_t(p.Color.Channels()),
		quality: C.int32_t(o.Quality), across: 1, down: 1}
	switch o.Subsampling {
	case "4:2:0":
		picture.across, picture.down = 2, 2
	case "4:2:2":
		picture.across = 2
	}
	if o.Progressive {
		picture.progressive = 1
	}
	var file C.hr_file
	status := C.hr_encode(&picture, pointer(p.Data), C.ptrdiff_t(p.Stride), &file)
	defer C.hr_release(unsafe.Pointer(file.data))
	switch status {
	case C.HR_OK:
		return append(dst, unsafe.Slice((*byte)(file.data), int(file.size))...), nil
	case C.HR_MEMORY:
		return nil, media.ErrMemory
	}
	return nil, fmt.Errorf("%w: encoding JPEG: libjpeg: %s", media.ErrUnsupported, C.GoString(&file.message[0]))
}
