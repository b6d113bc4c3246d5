package arena

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/headrace/headrace/budget"
)

// Options describe an arena. Slots and SlotBytes are required.
type Options struct {
	Slots     int // of the pool; fewer where Budget has no room for all, but at least one
	SlotBytes int // bytes of a slot
	// a batch in the making never needs another slot to be finished, and there may be
	// as many in the making as the pool has slots besides two
	Apart     bool
	HoldLimit int64          // bytes that the consumer may hold; 0: no limit
	Budget    *budget.Budget // where the pool is set aside; nil: nowhere
	// gives each segment a number; nil: they count from 0. For arenas whose segments
	// the same consumer has to tell apart
	ID       func() uint32
	Announce func(Segment) error // told of each segment before a slot in it is reserved; its error is Reserve's, and the segment goes
}

// Segment is a piece of shared memory that holds slots. Slot i begins at i × SlotBytes.
type Segment struct {
	ID        uint32
	FD        int    // the memfd; valid only while Announce runs: whoever needs it longer duplicates it
	Memory    []byte // as it is mapped here, until the arena lets go of the segment
	Pooled    bool   // whether it is the pool, which stays until Close
	Slots     int
	SlotBytes int64 // bytes from one slot to the next: Options.SlotBytes, or those of a slot that has grown, rounded up to whole pages
	Bytes     int64
}

// Purpose is what the pool is set aside for in the budget.
const Purpose budget.Purpose = "batches"

// ErrClosed is returned by operations on an arena that was closed.
var ErrClosed = errors.New("arena: closed")

// Arena is a pool of slots in shared memory, and the unpooled slots beside it.
type Arena struct {
	slots     int
	slotBytes int
	apart     bool
	holdLimit int64
	budget    *budget.Budget
	lane      *budget.Lane // of slots that have grown; nil: there is no budget
	announce  func(Segment) error
	id        func() uint32

	mu        sync.Mutex
	segments  map[uint32]*segment
	made      uint32 // segments made: the next one's ID, where id does not say another
	pool      *segment
	opening   bool        // the pool is being made
	free      []*cell     // of the pool, most recently freed last
	count     [states]int // slots in each state; of those in free only the pool's
	unpooled  int
	beyond    int64 // bytes that slots which the consumer holds have beyond slotBytes, because they have grown
	bytes     int64 // of all segments
	waiting   bool
	closed    bool
	reservers int           // that wait for changed
	changed   chan struct{} // closed when reservers should look again
}

// New returns an arena whose pool is not made yet. It fails where the options make no
// sense, and where the budget has no room for one slot.
func New(o Options) (*Arena, error) {
	switch {
	case o.Slots < 1 || o.Slots > math.MaxInt32:
		return nil, fmt.Errorf("arena: a pool of %d slots", o.Slots)
	case o.SlotBytes < 1:
		return nil, fmt.Errorf("arena: slots of %d bytes", o.SlotBytes)
	case o.HoldLimit < 0:
		return nil, fmt.Errorf("arena: a hold limit of %d bytes", o.HoldLimit)
	case int64(o.SlotBytes) > math.MaxInt64/2/int64(o.Slots): // half: room for rounding up
		return nil, fmt.Errorf("arena: %d slots of %d bytes exceed the address space", o.Slots, o.SlotBytes)
	}

	a := &Arena{
		slots:     o.Slots,
		slotBytes: o.SlotBytes,
		apart:     o.Apart,
		holdLimit: o.HoldLimit,
		budget:    o.Budget,
		announce:  o.Announce,
		id:        o.ID,
		segments:  map[uint32]*segment{},
		changed:   make(chan struct{}),
	}
	if a.holdLimit == 0 {
		a.holdLimit = math.MaxInt64
	}

	return a, a.setAside()
}

// setAside takes the pool's bytes from the budget, with as many slots as it has room for.
func (a *Arena) setAside() error {
	if a.budget == nil {
		return nil
	}
	a.lane = a.budget.Lane()
	a.slots = int(max(1, min(int64(a.slots), a.budget.Unreserved()/Stride(a.slotBytes))))
	if err := a.budget.Reserve(Purpose, a.poolBytes()); err != nil {
		return fmt.Errorf("arena: one batch of %d bytes: %w", a.slotBytes, err)
	}
	return nil
}

