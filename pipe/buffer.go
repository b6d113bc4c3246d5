package pipe

import (
	"context"
	"errors"
	"slices"
	"time"

	"headrace/pipe/internal/queue"
	"headrace/pipe/internal/worker"
)

// A lot is a batch that the store has given for a slot. It is the slot's until an
// operation in it is abandoned, which may still write into its row: then nothing is moved
// into the lot, and it is not handed on. Its rows go into another lot that the slot is
// given, and it is dropped when the operation has returned.
type buffer[B any] struct {
	b             B
	abandonedRows []int // rows of operations that were abandoned and have not returned
	left          bool  // nobody needs its rows
}

// limit puts a time limit around the operation.
func (f *filler[In, B]) limit(op func(context.Context, In, rowRef[B]) error, most time.Duration) func(context.Context, In, rowRef[B]) error {
	if most <= 0 {
		return op
	}
	f.limited = true
	type task struct {
		in In
		to rowRef[B]
	}
	write := limited(
		func(ctx context.Context, t task) (struct{}, error) { return struct{}{}, op(ctx, t.in, t.to) }, most,
		func(t task) { f.stick(t.to) },
		func(t task, _ struct{}, _ error) { f.unstick(t.to) },
	)
	return func(ctx context.Context, in In, to rowRef[B]) error {
		_, err := write(ctx, task{in, to})
		return err
	}
}

// stick notes that an operation was abandoned.
func (f *filler[In, B]) stick(at rowRef[B]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at.buffer.abandonedRows = append(at.buffer.abandonedRows, at.row)
}

// unstick notes that it has returned. Its row may be given out again where no order is
// kept, if the slot still has this lot.
func (f *filler[In, B]) unstick(at rowRef[B]) {
	f.mu.Lock()
	at.buffer.abandonedRows = without(at.buffer.abandonedRows, at.row)
	whole := len(at.buffer.abandonedRows) == 0
	if s := at.batch; s.buffer == at.buffer {
		if slices.Contains(s.lostRows, at.row) {
			s.lostRows, s.free = without(s.lostRows, at.row), append(s.free, at.row)
		}
	}
	if f.impatient != nil {
		f.impatient()
	}
	drop := whole && at.buffer.left
	f.turn.Broadcast()
	f.mu.Unlock()
	if drop {
		f.drop(at.buffer.b)
	}
}

func without(rows []int, row int) []int {
	return slices.DeleteFunc(rows, func(r int) bool { return r == row })
}

// renew gives a slot another lot. Rows that are written, or being written, lie where they
// are until they are moved.
func (s *openBatch[B]) renew(fresh *buffer[B]) {
	s.before = append(s.before, s.buffer)
	s.buffer = fresh
	s.free = append(s.free, s.lostRows...)
	s.lostRows = nil
}

// refit gives a slot another lot if somebody may still write into its own. It waits until
// there is one, or the operation has returned. It returns false when the stage has been
// stopped. The lock is held, and given up meanwhile.
func (f *filler[In, B]) refit(w *worker.Worker, s *openBatch[B]) bool {
	f.owed = true
	for !f.halted && len(s.buffer.abandonedRows) > 0 && len(f.spareBuffers) == 0 {
		if f.reserving {
			w.BeforeWait(&w.Blocked)
			f.turn.Wait()
			w.Tick(&w.Blocked)
			continue
		}

		fail := func(err error) {
			f.haltAbove()
			f.send(w, queue.Message[B]{Kind: queue.Fatal, Lineage: f.lineage, Failure: f.NewFailure(err)})
		}
		switch err := f.ask(w, fail); {
		case err == nil || err == errReturned:
		case w.Ctx.Err() != nil:
			f.halted = true
		default:
			fail(err)
		}
	}

	f.owed = false
	f.turn.Broadcast()
	if !f.halted && len(s.buffer.abandonedRows) > 0 {
		s.renew(f.takeSpare())
	}
	return !f.halted
}

// ask gets a lot from the store, without the lock; where that ends the goroutine, fail is
// called with it. When an operation returns that was abandoned, it may not be needed any
// more: then it ends with errReturned.
func (f *filler[In, B]) ask(w *worker.Worker, fail func(error)) error {
	ctx := w.Ctx
	if f.limited {
		ctx, f.impatient = context.WithCancel(ctx)
		defer func() { f.impatient = nil }()
		defer f.impatient()
	}

	f.reserving = true
	f.mu.Unlock()
	w.BeforeWait(&w.Blocked)

	fresh := new(buffer[B])
	err := w.Attempt(func() (err error) {
		fresh.b, err = f.store.Reserve(ctx)
		return err
	}, func(err error) {
		f.mu.Lock()
		f.reserving = false
		fail(err)
	})

	w.Tick(&w.Blocked)
	f.mu.Lock()
	f.reserving = false
	f.turn.Broadcast()

	switch {
	case err == nil:
		f.spareBuffers = append(f.spareBuffers, fresh)
	case ctx.Err() != nil && w.Ctx.Err() == nil:
		return errReturned
	}
	return err
}

var errReturned = errors.New("pipe: an operation that was abandoned has returned")

// takeSpare takes a lot that was reserved and is in no slot yet.
func (f *filler[In, B]) takeSpare() *buffer[B] {
	fresh := f.spareBuffers[0]
	f.spareBuffers = slices.Delete(f.spareBuffers, 0, 1)
	return fresh
}

// lots are all of a slot.
func (s *openBatch[B]) buffers() []*buffer[B] { return append(s.before, s.buffer) }

// vacate drops the lots of a slot whose rows nobody needs, or leaves them to those who
// may still write there. The lock is held, and given up meanwhile.
func (f *filler[In, B]) vacate(lots ...*buffer[B]) {
	var drop []*buffer[B]
	for _, l := range lots {
		if l.left = true; len(l.abandonedRows) == 0 {
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
