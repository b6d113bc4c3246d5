package pack

import (
	"encoding/binary"
	"fmt"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/sample"
	"unsafe"
)

// What travels how: values of up to so many bytes go with the message, larger ones by the
// place where they are.
const (
	inlineMost = 4 << 10
	copyMost   = 16 << 10 // so much is copied into the message where it is not in shared memory; more is copied into the heap
	RoomLeast  = 16 << 10 // results beyond it are written into memory that was reserved
)

// sharedValue is an input in memory that the worker shares, so its function could change
// it.
type sharedValue struct {
	item int
	size int
	own  []byte // of the sample, for which there is a copy; nil: it was lent a copy already
}

// room is memory for a result. If own is set, it was taken from the heap here.
type room struct {
	memory []byte
	own    bool
}

// grant is memory that the worker has asked for.
type grant struct {
	item, field int
	memory      []byte
}

func word(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// A worker may be ahead of a stream's reader by so many messages with results, and one
// that it gathers meanwhile, of so many samples at most: _AHEAD in
// python/src/headrace/_worker/streams.py means the same.
const (
	streamCredit = 2
	aheadSamples = 16
)

func aligned(n int) int { return (n + shared.Align - 1) &^ (shared.Align - 1) }

// placed returns the caller's memory for a result of a stream and its place, or nil if
// the caller has none that the worker can write to.
func (k *Pack) placed(item, field, n int) (memory []byte, at uint64, err error) {
	if !k.single { // the first call may have come back
		return nil, 0, nil
	}
	j := k.tasks[0]
	if j.Yield == nil || j.Call.Place == nil || j.Err != nil || j.Ctx.Err() != nil {
		return nil, 0, nil
	}
	memory = j.Call.Place(item, field)
	at, in := k.of.Spaces.Find(memory)
	if in == nil || len(memory) != n {
		return nil, 0, nil
	}
	return memory, at, k.Conn.Announce([]uint64{in.Number}, k.of.Spaces)
}

// allArrays is the field number of an offer that is for all arrays.
const allArrays = -1

// within reports whether b begins in memory.
func within(memory, b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
	return len(memory) > 0 && at < uintptr(len(memory))
}

func tooLarge(f sample.Field, bytes, room int) error {
	return &message.CallError{Type: "ValueError", Field: f.Name,
		Message: fmt.Sprintf("field %q has %d bytes, and there is room for %d", f.Name, bytes, room)}
}
