package arena

import (
	"fmt"
	"math"
)

// state is where a slot is in its life.
type state int

const (
	free state = iota
	filling
	sealed
	taken
	leased
	lent       // a larger one is in its place
	states int = iota
)

func (s state) String() string {
	return [...]string{"free", "filling", "sealed", "taken", "leased", "lent"}[s]
}

// Slot is one life of a slot, from Reserve to where it is given away. Methods that the
// life does not allow change nothing and return a [StateError]; so do those of a life
// that has ended.
type Slot struct {
	arena  *Arena
	cell   *cell
	serial uint64
	bytes  []byte
}

func (a *Arena) handle(c *cell) *Slot {
	return &Slot{arena: a, cell: c, serial: c.serial, bytes: c.bytes}
}

// Bytes is the slot's memory, of Options.SlotBytes, or of what Grow was reported; nil
// after Send and Drop.
func (s *Slot) Bytes() []byte { return s.bytes }

// Segment is the ID of the segment in which the slot is.
func (s *Slot) Segment() uint32 { return s.cell.segment.id }

// Index is the number of the slot in its segment.
func (s *Slot) Index() uint32 { return s.cell.index }

// Pooled reports whether the slot is one of the pool, or replaces one.
// The others exist because the consumer holds so many.
func (s *Slot) Pooled() bool { return s.cell.home().segment.pooled }

// Grown reports whether the slot has a segment of its own, because of [Slot.Grow].
func (s *Slot) Grown() bool { return s.cell.place != nil }

// Grow gives a filling slot memory of another size, in a segment of its own that goes
// with it: for a batch that does not fit. What was written before is left behind. The
// place in the pool stays taken until the slot is given back, so there are no more
// batches than before, and nobody waits for one: what the consumer may hold counts the
// bytes as they are, and the budget has them, however much it has left.
func (s *Slot) Grow(bytes int) error {
	if bytes < 1 || int64(bytes) > math.MaxInt64/2 {
		return fmt.Errorf("arena: a slot of %d bytes", bytes)
	}

	a := s.arena
	unlock := s.lock()
	err := s.expect("grow", filling)
	unlock()
	if err != nil {
		return err
	}

	own, err := a.openSegment(false, 1, bytes)
	if err != nil {
		return err
	}

	defer s.lock()()
	if err := s.expect("grow", filling); err != nil { // closed meanwhile
		own.unmap()
		return err
	}

	own.grown = true
	a.add(own)

	before, c := s.cell, &own.cells[0]
	a.move(c, filling)
	c.charge(a)
	if c.place = before; before.place != nil { // grown before
		c.place, before.place = before.place, nil
		err = a.recycle(before)
	} else {
		a.move(before, lent)
	}

	s.cell, s.serial, s.bytes = c, c.serial, c.bytes
	return err
}

// Seal ends the filling: every byte has been written.
func (s *Slot) Seal() error {
	defer s.lock()()
	if err := s.expect("seal", filling); err != nil {
		return err
	}
	if err := s.cell.checkCanary("sealed"); err != nil {
		return err
	}
	s.arena.move(s.cell, sealed)
	return nil
}

// Send gives a sealed or taken slot to the consumer in another process. It comes back
// by [Arena.Release].
func (s *Slot) Send() error {
	defer s.lock()()
	if err := s.expect("send", sealed, taken); err != nil {
		return err
	}
	s.bytes = nil
	s.arena.move(s.cell, leased)
	return nil
}

// Take gives a sealed slot to a consumer in this process, who gives it back by Drop, or
// passes it on by Send. Its memory stays until then, also when the arena is closed.
func (s *Slot) Take() error {
	defer s.lock()()
	if err := s.expect("take", sealed); err != nil {
		return err
	}
	s.arena.move(s.cell, taken)
	return nil
}

// Drop gives back a slot that was not sent.
func (s *Slot) Drop() error {
	defer s.lock()()
	if err := s.expect("drop", filling, sealed, taken); err != nil {
		return err
	}
	s.bytes = nil
	return s.arena.recycle(s.cell)
}

// lock locks the arena and returns what unlocks it.
func (s *Slot) lock() (unlock func()) {
	s.arena.mu.Lock()
	return s.arena.mu.Unlock
}

// expect refuses what the slot's state does not allow.
func (s *Slot) expect(verb string, allowed ...state) error {
	c := s.cell
	if c.serial != s.serial {
		if s.arena.closed {
			return ErrClosed
		}
		return &StateError{Verb: verb, Segment: c.segment.id, Slot: c.index, State: "given back"}
	}
	for _, a := range allowed {
		if c.state == a {
			return nil
		}
	}
	return &StateError{Verb: verb, Segment: c.segment.id, Slot: c.index, State: c.state.String()}
}
