package extern

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"headrace/extern/internal/links"
	"headrace/extern/internal/shared"
	"headrace/sample"
)

// function is what packs know of the function that they are for, and have learnt of it.
type function struct {
	stage     string
	kind      Kind
	in, gives sample.Schema
	copies    bool // it is given copies, because it may keep them
	limit     time.Duration
	number    int // among the pools of its workers
	heap      *Heap
	spaces    *shared.Spaces
	chain     links.Chain

	bytesIn, bytesOut atomic.Int64
	largest           []atomic.Int64 // by output: bytes of the largest result so far
}

// room is memory for a result, and where it is: what a caller wants it written into,
// else a piece of the heap. There is none where the result comes with the message, as
// small ones do, and is copied here.
func (fn *function) room(c *Call, f int) (r room, at uint64, in *shared.Space) {
	if f < len(c.Room) && c.Room[f] != nil {
		if len(c.Room[f]) <= inlineMost {
			return room{}, 0, nil
		}
		if at, in = fn.spaces.Find(c.Room[f]); in != nil {
			return room{memory: c.Room[f]}, at, in
		}
	}
	n := fn.expected(f)
	if n <= roomLeast {
		return room{}, 0, nil
	}
	r = room{memory: fn.heap.Take(n), own: true}
	if at, in = fn.spaces.Find(r.memory); in == nil {
		return room{}, 0, nil // the heap is full, and this is Go's
	}
	return r, at, in
}

// expected is the number of bytes that a result will have; where that is not known, the
// most that it had.
func (fn *function) expected(f int) int {
	t := fn.gives[f].Type
	if t.Fixed() {
		n, err := t.Shape.Bytes(t.DType)
		if err != nil || n > math.MaxInt32 {
			return 0
		}
		return int(n)
	}
	return int(fn.largest[f].Load())
}

// note remembers how large a result was.
func (fn *function) note(f int, bytes int64) {
	if f >= len(fn.largest) {
		return
	}
	for most := &fn.largest[f]; ; {
		old := most.Load()
		if bytes <= old || most.CompareAndSwap(old, bytes) {
			return
		}
	}
}

// hasArrays tells whether the function is known to take arrays, or to give some.
func (fn *function) hasArrays() bool {
	return slices.ContainsFunc(slices.Concat(fn.in, fn.gives), func(f sample.Field) bool {
		return f.Type.Kind == sample.Tensor && len(f.Type.Shape) > 0
	})
}
