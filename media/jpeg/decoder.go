//go:build cgo

package jpeg

// #cgo CFLAGS: -O3 -std=gnu11
// #include "front.h"
import "C"

import (
	"os"
	"sync"
	"unsafe"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/turbo"
)

func init() {
	if os.Getenv("HEADRACE_JPEG") != "turbo" {
		media.Register(media.JPEG, Decoder{})
	}
}

// Decoder decodes JPEG. Importing this package registers it, unless HEADRACE_JPEG is
// "turbo" in the environment. It implements media.Decoder.
type Decoder struct{}

// Name returns that of the decoder whose pixels these are, which is media/turbo's, and
// this one's own after a plus, as in "libjpeg-turbo-2.1.5+headrace-1".
func (Decoder) Name() string { return turbo.Decoder{}.Name() + "+headrace-1" }

// InPlaceOf returns the decoder that this one is registered instead of, for
// media.Options.Library.
func (Decoder) InPlaceOf() media.Decoder { return turbo.Decoder{} }

// Kernels names the set of instructions that works on pixels on this machine.
func (Decoder) Kernels() string { return turbo.Decoder{}.Kernels() }

// DecodeInto implements media.Decoder.
func (d Decoder) DecodeInto(dst []byte, stride int, src []byte, info *media.Info, plan *media.Plan) error {
	if !turbo.Usual(plan) {
		info := *info // moves to the heap, the caller's does not have to
		return others.DecodeInto(dst, stride, src, &info, plan)
	}
	h := headers.Get().(*header)
	defer headers.Put(h)
	var front turbo.Front
	if h.read(src) && int(h.c.width) == info.Width && int(h.c.height) == info.Height {
		front = turbo.Front{Functions: C.hj_front(), Header: unsafe.Pointer(&h.c)}
	}
	return turbo.DecodeBy(front, dst, stride, src, info, plan)
}

// others decodes images to other forms than RGB of 8 bits.
var others = turbo.Whole(Decoder{})

var headers = sync.Pool{New: func() any { return new(header) }}
