package pipe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"headrace/pipe/internal/failure"
	"headrace/pipe/internal/progress"
	"headrace/pipe/internal/queue"
	"headrace/pipe/internal/worker"
)

// A filler is a running Fill: here is what its workers do; what happens at the head of
// the line is in closer.go.
//
// Workers take their items themselves. Under the lock, an item gets the next row of the
// newest slot, and an entry in the line, which has the order of the input; then its
// worker writes the row, alone. The store and the queues are waited for without the lock.
type filler[In, B any] struct {
	*stage
	in       *queue.Ring[In]
	out      *queue.Ring[B]
	n        int
	store    Store[B]
	op       func(context.Context, In, rowRef[B]) error
	ends     func(In) bool // whether a batch ends behind an item; nil: every n do
	dropLast bool
	limited  bool
	ahead    int // a slot is reserved when no more rows than these wait for their batch

	mu           sync.Mutex
	turn         sync.Cond // there may be a row, or nothing to wait for
	pending      pending[B]
	batches      []*openBatch[B]  // reserved, and neither sealed nor dropped
	newest       *openBatch[B]    // of them the newest, which gives out rows; may be nil
	spareBuffers []*buffer[B]     // reserved, and in no slot yet
	reserving    bool             // a worker waits for the store
	owed         bool             // what is reserved next is for a slot that was given out
	impatient    func()           // ends the wait for the store; may be nil
	over         bool             // nothing more is taken
	halted       bool             // and nothing more is closed
	epoch        int              // of the items that are taken, counted from 0
	claim        int              // rows of this epoch that are written or may yet be
	waiting      int              // rows that are written or may yet be, and are in no batch that was handed on
	taken        progress.Lineage // of the item that was taken last

	sealer[B]
	unordered[B]
}

// A slot is a batch that is being filled.
type openBatch[B any] struct {
	buffer *buffer[B]
	before []*buffer[B] // where rows were written before it was given this lot
	next   int          // the row that is given out next
	live   int          // rows given out that are neither lost, moved away nor handed on, as far as the closer has come
	hope   int          // rows given out that are not known to be lost
	closed bool         // no more rows are given out

	// In completion order:
	free     []int           // rows given back
	lostRows []int           // rows of operations that were abandoned
	written  []pendingRow[B] // rows that are written
}

func newFiller[In, B any](s *stage, in *queue.Ring[In], out *queue.Ring[B], n int, store Store[B], ends func(In) bool, dropLast bool) *filler[In, B] {
	f := &filler[In, B]{stage: s, in: in, out: out, n: n, store: store, ends: ends, dropLast: dropLast}
	f.turn.L = &f.mu
	f.fit(int(s.Number.Load()))
	f.budget = s.newBudget()
	s.onHalt, s.CleanUp = f.halt, f.dropAll
	return f
}

// fit lets what depends on the number of workers follow it.
func (f *filler[In, B]) fit(workers int) {
	f.mu.Lock()
	f.ahead = (workers + f.n - 1) / f.n * f.n
	f.turn.Broadcast()
	f.mu.Unlock()
	f.in.WakeTakers()
}

// lineSlack is how many entries without a row may stand in the line, besides.
const pendingSlack = 64

// work is the life of one worker: a row and an item for it, the operation, and the head
// of the line if that is settled by it.
func (f *filler[In, B]) work(w *worker.Worker) {
	var buf [1]queue.Message[In]
	for {
		in, at, ok := f.next(w, buf[:])
		if !ok {
			return
		}
		if w.Tracer != nil {
			w.Tracer.Begin(in, &at.lineage, at.epoch)
		}
		err, ok := f.write(w, in, &at)
		if !ok {
			return
		}
		f.settled(w, at, err)
	}
}

// A placing is what a worker knows of its item. In completion order it comes into the
// line only when it is settled, and has no number before.
type placing[B any] struct {
	pendingRow[B]
	number int64
}