func (a *Arena) poolBytes() int64 { return int64(a.slots) * Stride(a.slotBytes) }

// SetWaiting tells whether the consumer waits and has nothing left to read. Handing it
// a batch, by Send or Take, ends its waiting.
func (a *Arena) SetWaiting(waiting bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting != waiting {
		a.waiting = waiting
		a.wake()
	}
}

// Waiting tells whether the consumer waits.
func (a *Arena) Waiting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting
}

// Release takes back a slot that was sent to the consumer. The names come from another
// process, so any pair of numbers is fine: an error that wraps [ErrNotLeased] is
// returned where they name no slot that it holds.
func (a *Arena) Release(segment, index uint32) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.segments[segment]
	if s == nil || index >= uint32(len(s.cells)) || s.cells[index].state != leased {
		return a.notLeased(segment, index)
	}
	return a.recycle(&s.cells[index])
}

func (a *Arena) notLeased(segment, index uint32) error {
	if a.closed {
		return ErrClosed
	}
	return fmt.Errorf("arena: slot %d of segment %d: %w", index, segment, ErrNotLeased)
}

// Close ends the arena: waiting reservers return ErrClosed, whatever fills, is sealed
// or leased is dropped, and the segments go. The consumer's own mappings stay valid. A
// segment with taken slots goes when the last of them is given back. Those who fill
// slots must have stopped.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	a.wake()
	if a.pool == nil {
		a.giveBack()
	}
	var errs []error
	for _, s := range a.segments {
		for i := range s.cells {
			if c := &s.cells[i]; c.state == filling || c.state == sealed || c.state == leased {
				errs = append(errs, a.recycle(c))
			}
		}
		a.unmapUnused(s)
	}
	return errors.Join(errs...)
}

// giveBack returns the pool's bytes to the budget.
func (a *Arena) giveBack() {
	if a.budget != nil {
		a.budget.Unreserve(Purpose, a.poolBytes())
	}
}

// move changes a slot's state, and keeps count.
func (a *Arena) move(c *cell, to state) {
	a.count[c.state]--
	a.count[to]++
	more := int64(len(c.bytes) - a.slotBytes)
	if c.state == leased || c.state == taken {
		a.beyond -= more
	}
	c.state = to
	if to == leased || to == taken {
		a.beyond += more
		a.waiting = false
	}
	a.wake()
}

// wake lets everyone look again who waits for a slot.
func (a *Arena) wake() {
	if a.reservers > 0 {
		close(a.changed)
		a.changed = make(chan struct{})
	}
}

// recycle makes a slot free that has come back from wherever it was. Its segment goes
// where nothing needs it any more.
func (a *Arena) recycle(c *cell) error {
	err := c.checkCanary("given back")
	if !a.closed || c.state != leased { // after Close, what the consumer holds stays as it is in the consumer's own mapping
		c.poison()
	}
	c.serial++ // handles of the life that ends are worth nothing now
	a.move(c, free)
	if c.segment.pooled {
		a.free = append(a.free, c)
	}
	place := c.place
	c.place = nil
	c.grant.Release()
	a.unmapUnused(c.segment)
	if place != nil {
		err = errors.Join(err, a.recycle(place))
	}
	return err
}

// unmapUnused lets go of a segment that has no use any more: an unpooled one with its
// slot, the pool's with the arena.
func (a *Arena) unmapUnused(s *segment) {
	if s.pooled && !a.closed {
		return
	}
	for i := range s.cells {
		if s.cells[i].state != free {
			return
		}
	}
	if a.segments[s.id] != s {
		return
	}
	delete(a.segments, s.id)
	a.count[free] -= len(s.cells)
	a.bytes -= int64(len(s.memory))
	if s.pooled {
		a.free = nil
		a.giveBack()
	} else if !s.grown {
		a.unpooled--
	}
	s.unmap()
}
