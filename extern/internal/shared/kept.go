package shared

import (
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/internal/byref"
)

// kept holds the objects of the program that the numbers in pieces stand for.
type kept struct {
	some atomic.Int64 // pieces
	mu   sync.Mutex
	by   map[int64]byref.List // by the offset of the piece; guarded by mu
}

// Keep keeps objects until the piece that b begins is given back.
func (h *Heap) Keep(b []byte, all byref.List) {
	at, ok := h.Offset(b)
	if len(all) == 0 || !ok {
		return // a piece that is not the heap's is never given back: they stay as long as the program's threads
	}
	k := &h.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[int64]byref.List{}
	}
	if _, had := k.by[at]; !had {
		k.some.Add(1)
	}
	k.by[at] = append(k.by[at], all...)
}

// Kept returns the objects kept for the piece that b begins, counted once more.
func (h *Heap) Kept(b []byte) byref.List {
	k := &h.kept
	if k.some.Load() == 0 {
		return nil
	}
	at, ok := h.Offset(b)
	if !ok {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by[at].Share()
}

// Keeps reports whether objects are kept for the piece that b begins.
func (h *Heap) Keeps(b []byte) bool {
	all := h.Kept(b)
	defer all.Leave()
	return len(all) > 0
}

// leave lets go of the objects kept for the piece at an offset.
func (k *kept) leave(at int64) {
	if k.some.Load() == 0 {
		return
	}
	k.mu.Lock()
	all, had := k.by[at]
	if had {
		delete(k.by, at)
		k.some.Add(-1)
	}
	k.mu.Unlock()
	all.Leave()
}
