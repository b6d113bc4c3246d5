package arena

import (
	"context"
	"os"
	"sync/atomic"

	"github.com/headrace/headrace/budget"
)

// segment is a piece of shared memory, mapped.
type segment struct {
	id     uint32
	pooled bool
	grown  bool // for a slot that did not fit
	memory []byte
	cells  []cell
}

// cell is a slot's place, where one life after another is lived.
type cell struct {
	segment *segment
	index   uint32
	bytes   []byte // the slot's
	beyond  []byte // what follows them, for the canary; empty unless guards are compiled in

	state  state
	serial uint64 // which life this is, from 0

	place *cell        // of a slot that has grown: the one that it replaces
	grant budget.Grant // likewise: its bytes
}

// home is the slot that Reserve gave.
func (c *cell) home() *cell {
	if c.place != nil {
		return c.place
	}
	return c
}

// charge counts the bytes of a slot that has grown. Its lane has nobody who could be
// waited for, so this does not wait.
func (c *cell) charge(a *Arena) {
	if a.lane == nil {
		return
	}
	c.grant, _ = a.lane.Acquire(context.Background(), 0, Purpose, int64(len(c.bytes)))
	c.grant.Park()
}

// live counts the segments of this process.
var live atomic.Int64

// Live is the number of segments that are mapped in this process, over all arenas: what
// tests compare before and after.
func Live() int { return int(live.Load()) }

var pageSize = int64(os.Getpagesize())

// Stride is the distance of slots of so many bytes, which is what one takes of a
// budget: whole pages, so that no two processes ever write the same page, and every
// slot is aligned for any use.
func Stride(slotBytes int) int64 {
	n := int64(slotBytes) + guardBytes
	return (n + pageSize - 1) / pageSize * pageSize
}

// newSegment maps a new segment and returns its descriptor beside it.
func newSegment(name string, id uint32, slots, slotBytes int) (*segment, int, error) {
	memory, fd, err := mapShared(name, int64(slots)*Stride(slotBytes))
	if err != nil {
		return nil, -1, err
	}
	live.Add(1)
	s := &segment{id: id, memory: memory, cells: make([]cell, slots)}
	for i := range s.cells {
		from := i * int(Stride(slotBytes))
		to := from + slotBytes
		s.cells[i] = cell{segment: s, index: uint32(i), bytes: memory[from:to:to], beyond: memory[to : to+guardBytes : to+guardBytes]}
		s.cells[i].setCanary()
	}
	return s, fd, nil
}

func (s *segment) unmap() {
	unmapShared(s.memory)
	live.Add(-1)
}
