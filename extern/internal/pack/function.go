package pack

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"headrace/extern/internal/links"
	"headrace/extern/internal/shared"
	"headrace/sample"
)

// Function is what packs know of the function that they are for, and have learnt of it.
type Function struct {
	Stage     string
	Kind      Kind
	In, Gives sample.Schema
	Copies    bool // it is given copies, because it may keep them
	Limit     time.Duration
	Number    int // among the pools of its workers
	Heap      *shared.Heap
	Spaces    *shared.Spaces
	Chain     links.Chain

	BytesIn, BytesOut atomic.Int64
	largest           []atomic.Int64 // by output: bytes of the largest result so far
}

// Init makes it ready, once its exported fields are set.
func (fn *Function) Init() { fn.largest = make([]atomic.Int64, len(fn.Gives)) }

// room is memory for a result, and where it is: what a caller wants it written into,
// else a piece of the heap. There is none where the result comes with the message, as
// small ones do, and is copied here.
func (fn *Function) room(c *Call, f int) (r room, at uint64, in *shared.Space) {
	if f < len(c.Room) && c.Room[f] != nil {
		if len(c.Room[f]) <= inlineMost {
			return room{}, 0, nil
		}
		if at, in = fn.Spaces.Find(c.Room[f]); in != nil {
			return room{memory: c.Room[f]}, at, in
		}
	}
	n := fn.expected(f)
	if n <= RoomLeast {
		return room{}, 0, nil
	}
	r = room{memory: fn.Heap.Take(n), own: true}
	if at, in = fn.Spaces.Find(r.memory); in == nil {
		return room{}, 0, nil // the heap is full, and this is Go's
	}
	return r, at, in
}

// expected is the number of bytes that a result will have; where that is not known, the
// most that it had.
func (fn *Function) expected(f int) int {
	t := fn.Gives[f].Type
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
func (fn *Function) note(f int, bytes int64) {
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

// HasArrays tells whether the function is known to take arrays, or to give some.
func (fn *Function) HasArrays() bool {
	return slices.ContainsFunc(slices.Concat(fn.In, fn.Gives), func(f sample.Field) bool {
		return f.Type.Kind == sample.Tensor && len(f.Type.Shape) > 0
	})
}

// Ahead is how many bytes the worker of a stream may have filled at most that yield has
// not returned for: those of several samples where they travel with messages, and of one
// where they do not, for a worker that asks for memory is not answered before yield has
// returned for all that it sent.
func (fn *Function) Ahead() int64 {
	small, large := 0, 0
	for f := range fn.Gives {
		n := fn.expected(f)
		if n > inlineMost {
			large += n
		}
		if n <= inlineMost || !fn.Gives[f].Type.Fixed() { // others may be smaller
			small += min(n, inlineMost)
		}
	}
	return int64((streamCredit+1)*aheadSamples*small + large)
}
