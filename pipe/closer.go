package pipe

import "headrace/pipe/internal/progress"

// A closer deals with the entries that leave the line. It is one worker's role at a time: the one that settles the head while
// nobody else closes. What is behind the head waits in the line meanwhile, and the role's holder goes on until the head
// is not settled.
type closer[B any] struct {
	closing  bool
	gathered []seat[B]        // survivors that make the next batch
	usual    int              // how many made the one before
	lineage  progress.Lineage // and what they were made of
	of       int              // their epoch
	budget   *lossCounter     // counts by the stage's own policy; nil: the consumer does, by the run's
}

// close does what there is to do at the head of the line. The lock is held, and given up meanwhile where that takes long.
func (f *filler[In, B]) close(w *worker) {
	if f.closing {
		return
	}
	f.closing = true
	for !f.halted {
		if e, ok := f.line.pop(); ok {
			f.conclude(w, e)
		} else if !f.sweep() && !f.compact(w) {
			break
		}
		f.turn.Broadcast()
	}
	f.closing = false
}

// conclude deals with the oldest entry.
func (f *filler[In, B]) conclude(w *worker, e entry[B]) {
	switch e.kind {
	case item:
		if f.ordered {
			f.gather(w, e)
			f.end(w, e)
		} else {
			f.gatherSlot(w, e)
		}

		if f.budget != nil && !f.budget.pass(1) {
			f.send(w, msg[B]{kind: fatal, lineage: f.budget.last, failure: f.budget.exceeded()})
		}
		return
	case gone:
		f.hole(e)
		if f.within(w, e) {
			return
		}
	case failed:
		f.hole(e)
		e.kind = gone
		if f.raises || e.failure.stops {
			e.kind = fatal
		} else if f.budget != nil {
			e.failure.counted = true
			if !f.budget.lose(1, 1, e.lineage, e.failure) {
				e.kind, e.failure = fatal, f.budget.exceeded()
			}
		}

		if e.kind == gone && f.within(w, e) {
			return
		}
	case mark:
		f.endEpoch(w)
	}

	f.send(w, msg[B]{kind: e.kind, last: e.last, lineage: e.lineage, failure: e.failure})
}

// hole forgets the row of an item that is lost or dropped.
func (f *filler[In, B]) hole(e entry[B]) {
	if e.seat.slot != nil {
		e.seat.slot.live--
	}
}

// gather adds a row to the next batch.
func (f *filler[In, B]) gather(w *worker, e entry[B]) {
	f.gathered = append(f.gathered, e.seat)
	f.lineage.Join(e.lineage, f.keepMembers)
	f.of = e.epoch
	if len(f.gathered) == f.n && f.ends == nil {
		f.emit(w)
	}
}

// within makes a loss a part of its batch, if that has an end of its own: it is told with the batch, so that a state has all of it or nothing,
// and the same items make the same batch after a resume.
func (f *filler[In, B]) within(w *worker, e entry[B]) bool {
	if f.ends == nil || e.seat.slot == nil {
		return false
	}
	f.lineage.Aside(e.lineage, f.keepMembers)
	if e.failure != nil {
		f.lineage.Lose(progress.LostInput{Of: e.lineage, Why: e.failure})
	}
	f.end(w, e)
	return true
}

// end ends a batch behind an item that says so.
func (f *filler[In, B]) end(w *worker, e entry[B]) {
	if e.ends {
		f.endBatch(w)
	}
}

// endBatch hands on what was gathered of a batch with an end of its own. Of one of which nothing was gathered only the losses are handed on.
func (f *filler[In, B]) endBatch(w *worker) {
	if len(f.gathered) > 0 {
		f.emit(w)
	} else if _, some := f.lineage.First(); some {
		m := msg[B]{kind: gone, lineage: f.lineage}
		f.lineage = progress.Lineage{}
		f.send(w, m)
	}
}

// endEpoch hands on or drops a last batch that is not full.
func (f *filler[In, B]) endEpoch(w *worker) {
	if f.budget != nil {
		f.budget.reset()
	}
	if !f.ordered {
		f.gatherRest(w)
	}
	if f.ends != nil {
		f.endBatch(w)
		return
	}
	if len(f.gathered) == 0 {
		return
	}
	if !f.dropLast {
		f.emit(w)
		return
	}
	w.skipped.Add(int64(len(f.gathered)))
	f.waiting -= len(f.gathered)
	for _, s := range f.gathered {
		s.slot.live--
	}
	f.gathered, f.lineage = f.gathered[:0], progress.Lineage{}
}

