package pipe

import (
	"headrace/pipe/internal/failure"
	"headrace/pipe/internal/progress"
	"headrace/pipe/internal/queue"
	"headrace/pipe/internal/worker"
)

// A closer deals with the entries that leave the line. It is one worker's role at a time:
// the one that settles the head while nobody else closes. What is behind the head waits
// in the line meanwhile, and the role's holder goes on until the head is not settled.
type sealer[B any] struct {
	closing  bool
	gathered []rowRef[B]      // survivors that make the next batch
	usual    int              // how many made the one before
	lineage  progress.Lineage // and what they were made of
	of       int              // their epoch
	budget   *failure.Counter // counts by the stage's own policy; nil: the consumer does, by the run's
}

// close does what there is to do at the head of the line. The lock is held, and given up
// meanwhile where that takes long.
func (f *filler[In, B]) close(w *worker.Worker) {
	if f.closing {
		return
	}
	f.closing = true
	for !f.halted {
		if e, ok := f.pending.pop(); ok {
			f.conclude(w, e)
		} else if !f.sweep() && !f.compact(w) {
			break
		}
		f.turn.Broadcast()
	}
	f.closing = false
}

// conclude deals with the oldest entry.
func (f *filler[In, B]) conclude(w *worker.Worker, e pendingRow[B]) {
	switch e.kind {
	case queue.Item:
		if f.ordered {
			f.gather(w, e)
			f.end(w, e)
		} else {
			f.gatherInto(w, e)
		}

		if f.budget != nil && !f.budget.Pass(1) {
			f.send(w, queue.Message[B]{Kind: queue.Fatal, Lineage: f.budget.Last, Failure: f.budget.Exceeded()})
		}
		return
	case queue.Gone:
		f.hole(e)
		if f.within(w, e) {
			return
		}
	case queue.Failed:
		f.hole(e)
		e.kind = queue.Gone
		if f.raises || e.failure.Stops {
			e.kind = queue.Fatal
		} else if f.budget != nil {
			e.failure.Counted = true
			if !f.budget.Lose(1, 1, e.lineage, e.failure) {
				e.kind, e.failure = queue.Fatal, f.budget.Exceeded()
			}
		}

		if e.kind == queue.Gone && f.within(w, e) {
			return
		}
	case queue.Mark:
		f.endEpoch(w)
	}

	f.send(w, queue.Message[B]{Kind: e.kind, Last: e.last, Lineage: e.lineage, Failure: e.failure})
}

// hole forgets the row of an item that is lost or dropped.
func (f *filler[In, B]) hole(e pendingRow[B]) {
	if e.row.batch != nil {
		e.row.batch.live--
	}
}

// gather adds a row to the next batch.
func (f *filler[In, B]) gather(w *worker.Worker, e pendingRow[B]) {
	f.gathered = append(f.gathered, e.row)
	f.lineage.Join(e.lineage, f.keepMembers)
	f.of = e.epoch
	if len(f.gathered) == f.n && f.ends == nil {
		f.emit(w)
	}
}

