package serve

import (
	"context"
	"fmt"
	"math/bits"

	"headrace/arena"
	"headrace/wire"
)

// shelf is the shared memory of a session whose results have any size: a pool of slots
// for each power of two. Pages that nothing was written to cost nothing.
type shelf struct {
	announce func(arena.Segment) error
	pools    [largestClass + 1]*arena.Arena // by class; nil: not needed yet
	pool     map[uint32]*arena.Arena        // by segment
	segments uint32                         // made so far: the next one's number
}

const (
	smallestClass = 16 // 64 KiB
	largestClass  = 40 // 1 TiB, more than any machine would give
	poolBytes     = 64 << 20
	mostSlots     = 64
	leastSlots    = 2 // one that the client holds, and one for what it copies
)

// reserve returns a slot of n bytes or more. It never waits: a client that holds all
// slots of a pool has been told with each to copy instead, and one that does not gets
// slots of their own.
func (h *shelf) reserve(ctx context.Context, n int64) (*arena.Slot, error) {
	class := max(smallestClass, bits.Len64(uint64(max(n, 1)-1)))
	if class > largestClass {
		return nil, coded(wire.CodeMemory, fmt.Errorf("serve: a result of %d bytes", n))
	}
	p := h.pools[class]
	if p == nil {
		var err error
		if p, err = h.open(1 << class); err != nil {
			return nil, err
		}
		h.pools[class] = p
	}
	p.SetWaiting(true)
	return p.Reserve(ctx)
}

func (h *shelf) open(size int) (p *arena.Arena, err error) {
	p, err = arena.New(arena.Options{
		Slots:     max(leastSlots, min(mostSlots, poolBytes/size)),
		SlotBytes: size,
		ID:        func() uint32 { h.segments++; return h.segments - 1 },
		Announce: func(g arena.Segment) error {
			if h.pool == nil {
				h.pool = map[uint32]*arena.Arena{}
			}
			h.pool[g.ID] = p
			return h.announce(g)
		},
	})
	return p, err
}

// isLast reports whether no other slot is free where this one is from.
func (h *shelf) isLast(slot *arena.Slot) bool {
	return !slot.Pooled() || h.pool[slot.Segment()].Stats().Free == 0
}

// release takes back a slot that the client held.
func (h *shelf) release(slot wire.Slot) error {
	p := h.pool[slot.Segment]
	if p == nil {
		return fmt.Errorf("serve: slot %d of segment %d: %w", slot.Slot, slot.Segment, arena.ErrNotLeased)
	}
	return p.Release(slot.Segment, slot.Slot)
}

func (h *shelf) close() {
	for _, p := range h.pools {
		if p != nil {
			p.Close()
		}
	}
}