// next waits for a row and an item, in this order: the item stays where it is counted
// until there is a row for it.
func (f *filler[In, B]) next(w *worker.Worker, buf []queue.Message[In]) (in In, at placing[B], ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()

	for !f.over && !f.halted {
		switch {
		case f.leaves():
			f.in.WakeTakers() // it may have been woken in place of another
			return in, at, false
		case f.barrier != nil, f.pending.len() >= f.ahead+2*f.n+pendingSlack, !f.hasRow() && (f.reserving || f.owed || f.crowded()):
			w.BeforeWait(&w.Blocked)
			f.turn.Wait()
			w.Tick(&w.Blocked)
		case !f.hasRow():
			f.reserve(w)
		default:
			h := f.in.TryTake(w, buf)
			if len(h.Msgs) == 0 {
				if !f.await(w) {
					return in, at, false
				}
				continue
			}

			m := buf[0]
			buf[0] = queue.Message[In]{}
			if m.Kind == queue.Item {
				last, err := f.last(w, m)
				if err == nil {
					return m.Val, f.place(m.Lineage, last), true
				}
				f.refuse(w, m, err)
				continue
			}
			f.pass(w, pendingRow[B]{settled: true, kind: m.Kind, last: m.Last, epoch: f.epoch, lineage: m.Lineage, failure: m.Failure})
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
	if f.reserving && f.Number.Load() == 1 {
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

// last tells whether a batch ends behind an item that has the next row.
func (f *filler[In, B]) last(w *worker.Worker, m queue.Message[In]) (ends bool, err error) {
	if f.ends == nil {
		return false, nil
	}
	if f.newest.next == f.n {
		return false, fmt.Errorf("a batch has no end after %d items, which is all that it may have", f.n)
	}
	err = w.Attempt(func() error { ends = f.ends(m.Val); return nil }, func(err error) { f.refuse(w, m, err) })
	return ends, err
}

// refuse ends the run at an item.
func (f *filler[In, B]) refuse(w *worker.Worker, m queue.Message[In], err error) {
	f.haltAbove()
	f.pass(w, pendingRow[B]{settled: true, kind: queue.Fatal, epoch: f.epoch, lineage: m.Lineage, failure: f.NewFailure(err)})
	f.mu.Unlock() // only now: others take what comes behind the item
	f.in.DiscardMsg(m)
	f.mu.Lock()
}

// crowded tells whether no slot is to be reserved, because enough are being filled.
func (f *filler[In, B]) crowded() bool {
	if !f.ordered && f.crippled() != nil {
		return false
	}
	return f.waiting > f.ahead || f.ends != nil && len(f.batches) > int(f.Number.Load())
}

// hasRow tells whether a slot has a row to give. The newest gives none any more as soon
// as the rows that may yet survive make whole batches: after a loss, that is a slot with
// just the rows that are missing, so that those behind it need not be moved.
func (f *filler[In, B]) hasRow() bool {
	if !f.ordered {
		return f.roomySlot() != nil
	}
	if s := f.newest; s != nil {
		if f.ends != nil {
			return true
		}
		if (s.hope == 0 || s.live == 0) && len(s.buffer.abandonedRows) == 0 {
			s.next, s.hope = 0, 0 // nobody has or needs a row of it
		}
		if s.next == 0 || s.next < f.n && f.claim%f.n != 0 {
			return true
		}
	}
	if len(f.spareBuffers) == 0 || f.owed {
		return false
	}
	f.begin(f.newSlot())
	return true
}

// newSlot makes a slot of a spare lot.
func (f *filler[In, B]) newSlot() *openBatch[B] {
	s := &openBatch[B]{buffer: f.takeSpare()}
	f.batches = append(f.batches, s)
	return s
}

// begin makes a slot the newest.
func (f *filler[In, B]) begin(s *openBatch[B]) {
	if f.newest != nil {
		f.newest.closed = true
	}
	f.newest = s
}

// place gives an item a row.
func (f *filler[In, B]) place(t progress.Lineage, ends bool) placing[B] {
	f.waiting++
	f.taken = t
	at := placing[B]{pendingRow: pendingRow[B]{kind: queue.Item, epoch: f.epoch, lineage: t, ends: ends}}
	if !f.ordered {
		f.flying++
		at.row = f.roomySlot().freeRow()
		at.row.batch.live++
		return at
	}
	at.row = rowRef[B]{f.newest, f.newest.buffer, f.newest.next}
	f.newest.next++
	f.newest.live++
	f.newest.hope++
	f.claim++
	if ends {
		f.newest.closed = true
		f.newest = nil
	}
	at.number = f.pending.push(at.pendingRow)
	return at
}

// pass puts a message without an item into the line.
func (f *filler[In, B]) pass(w *worker.Worker, e pendingRow[B]) {
	if e.kind == queue.Mark || e.kind == queue.Fatal {
		f.over = e.last || e.kind == queue.Fatal
		f.endSeats()
		f.turn.Broadcast()
	}
	if !f.ordered && e.kind != queue.Gone && f.flying > 0 {
		f.barrier = &e
		return
	}
	f.pending.push(e)
	f.close(w)
}

// endSeats begins the rows of the next epoch. A slot that nobody has a row of goes with
// it.
func (f *filler[In, B]) endSeats() {
	for _, s := range f.batches {
		s.closed = s.closed || s.next > 0
	}
	if f.newest != nil && f.newest.closed {
		f.newest = nil
	}
	f.epoch++
	f.claim = 0
}

// reserve gets a lot for a slot, without the lock.
func (f *filler[In, B]) reserve(w *worker.Worker) {
	f.close(w) // drops slots that are done with; the store may need them
	if f.hasRow() || f.reserving || f.owed {
		return
	}
	fail := func(err error) {
		f.haltAbove()
		f.pass(w, pendingRow[B]{settled: true, kind: queue.Fatal, epoch: f.epoch, lineage: f.behind(), failure: f.NewFailure(err)})
	}
	err := f.ask(w, fail)
	switch {
	case err == nil || err == errReturned:
	case w.Ctx.Err() == nil && !f.over:
		fail(err)
	default:
		f.halted = true
	}
}

// behind is what a failure between two items is about: the item that would come next.
func (f *filler[In, B]) behind() progress.Lineage {
	if at, ok := f.taken.First(); ok && f.taken.Lo == f.taken.Hi {
		return progress.Single(at)
	}
	return progress.Single(f.taken.Hi)
}

// write operates on an item. ok is false when the stage has been stopped.
func (f *filler[In, B]) write(w *worker.Worker, in In, at *placing[B]) (err error, ok bool) {
	if !w.EnterGate() {
		f.in.Discard(in)
		return nil, false
	}
	defer w.LeaveGate()
	w.In.Add(1)
	w.BeginItem(&at.lineage, at.epoch)
	err = w.Attempt(func() error { return f.op(w.Ctx, in, at.row) }, func(err error) {
		w.LeaveGate()
		f.settled(w, *at, err)
	})
	if err != nil && w.Ctx.Err() != nil {
		return err, false // what fails because the run was stopped has not failed
	}
	if err != nil {
		w.NoteError(err)
	}
	w.TimeOp(true)
	return err, true
}

// settled notes what became of an item.
func (f *filler[In, B]) settled(w *worker.Worker, at placing[B], err error) {
	e := at.pendingRow
	e.settled = true
	switch {
	case err == nil:
	case errors.Is(err, failure.Skip):
		w.Skipped.Add(1)
		e.kind = queue.Gone
	default:
		e.kind, e.failure = queue.Failed, f.NewFailure(err)
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	if e.kind != queue.Item {
		f.waiting--
		f.turn.Broadcast()
	}

	if e.kind == queue.Failed && (f.raises || e.failure.Stops) {
		f.over = true
		f.haltAbove()
	}

	if f.ordered {
		f.settle(at.number, e)
	} else {
		f.settleAnywhere(e)
	}
	f.close(w)
}

func (f *filler[In, B]) settle(number int64, e pendingRow[B]) {
	*f.pending.at(number) = e
	if e.kind != queue.Item {
		e.row.batch.hope--
		if e.epoch == f.epoch {
			f.claim--
		}
	}
}

// halt releases the workers that wait for a row.
func (f *filler[In, B]) halt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halted = true
	f.turn.Broadcast()
}

// dropAll drops what is left behind the last worker.
func (f *filler[In, B]) dropAll() {
	f.mu.Lock()
	left := f.spareBuffers
	for _, s := range f.batches {
		left = append(left, s.buffers()...)
	}
	f.batches, f.newest, f.spareBuffers = nil, nil, nil
	f.vacate(left...)
	f.mu.Unlock()
}

func (f *filler[In, B]) drop(b B) { f.out.DiscardWith(f.store.Drop, b) }
