package arena

import (
	"errors"
	"fmt"
)

// ErrNotLeased is wrapped by the error of a release that names no slot the consumer
// holds.
var ErrNotLeased = errors.New("not leased to the consumer")

// HeldError says that the consumer holds as much as it may and waits for more.
type HeldError struct {
	Count int   // batches it holds
	Bytes int64 // of these
	Limit int64 // what it may hold
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("arena: the consumer holds %d batches of %d bytes together and may hold %d bytes: "+
		"let go of batches, copy what you keep, or raise hold_limit", e.Count, e.Bytes, e.Limit)
}

// held describes what the consumer holds.
func (a *Arena) held() error {
	return &HeldError{Count: a.heldSlots(), Bytes: a.heldBytes(), Limit: a.holdLimit}
}

func (a *Arena) heldSlots() int { return a.count[leased] + a.count[taken] }

func (a *Arena) heldBytes() int64 { return int64(a.heldSlots())*int64(a.slotBytes) + a.beyond }

// ErrMemory is wrapped by every [RefusedError].
var ErrMemory = errors.New("no shared memory")

// RefusedError says that the system gave no memory, and what to do about it. It wraps
// ErrMemory and the system's error.
type RefusedError struct {
	Call   string // the system call that failed
	Bytes  int64  // of the segment
	Remedy string // may be empty
	Err    error
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("arena: %v of %d bytes: %s: %v", ErrMemory, e.Bytes, e.Call, e.Err)
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	return text
}

func (e *RefusedError) Unwrap() []error { return []error{ErrMemory, e.Err} }

// StateError says that a slot is not in a state that allows what was asked of it: a
// mistake in the program.
type StateError struct {
	Verb    string // what was asked
	Segment uint32
	Slot    uint32
	State   string
}

func (e *StateError) Error() string {
	return fmt.Sprintf("arena: cannot %s slot %d of segment %d: it is %s", e.Verb, e.Slot, e.Segment, e.State)
}

// CorruptError says that a slot was written where or when it must not be. Only builds
// with the tag headrace_debug look.
type CorruptError struct {
	Segment uint32
	Slot    uint32
	Offset  int    // the first wrong byte, from the slot's start
	When    string // when it was found
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("arena: slot %d of segment %d: byte %d was found overwritten when it was %s", e.Slot, e.Segment, e.Offset, e.When)
}
