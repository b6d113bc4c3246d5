package pipe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/rows"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A filler is a running Fill: the lock and the waiting around a machine, which decides
// who writes where. Here is how its workers get items and rows; what they do about what
// the machine has decided is in sealing.go.
//
// Workers take their items themselves. Under the lock, an item gets a row; then its
// worker writes the row, alone. The store and the queues are waited for without the lock.
type filler[In, B any] struct {
	*stage
	in      *queue.Ring[In]
	out     *queue.Ring[B]
	n       int
	store   Store[B]
	op      func(context.Context, In, rows.Ref[B]) error
	ends    func(In) bool // whether a batch ends after an item; nil: every n do
	limited bool
	runs    *runs[In, B] // nil: operations are of one item
	span    func(In) int64

	mu        sync.Mutex
	turn      sync.Cond // there may be a row, or nothing to wait for
	rows      *rows.Machine[B]
	closing   bool      // a worker carries out what is decided
	operating int       // of runs: workers that have some
	few       sync.Cond // of runs: there may be too few of them
	impatient func()    // ends the wait for the store; may be nil
}

func newFiller[In, B any](s *stage, in *queue.Ring[In], out *queue.Ring[B], n int, store Store[B],
	ends func(In) bool, dropLast bool) *filler[In, B] {
	f := &filler[In, B]{stage: s, in: in, out: out, n: n, store: store, ends: ends, span: spanOf[In]()}
	f.turn.L, f.few.L = &f.mu, &f.mu
	f.rows = rows.New[B](rows.Options{
		Size: n, Ordered: s.ordered, Groups: ends != nil, DropLast: dropLast,
		Raises: s.raises, KeepMembers: s.keepMembers, Budget: s.newBudget(),
	}, int(s.Number.Load()))
	s.onHalt, s.CleanUp = f.halt, f.dropAll
	return f
}

// fit lets what depends on the number of workers follow it.
func (f *filler[In, B]) fit(workers int) {
	f.mu.Lock()
	f.rows.SetWorkers(workers)
	f.turn.Broadcast()
	f.few.Broadcast()
	f.mu.Unlock()
	f.in.WakeTakers()
}

// work is the life of one worker: a row and an item for it, the operation, and what is
// decided by that.
func (f *filler[In, B]) work(w *worker.Worker) {
	var buf [1]queue.Message[In]
	for {
		in, at, ok := f.next(w, buf[:])
		if !ok {
			return
		}
		err, ok := f.write(w, in, &at)
		if !ok {
			return
		}
		f.settled(w, &at, err)
	}
}

// next waits for a row and an item, in this order: the item stays where it is counted
// until there is a row for it.
func (f *filler[In, B]) next(w *worker.Worker, buf []queue.Message[In]) (in In, at rows.Placing[B], ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for !f.rows.Over() {
		if f.leaves() {
			f.in.WakeTakers() // it may have been woken in place of another
			return in, at, false
		}
		// Workers let items gather, which then cost little more than one.
		if f.enough() {
			w.BeforeWait(&w.InTurn)
			f.few.Wait()
			w.Tick(&w.InTurn)
			continue
		}

		switch f.rows.Ready() {
		case rows.Wait:
			w.BeforeWait(&w.Blocked)
			f.turn.Wait()
			w.Tick(&w.Blocked)
		case rows.Reserve:
			f.reserve(w)
		case rows.Take:
			h := f.in.TryTake(w, buf)
			if len(h.Msgs) == 0 {
				if !f.await(w) {
					return in, at, false
				}
				continue
			}

			m := buf[0]
			buf[0] = queue.Message[In]{}
			if m.Kind != queue.Item {
				f.pass(w, outcomeOf(m))
				continue
			}
			last, err := f.last(w, m)
			if err == nil {
				return m.Val, f.rows.Place(m.Lineage, last), true
			}
			f.refuse(w, m, err)
		}
	}
	return in, at, false
}

