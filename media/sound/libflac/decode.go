//go:build cgo

package libflac

// #cgo CFLAGS: -O3 -Wall -Wextra
// #cgo LDFLAGS: -lFLAC
// #cgo noescape hr_flac_open
// #cgo nocallback hr_flac_open
// #cgo noescape hr_flac_decode
// #cgo nocallback hr_flac_decode
// #cgo nocallback hr_flac_close
// #include "decode.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/sound/flac"
)

// Name is that of the library and its version, as in "libFLAC-1.4.2".
func Name() string { return "libFLAC-" + C.GoString(C.hr_flac_version()) }

func init() { flac.Use(func(f *flac.File) (flac.Decoder, error) { return newDecoder(f) }) }

// decoder implements [flac.Decoder].
type decoder struct {
	c        *C.hr_flac
	channels int
}

func newDecoder(f *flac.File) (*decoder, error) {
	c := C.hr_flac_open((*C.uint8_t)(unsafe.SliceData(f.Config[:flac.ConfigSize])))
	if c == nil {
		return nil, media.ErrMemory
	}
	return &decoder{c, f.Channels}, nil
}

// Decode implements [flac.Decoder].
func (d *decoder) Decode(to []float32, frame []byte) error {
	wrong := C.hr_flac_decode(d.c, (*C.uint8_t)(unsafe.SliceData(frame)), C.size_t(len(frame)),
		(*C.float)(unsafe.SliceData(to)), C.size_t(len(to)/d.channels))
	switch wrong {
	case nil:
		return nil
	case C.hr_flac_memory:
		return media.ErrMemory
	}
	return fmt.Errorf("%w: %s", media.ErrCorrupt, C.GoString(wrong))
}

// Close implements [flac.Decoder].
func (d *decoder) Close() {
	if d.c != nil {
		C.hr_flac_close(d.c)
	}
	d.c = nil
}
