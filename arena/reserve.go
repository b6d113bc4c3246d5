package arena

import (
	"context"
	"fmt"
	"time"
)

// patience is how long Reserve waits for batches in the making, with no slot moving,
// before it takes an unpooled slot although they may still be finished: long beside any
// batch of images, short beside a person's wondering.
const patience = time.Second

// Reserve returns a free slot to be filled, and waits for one where there is none. Its
// bytes are whatever was there before. Where the consumer waits while it holds all that
// could become free, the slot is an unpooled one, or the error a [HeldError], for as
// long as that holds true.
func (a *Arena) Reserve(ctx context.Context) (*Slot, error) {
	impatient := false
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}

		a.mu.Lock()
		o := a.outlook(impatient)
		switch o {
		case ended:
			a.mu.Unlock()
			return nil, ErrClosed
		case noPool:
			a.opening = true
			a.mu.Unlock()
			if err := a.openPool(); err != nil {
				return nil, err
			}
			continue
		case aSlot:
			defer a.mu.Unlock()
			return a.reservePooled()
		case noneToCome:
			a.expect()
			a.mu.Unlock()
			return a.reserveUnpooled()
		case tooManyHeld:
			defer a.mu.Unlock()
			return nil, a.held()
		}

		changed := a.changed
		a.reservers++
		a.mu.Unlock()
		impatient = await(ctx, changed, o)
		a.mu.Lock()
		a.reservers--
		a.mu.Unlock()
	}
}

// outlook is what the wait for a slot will be.
type outlook int

const (
	ended       outlook = iota // the arena is closed
	noPool                     // the pool is not made, and nobody is making it
	aSlot                      // a slot is free
	later                      // something will become free: whoever has it does not wait for us
	perhaps                    // nothing is free unless one of the batches in the making is finished without another slot
	noneToCome                 // the consumer waits and holds all that could become free
	tooManyHeld                // and may not hold more
)

// kept is how many slots of the pool are for batches that the consumer holds: while it
// asks for the next it has the last.
const kept = 2

// outlook decides whether to wait. While the consumer does not wait, or a sealed slot
// is on its way to it, slots will come back. When it waits, what could still reach it
// are the batches in the making. One may depend on the slot asked for: samples were
// lost, and its missing rows come from the next batch. With two or more that is so only
// if the next lost as much, so they get some time first: without it, a run whose
// consumer always waits would take unpooled slots, which cost page faults each, for as
// many batches as it has workers. Batches that are apart depend on no other slot, and
// arrive when they are finished: for those that the consumer holds there may be others,
// for those in the making not.
func (a *Arena) outlook(impatient bool) outlook {
	making := a.count[filling]
	fits := a.heldBytes()+int64(making+1)*int64(a.slotBytes) <= a.holdLimit
	switch {
	case a.closed:
		return ended
	case a.opening:
		return later
	case a.pool == nil:
		return noPool
	case len(a.free) > 0:
		return aSlot
	case !a.waiting || a.count[sealed] > 0:
		return later
	case making == 0 && !fits:
		return tooManyHeld
	case a.apart && making > 0 && (!fits || making >= a.slots-kept):
		return later
	case a.apart:
		return noneToCome
	case making == 0, making == 1 && fits, impatient:
		// Past the limit by the batches in the making at most: to refuse them a slot
		// would be to fail while one may be about to arrive.
		return noneToCome
	}
	return perhaps
}

// await returns when a reserver should look again, and whether it has run out of
// patience.
func await(ctx context.Context, changed <-chan struct{}, o outlook) (impatient bool) {
	var enough <-chan time.Time
	if o == perhaps {
		t := time.NewTimer(patience)
		defer t.Stop()
		enough = t.C
	}
	select {
	case <-changed:
	case <-ctx.Done():
	case <-enough:
		return true
	}
	return false
}

// reservePooled takes the slot that was freed last: its pages are there already, and
// perhaps in the cache.
func (a *Arena) reservePooled() (*Slot, error) {
	last := len(a.free) - 1
	c := a.free[last]
	a.free = a.free[:last]
	a.move(c, filling)
	if err := c.checkPoison(); err != nil {
		a.recycle(c)
		return nil, err
	}
	return a.handle(c), nil
}

// expect counts an unpooled slot before it exists, so that no second one is made for
// the same reason meanwhile.
func (a *Arena) expect() {
	a.count[filling]++
	a.unpooled++
}

// reserveUnpooled makes a slot that was expected, in a segment of its own.
func (a *Arena) reserveUnpooled() (*Slot, error) {
	s, err := a.openSegment(false, 1, a.slotBytes)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count[filling]--
	if err == nil && a.closed {
		s.unmap()
		err = ErrClosed
	}
	if err != nil {
		a.unpooled--
		a.wake()
		return nil, err
	}
	a.add(s)
	a.move(&s.cells[0], filling)
	return a.handle(&s.cells[0]), nil
}

// openPool makes the pool. The others wait meanwhile as they do for a slot.
func (a *Arena) openPool() error {
	s, err := a.openSegment(true, a.slots, a.slotBytes)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.opening = false
	a.wake()
	if err == nil && a.closed {
		s.unmap()
		err = ErrClosed
	}
	if err != nil {
		return err
	}
	a.add(s)
	a.pool = s
	for i := range s.cells {
		a.free = append(a.free, &s.cells[len(s.cells)-1-i]) // slot 0 is the first to be taken
	}
	return nil
}

// openSegment makes a segment and announces it. The descriptor is not kept: the mapping
// needs none, and a consumer may hold more batches than a process may have descriptors.
func (a *Arena) openSegment(pooled bool, slots, slotBytes int) (*segment, error) {
	id, name := a.nextID(), "headrace-batch"
	if pooled {
		name = "headrace-pool"
	}
	s, fd, err := newSegment(name, id, slots, slotBytes)
	if err != nil {
		return nil, err
	}
	s.pooled = pooled
	defer closeDescriptor(fd)
	if a.announce == nil {
		return s, nil
	}
	made := Segment{ID: id, FD: fd, Memory: s.memory, Pooled: pooled,
		Slots: slots, SlotBytes: Stride(slotBytes), Bytes: int64(len(s.memory))}
	if err := a.announce(made); err != nil {
		s.unmap()
		return nil, fmt.Errorf("arena: segment %d was not announced: %w", id, err)
	}
	return s, nil
}

func (a *Arena) nextID() uint32 {
	if a.id != nil {
		return a.id()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made++
	return a.made - 1
}

// add takes a segment up, its slots free.
func (a *Arena) add(s *segment) {
	a.segments[s.id] = s
	a.count[free] += len(s.cells)
	a.bytes += int64(len(s.memory))
}
