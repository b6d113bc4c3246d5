package pipe

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A lot is a batch that the store has given for a slot. It is the slot's until an operation in it is abandoned, which may still write into its row: then
// nothing is moved into the lot, and it is not handed on. Its rows go into another lot that the slot is given, and it is dropped
// when the operation has returned.
type lot[B any] struct {
	b     B
	stuck []int // rows of operations that were abandoned and have not returned
	left  bool  // nobody needs its rows
}

// limit puts a time limit around the operation.
func (f *filler[In, B]) limit(op func(context.Context, In, seat[B]) error, most time.Duration) func(context.Context, In, seat[B]) error {
	if most <= 0 {
		return op
	}
	f.limited = true
	type task struct {
		in In
		to seat[B]
	}
	write := limited(
		func(ctx context.Context, t task) (struct{}, error) { return struct{}{}, op(ctx, t.in, t.to) }, most,
		func(t task) { f.stick(t.to) },
		func(t task, _ struct{}, _ error) { f.unstick(t.to) },
	)
	return func(ctx context.Context, in In, to seat[B]) error {
		_, err := write(ctx, task{in, to})
		return err
	}
}

// stick notes that an operation was abandoned.
func (f *filler[In, B]) stick(at seat[B]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at.lot.stuck = append(at.lot.stuck, at.row)
}

// unstick notes that it has returned. Its row may be given out again where no order is kept, if the slot still has this lot.
func (f *filler[In, B]) unstick(at seat[B]) {
	f.mu.Lock()
	at.lot.stuck = without(at.lot.stuck, at.row)
	whole := len(at.lot.stuck) == 0
	if s := at.slot; s.lot == at.lot {
		if slices.Contains(s.dead, at.row) {
			s.dead, s.free = without(s.dead, at.row), append(s.free, at.row)
		}
	}
	if f.impatient != nil {
		f.impatient()
	}
	drop := whole && at.lot.left
	f.turn.Broadcast()
	f.mu.Unlock()
	if drop {
		f.drop(at.lot.b)
	}
}

func without(rows []int, row int) []int {
	return slices.DeleteFunc(rows, func(r int) bool { return r == row })
}

// renew gives a slot another lot. Rows that are written, or being written, lie where they are until they are moved.
func (s *slot[B]) renew(fresh *lot[B]) {
	s.before = append(s.before, s.lot)
	s.lot = fresh
	s.free = append(s.free, s.dead...)
	s.dead = nil
}

// refit gives a slot another lot if somebody may still write into its own. It waits until there is one, or the operation has returned. It
// returns false when the stage has been stopped. The lock is held, and given up meanwhile.
func (f *filler[In, B]) refit(w *worker, s *slot[B]) bool {
	f.owed = true
	for !f.halted && len(s.lot.stuck) > 0 && len(f.spare) == 0 {
		if f.reserving {
			w.beforeWait(&w.blocked)
			f.turn.Wait()
			w.tick(&w.blocked)
			continue
		}

		fail := func(err error) {
			f.haltAbove()
			f.send(w, msg[B]{kind: fatal, lineage: f.lineage, failure: &failure{stage: f.stage, err: err}})
		}
		switch err := f.ask(w, fail); {
		case err == nil || err == errReturned:
		case w.ctx.Err() != nil:
			f.halted = true
		default:
			fail(err)
		}
	}

	f.owed = false
	f.turn.Broadcast()
	if !f.halted && len(s.lot.stuck) > 0 {
		s.renew(f.takeSpare())
	}
	return !f.halted
}

// ask gets a lot from the store, without the lock; where that ends the goroutine, fail is called with it. When an operation returns that was abandoned, it may not be needed any more: then it ends
// with errReturned.
func (f *filler[In, B]) ask(w *worker, fail func(error)) error {
	ctx := w.ctx
	if f.limited {
		ctx, f.impatient = context.WithCancel(ctx)
		defer func() { f.impatient = nil }()
		defer f.impatient()
	}

	f.reserving = true
	f.mu.Unlock()
	w.beforeWait(&w.blocked)

	fresh := new(lot[B])
	err := w.attempt(func() (err error) {
		fresh.b, err = f.store.Reserve(ctx)
		return err
	}, func(err error) {
		f.mu.Lock()
		f.reserving = false
		fail(err)
	})

	w.tick(&w.blocked)
	f.mu.Lock()
	f.reserving = false
	f.turn.Broadcast()

	switch {
	case err == nil:
		f.spare = append(f.spare, fresh)
	case ctx.Err() != nil && w.ctx.Err() == nil:
		return errReturned
	}
	return err
}

var errReturned = errors.New("pipe: an operation that was abandoned has returned")

// takeSpare takes a lot that was reserved and is in no slot yet.
func (f *filler[In, B]) takeSpare() *lot[B] {
	fresh := f.spare[0]
	f.spare = slices.Delete(f.spare, 0, 1)
	return fresh
}

// lots are all of a slot.
func (s *slot[B]) lots() []*lot[B] { return append(s.before, s.lot) }

// vacate drops the lots of a slot whose rows nobody needs, or leaves them to those who may still write there. The lock is held, and given up meanwhile.
func (f *filler[In, B]) vacate(lots ...*lot[B]) {
	var drop []*lot[B]
	for _, l := range lots {
		if l.left = true; len(l.stuck) == 0 {
			drop = append(drop, l)
		}
	}
	if drop == nil {
		return
	}
	f.mu.Unlock()
	for _, l := range drop {
		f.drop(l.b)
	}
	f.mu.Lock()
}
