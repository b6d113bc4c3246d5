//go:build cgo

package ffmpeg

// #include "load.h"
import "C"

import "runtime"

// owned is something of FFmpeg's, to which P is the pointer: nil before it is opened, and
// once it was given back.
type owned[P comparable] struct {
	lib   *C.hr_av
	c     P
	close func(*C.hr_av, P)
}

func (o *owned[P]) giveBack() {
	var none P
	if o.c != none {
		o.close(o.lib, o.c)
		o.c = none
	}
}

// handle has something of FFmpeg's given back: by Close, or when nobody knows its owner
// any more.
type handle[P comparable] struct {
	*owned[P]
	cleanup runtime.Cleanup
}

func newHandle[P comparable](lib library, close func(*C.hr_av, P)) handle[P] {
	return handle[P]{owned: &owned[P]{lib: lib.c, close: close}}
}

// ownedBy says whose it is, once it is open.
func ownedBy[O any, P comparable](owner *O, h *handle[P]) {
	h.cleanup = runtime.AddCleanup(owner, (*owned[P]).giveBack, h.owned)
}

// Close gives back what it holds. Files are the caller's.
func (h *handle[P]) Close() {
	h.cleanup.Stop()
	h.giveBack()
}
