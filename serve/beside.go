package serve

import (
	"context"
	"fmt"
	"sync"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/wire"
)

// beside is memory for the texts, objects and ragged fields of a session's batches, which
// their slots have not. Sent in the frame, they would be copied into the kernel and out
// of it.
type beside struct {
	mu     sync.Mutex // the pump reserves, and the session's reader releases
	memory resultMemory
}

const (
	leastBeside = 16 << 10 // bytes that are worth a slot, and that the client hears of one more thing to give back
	mostBeside  = 32 << 20 // so that little memory is kept for the next large one
	firstBeside = 1 << 31  // the number of its first segment: those of batches count from 0
	besidePools = 16 << 20 // bytes of a pool of slots of one size
)

func newBeside(announce func(arena.Segment) error) *beside {
	return &beside{memory: resultMemory{announce: announce, segments: firstBeside, poolBytes: besidePools}}
}

// reserve returns a slot for so many bytes; nil: they travel in the frame.
func (b *beside) reserve(ctx context.Context, n int) *arena.Slot {
	if n < leastBeside || n > mostBeside {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	slot, err := b.memory.spare(ctx, int64(n))
	if err != nil {
		return nil // such as no descriptor for it; the frame needs none
	}
	return slot
}

// put writes a batch's texts into a slot, which becomes the client's, and names it in the
// frame.
func (b *beside) put(slot *arena.Slot, frame *wire.Batch) error {
	n := len(frame.AppendText(slot.Bytes()[:0]))
	frame.Beside = &wire.Beside{Slot: wire.Slot{Segment: slot.Segment(), Slot: slot.Index()}, Bytes: uint32(n)}
	if err := slot.Seal(); err != nil {
		return err
	}
	return slot.Send()
}

// release takes back a slot that the client has read.
func (b *beside) release(slot wire.Slot) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.memory.release(slot)
}

func (b *beside) close() { b.memory.close() }

// release takes a slot of either kind back.
func (s *session) release(slot wire.Slot) error {
	var err error
	if slot.Segment >= firstBeside {
		err = s.beside.release(slot)
	} else {
		err = s.loader.Release(slot.Segment, slot.Slot)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", wire.ErrProtocol, err)
	}
	return nil
}
