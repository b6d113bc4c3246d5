//go:build cgo

package turbo

// #include "decode.h"
// #include "frame.h"
// #include "memory.h"
import "C"

import (
	"sync"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/internal/resample"
)

// handle is a decoder of the C side with what Go keeps for it. One goroutine at a time
// uses it.
type handle struct {
	c                *C.hr_decoder
	job              C.hr_job
	x, y             resample.Table
	chromaX, chromaY resample.Table
	frames           frames
	prepared         *prepared // on its own, as C is given its address
}

// idle are the handles that nobody uses, the one used last on top, since its memory is
// the warmest.
var idle struct {
	mu   sync.Mutex
	list []*handle
}

func borrow() (*handle, error) {
	idle.mu.Lock()
	if n := len(idle.list); n > 0 {
		h := idle.list[n-1]
		idle.list = idle.list[:n-1]
		idle.mu.Unlock()
		return h, nil
	}
	idle.mu.Unlock()
	c := C.hr_new()
	if c == nil {
		return nil, media.ErrMemory
	}
	return &handle{c: c, prepared: new(prepared)}, nil
}

func (h *handle) giveBack() {
	idle.mu.Lock()
	idle.list = append(idle.list, h)
	idle.mu.Unlock()
}

// freeIdle gives all memory back that no call uses.
func freeIdle() {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	for _, h := range idle.list {
		C.hr_free(h.c)
		C.hr_frame_free(h.frames.c)
	}
	idle.list = nil
}

// memory says what C memory all decoders have taken: pieces so far, pieces and bytes
// not given back.
func memory() (taken, live, bytes int) {
	m := C.hr_memory_now()
	return int(m.taken), int(m.live), int(m.bytes)
}