// leaves tells a worker that it has to leave.
func (f *filler[In, B]) leaves() bool {
	for n := f.Excess.Load(); n > f.kept(); n = f.Excess.Load() {
		if f.Excess.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// kept is how many of those too many must not leave now. Where one worker stays, it is
// not the one that waits for the store: when rows come back meanwhile, somebody has to
// fill them, or the store never has anything.
func (f *filler[In, B]) kept() int64 {
	if f.rows.Reserving() && f.Number.Load() == 1 {
		return 1
	}
	return 0
}

func (f *filler[In, B]) await(w *worker.Worker) bool {
	kept := f.kept()
	f.mu.Unlock()
	defer f.mu.Lock()
	return f.in.Wait(w, kept)
}

// last tells whether a batch ends after an item that has the next row.
func (f *filler[In, B]) last(w *worker.Worker, m queue.Message[In]) (ends bool, err error) {
	if f.ends == nil {
		return false, nil
	}
	if f.rows.Full() {
		return false, fmt.Errorf("a batch has no end after %d items, which is all that it may have", f.n)
	}
	err = w.Attempt(func() error { ends = f.ends(m.Val); return nil }, func(err error) { f.refuse(w, m, err) })
	return ends, err
}

// refuse ends the run at an item.
func (f *filler[In, B]) refuse(w *worker.Worker, m queue.Message[In], err error) {
	f.haltAbove()
	f.pass(w, rows.Outcome{Kind: rows.Fatal, Lineage: m.Lineage, Failure: f.NewFailure(err)})
	f.mu.Unlock() // only now: others take what comes after the item
	f.in.DiscardMsg(m)
	f.mu.Lock()
}

// pass deals with an input that needs no row.
func (f *filler[In, B]) pass(w *worker.Worker, o rows.Outcome) {
	f.rows.Pass(o)
	f.turn.Broadcast()
	f.close(w)
}

// write operates on an item. ok is false when the stage has been stopped.
func (f *filler[In, B]) write(w *worker.Worker, in In, at *rows.Placing[B]) (err error, ok bool) {
	if !w.EnterGate() {
		f.in.Discard(in)
		return nil, false
	}
	defer w.LeaveGate()
	n := positions(f.span, in)
	w.In.Add(n)
	w.BeginItem(&at.Lineage, at.Epoch)
	if w.Tracer != nil {
		w.Tracer.Begin(in, &at.Lineage, at.Epoch)
	}
	err = w.Attempt(func() error { return f.op(w.Ctx, in, at.Ref) }, func(err error) {
		w.LeaveGate()
		f.settled(w, at, err)
	})
	if err != nil && w.Ctx.Err() != nil {
		return err, false // what fails because the run was stopped has not failed
	}
	if err != nil {
		w.NoteError(err)
	}
	if errors.Is(err, Skip) {
		w.Skipped.Add(n - 1) // of all positions that it stands for; settled counts one
	}
	w.TimeOp(true)
	return err, true
}

// settled notes what became of an item.
func (f *filler[In, B]) settled(w *worker.Worker, at *rows.Placing[B], err error) {
	kind, why := rows.Written, (*failure.Failure)(nil)
	switch {
	case err == nil:
	case errors.Is(err, Skip):
		w.Skipped.Add(1)
		kind = rows.Gone
	default:
		kind, why = rows.Failed, f.NewFailure(err)
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows.Settle(at, kind, why) {
		f.haltAbove()
	}
	if kind != rows.Written {
		f.turn.Broadcast()
	}
	f.close(w)
}

// halt releases the workers that wait for a row.
func (f *filler[In, B]) halt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows.Halt()
	f.turn.Broadcast()
	f.few.Broadcast()
}

// dropAll drops what is left behind the last worker.
func (f *filler[In, B]) dropAll() {
	f.mu.Lock()
	left := f.rows.Close()
	f.mu.Unlock()
	f.drop(left...)
}

func (f *filler[In, B]) drop(all ...B) {
	for _, b := range all {
		f.out.DiscardWith(f.store.Drop, b)
	}
}

// outcomeOf is what a message without an item says.
func outcomeOf[T any](m queue.Message[T]) rows.Outcome {
	o := rows.Outcome{Kind: rows.Gone, Last: m.Last, Lineage: m.Lineage, Failure: m.Failure}
	switch m.Kind {
	case queue.Mark:
		o.Kind = rows.EpochEnd
	case queue.Fatal:
		o.Kind = rows.Fatal
	}
	return o
}

// messageOf is the message that says what became of an input.
func messageOf[B any](o rows.Outcome) queue.Message[B] {
	m := queue.Message[B]{Kind: queue.Gone, Last: o.Last, Lineage: o.Lineage, Failure: o.Failure}
	switch o.Kind {
	case rows.EpochEnd:
		m.Kind = queue.Mark
	case rows.Fatal:
		m.Kind = queue.Fatal
	}
	return m
}