// emit makes a batch of what was gathered, and hands it on. It lies in the slot of the first row; no row of that slot is still
// being written or will be given out, because what was gathered ends with its last row or behind it.
func (f *filler[In, B]) emit(w *worker) {
	target, rows := f.gathered[0].slot, len(f.gathered)
	for i, s := range f.slots {
		if s == target {
			f.slots = append(f.slots[:i], f.slots[i+1:]...)
			break
		}
	}
	if f.slot == target {
		f.slot = nil
	}
	if len(target.lot.stuck) > 0 && !f.refit(w, target) {
		f.vacate(target.lots()...)
		return
	}
	b := target.lot.b
	f.mu.Unlock()
	sealed := func(err error) { f.sealed(w, target, rows, err) }
	sealed(w.attempt(func() error {
		f.move(w)
		return f.store.Seal(b, rows)
	}, sealed))
}

// sealed hands on a batch, unless sealing it has failed. The lock is not held, and is afterwards.
func (f *filler[In, B]) sealed(w *worker, target *slot[B], rows int, err error) {
	b := target.lot.b
	if w.tracer != nil {
		w.tracer.seal(b, &f.lineage, f.of)
	}
	w.tick(&w.busy)
	w.nothing()

	if err == nil {
		m := msg[B]{kind: item, val: b, lineage: f.lineage}
		if f.out.reserve(w) {
			w.out.Add(1)
			f.out.put(&m, w.last)
		} else {
			f.out.discardMsg(m)
		}
	} else {
		f.drop(b)
	}

	f.mu.Lock()
	f.vacate(target.before...)
	f.waiting -= rows
	f.usual = rows
	for _, s := range f.gathered {
		s.slot.live--
	}
	broken := f.lineage
	f.gathered, f.lineage = f.gathered[:0], progress.Lineage{}

	if err != nil {
		f.haltAbove()
		f.send(w, msg[B]{kind: fatal, lineage: broken, failure: &failure{stage: f.stage, err: err}})
	}
}

// move brings the gathered rows to where they belong, in order. A row never goes where one is that is still needed: the k-th
// survivor is in its own slot at row k or later, and slots behind are behind.
func (f *filler[In, B]) move(w *worker) {
	target := f.gathered[0].slot
	for k, s := range f.gathered {
		if s.lot != target.lot || s.row != k {
			f.store.Move(target.lot.b, k, s.lot.b, s.row)
			w.moved.Add(1)
		}
	}
}

// compact makes rows when there are none and nothing is being written: what was gathered moves to the front of its slot, which
// gives out the rows behind. So a store need not have another slot for a batch to be completed. It reports whether there was
// something to do.
func (f *filler[In, B]) compact(w *worker) bool {
	if !f.ordered || f.over || f.line.len() > 0 || len(f.gathered) == 0 || f.hasRow() {
		return false
	}

	newest, target := f.slot, f.gathered[0].slot
	if f.ends != nil || len(target.lot.stuck) > 0 {
		return false
	}

	f.mu.Unlock()
	err := inOwnGoroutine(func() error { f.move(w); return nil })
	f.mu.Lock()
	if err != nil {
		f.haltAbove()
		f.send(w, msg[B]{kind: fatal, lineage: f.lineage, failure: &failure{stage: f.stage, err: err}})
		return true
	}

	for k := range f.gathered {
		f.gathered[k].slot.live--
		f.gathered[k] = seat[B]{target, target.lot, k}
		target.live++
	}

	if f.slot == newest { // else the store has just given one, which may be in use already
		target.closed = false
		target.next, target.hope = len(f.gathered), len(f.gathered)
		if newest != target {
			f.begin(target)
		}
	}
	return true
}

// send hands a message on, without the lock. After a fatal one nothing follows.
func (f *filler[In, B]) send(w *worker, m msg[B]) {
	f.mu.Unlock()
	if f.out.reserve(w) {
		f.out.put(&m, w.last)
	}
	f.mu.Lock()
	if m.kind == fatal {
		f.over, f.halted = true, true
	}
}

// sweep drops one slot that is done with. It reports whether there was one.
func (f *filler[In, B]) sweep() bool {
	for i, s := range f.slots {
		if s.closed && s.live == 0 {
			f.slots = append(f.slots[:i], f.slots[i+1:]...)
			f.vacate(s.lots()...)
			return true
		}
	}
	return false
}
