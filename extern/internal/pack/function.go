package pack

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/chain"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/sample"
)

// Function describes the function that packs are for, and holds statistics about it.
type Function struct {
	Stage     string
	Kind      Kind
	In, Gives sample.Schema
	Copies    bool // it is given copies, because it may keep them
	Limit     time.Duration
	Number    int // among the pools of its workers
	Heap      *shared.Heap
	Spaces    *shared.Spaces
	Chain     chain.Chain
	LetGo     func(number uint64) // of the program, which keeps objects; nil: no thread of it calls

	BytesIn, BytesOut atomic.Int64
	largest           []atomic.Int64 // by output: bytes of the largest result so far
}

// Init prepares the function once its exported fields are set.
func (fn *Function) Init() { fn.largest = make([]atomic.Int64, len(fn.Gives)) }

// room returns memory for a result and its place: the caller's own memory if it has some,
// or else a piece of the heap. It returns none for small results, which come with the
// message and are copied here.
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

// expected returns the number of bytes of a result, or the largest so far if the type
// does not fix it.
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

// noteSize remembers the largest size of a result.
func (fn *Function) noteSize(f int, bytes int64) {
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

// HasArrays reports whether the function is known to take or return arrays.
func (fn *Function) HasArrays() bool {
	return slices.ContainsFunc(slices.Concat(fn.In, fn.Gives), func(f sample.Field) bool {
		return f.Type.Kind == sample.Tensor && len(f.Type.Shape) > 0
	})
}

// Ahead returns the largest number of bytes that a stream's worker may have filled before
// yield has returned for them. Small samples travel with messages, so there may be
// several; of large ones there is one, because a worker that asks for memory is answered
// only after yield has returned for all it sent.
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