// within makes a loss a part of its batch, if that has an end of its own: it is told with
// the batch, so that a state has all of it or nothing, and the same items make the same
// batch after a resume.
func (f *filler[In, B]) within(w *worker.Worker, e pendingRow[B]) bool {
	if f.ends == nil || e.row.batch == nil {
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
func (f *filler[In, B]) end(w *worker.Worker, e pendingRow[B]) {
	if e.ends {
		f.endBatch(w)
	}
}

// endBatch hands on what was gathered of a batch with an end of its own. Of one of which
// nothing was gathered only the losses are handed on.
func (f *filler[In, B]) endBatch(w *worker.Worker) {
	if len(f.gathered) > 0 {
		f.emit(w)
	} else if _, some := f.lineage.First(); some {
		m := queue.Message[B]{Kind: queue.Gone, Lineage: f.lineage}
		f.lineage = progress.Lineage{}
		f.send(w, m)
	}
}

// endEpoch hands on or drops a last batch that is not full.
func (f *filler[In, B]) endEpoch(w *worker.Worker) {
	if f.budget != nil {
		f.budget.Reset()
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
	w.Skipped.Add(int64(len(f.gathered)))
	f.waiting -= len(f.gathered)
	for _, s := range f.gathered {
		s.batch.live--
	}
	f.gathered, f.lineage = f.gathered[:0], progress.Lineage{}
}

// emit makes a batch of what was gathered, and hands it on. It lies in the slot of the
// first row; no row of that slot is still being written or will be given out, because
// what was gathered ends with its last row or behind it.
func (f *filler[In, B]) emit(w *worker.Worker) {
	target, rows := f.gathered[0].batch, len(f.gathered)
	for i, s := range f.batches {
		if s == target {
			f.batches = append(f.batches[:i], f.batches[i+1:]...)
			break
		}
	}
	if f.newest == target {
		f.newest = nil
	}
	if len(target.buffer.abandonedRows) > 0 && !f.refit(w, target) {
		f.vacate(target.buffers()...)
		return
	}
	b := target.buffer.b
	f.mu.Unlock()
	sealed := func(err error) { f.sealed(w, target, rows, err) }
	sealed(w.Attempt(func() error {
		f.move(w)
		return f.store.Seal(b, rows)
	}, sealed))
}

// sealed hands on a batch, unless sealing it has failed. The lock is not held, and is
// afterwards.
func (f *filler[In, B]) sealed(w *worker.Worker, target *openBatch[B], rows int, err error) {
	b := target.buffer.b
	if w.Tracer != nil {
		w.Tracer.Seal(b, &f.lineage, f.of)
	}
	w.Tick(&w.Busy)
	w.ForgetItem()

	if err == nil {
		m := queue.Message[B]{Kind: queue.Item, Val: b, Lineage: f.lineage}
		if f.out.Reserve(w) {
			w.Out.Add(1)
			f.out.Put(&m, w.Last)
		} else {
			f.out.DiscardMsg(m)
		}
	} else {
		f.drop(b)
	}

	f.mu.Lock()
	f.vacate(target.before...)
	f.waiting -= rows
	f.usual = rows
	for _, s := range f.gathered {
		s.batch.live--
	}
	broken := f.lineage
	f.gathered, f.lineage = f.gathered[:0], progress.Lineage{}

	if err != nil {
		f.haltAbove()
		f.send(w, queue.Message[B]{Kind: queue.Fatal, Lineage: broken, Failure: f.NewFailure(err)})
	}
}

// move brings the gathered rows to where they belong, in order. A row never goes where
// one is that is still needed: the k-th survivor is in its own slot at row k or later,
// and slots behind are behind.
func (f *filler[In, B]) move(w *worker.Worker) {
	target := f.gathered[0].batch
	for k, s := range f.gathered {
		if s.buffer != target.buffer || s.row != k {
			f.store.Move(target.buffer.b, k, s.buffer.b, s.row)
			w.Moved.Add(1)
		}
	}
}

// compact makes rows when there are none and nothing is being written: what was gathered
// moves to the front of its slot, which gives out the rows behind. So a store need not
// have another slot for a batch to be completed. It reports whether there was something
// to do.
func (f *filler[In, B]) compact(w *worker.Worker) bool {
	if !f.ordered || f.over || f.pending.len() > 0 || len(f.gathered) == 0 || f.hasRow() {
		return false
	}

	newest, target := f.newest, f.gathered[0].batch
	if f.ends != nil || len(target.buffer.abandonedRows) > 0 {
		return false
	}

	f.mu.Unlock()
	err := failure.InOwnGoroutine(func() error { f.move(w); return nil })
	f.mu.Lock()
	if err != nil {
		f.haltAbove()
		f.send(w, queue.Message[B]{Kind: queue.Fatal, Lineage: f.lineage, Failure: f.NewFailure(err)})
		return true
	}

	for k := range f.gathered {
		f.gathered[k].batch.live--
		f.gathered[k] = rowRef[B]{target, target.buffer, k}
		target.live++
	}

	if f.newest == newest { // else the store has just given one, which may be in use already
		target.closed = false
		target.next, target.hope = len(f.gathered), len(f.gathered)
		if newest != target {
			f.begin(target)
		}
	}
	return true
}

// send hands a message on, without the lock. After a fatal one nothing follows.
func (f *filler[In, B]) send(w *worker.Worker, m queue.Message[B]) {
	f.mu.Unlock()
	if f.out.Reserve(w) {
		f.out.Put(&m, w.Last)
	}
	f.mu.Lock()
	if m.Kind == queue.Fatal {
		f.over, f.halted = true, true
	}
}

// sweep drops one slot that is done with. It reports whether there was one.
func (f *filler[In, B]) sweep() bool {
	for i, s := range f.batches {
		if s.closed && s.live == 0 {
			f.batches = append(f.batches[:i], f.batches[i+1:]...)
			f.vacate(s.buffers()...)
			return true
		}
	}
	return false
}
