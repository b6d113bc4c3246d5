package serve

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/wire"
)

// resultMemory is the shared memory for a session's results, which may have any size: a
// pool of slots for each power of two. Pages that were never written cost nothing.
type resultMemory struct {
	announce func(arena.Segment) error
	pools    [largestClass + 1]*arena.Arena // by class; nil: not needed yet
	pool     map[uint32]*arena.Arena        // by segment
	segments uint32                         // the next one's number

	poolBytes int // of a pool with several slots
}

const (
	smallestClass = 16 // 64 KiB
	largestClass  = 40 // 1 TiB, more than any machine would give
	mostSlots     = 64
	leastSlots    = 2 // one that the client holds, and one for what it copies
)

// reserve returns a slot of at least n bytes. It never waits: with the last slot of a
// pool the client is told to copy, and a client that does not gets extra slots.
func (m *resultMemory) reserve(ctx context.Context, n int64) (*arena.Slot, error) {
	p, err := m.of(n)
	if err != nil {
		return nil, err
	}
	p.SetWaiting(true)
	return p.Reserve(ctx)
}

// spare is reserve if a pool has a free slot; nil: it has none.
func (m *resultMemory) spare(ctx context.Context, n int64) (*arena.Slot, error) {
	p, err := m.of(n)
	if err != nil || p.Stats().Free == 0 {
		return nil, err
	}
	return p.Reserve(ctx)
}

// of returns the pool of slots of at least n bytes.
func (m *resultMemory) of(n int64) (*arena.Arena, error) {
	class := max(smallestClass, bits.Len64(uint64(max(n, 1)-1)))
	if class > largestClass {
		return nil, coded(wire.CodeMemory, fmt.Errorf("serve: a result of %d bytes", n))
	}
	if m.pools[class] == nil {
		p, err := m.open(1 << class)
		if err != nil {
			return nil, err
		}
		m.pools[class] = p
	}
	return m.pools[class], nil
}

func (m *resultMemory) open(size int) (p *arena.Arena, err error) {
	p, err = arena.New(arena.Options{
		Slots:     max(leastSlots, min(mostSlots, m.poolBytes/size)),
		SlotBytes: size,
		ID:        func() uint32 { m.segments++; return m.segments - 1 },
		Announce: func(g arena.Segment) error {
			if m.pool == nil {
				m.pool = map[uint32]*arena.Arena{}
			}
			m.pool[g.ID] = p
			return m.announce(g)
		},
	})
	return p, err
}

// isLast reports whether the slot's pool has no other free slot.
func (m *resultMemory) isLast(slot *arena.Slot) bool {
	return !slot.Pooled() || m.pool[slot.Segment()].Stats().Free == 0
}

// release takes back a slot that the client held.
func (m *resultMemory) release(slot wire.Slot) error {
	p := m.pool[slot.Segment]
	if p == nil {
		return fmt.Errorf("serve: slot %d of segment %d: %w", slot.Slot, slot.Segment, arena.ErrNotLeased)
	}
	return p.Release(slot.Segment, slot.Slot)
}

func (m *resultMemory) close() {
	for _, p := range m.pools {
		if p != nil {
			p.Close()
		}
	}
}
