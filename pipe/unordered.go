package pipe

import (
	"cmp"
	"slices"

	"headrace/pipe/internal/queue"
	"headrace/pipe/internal/worker"
)

// A scatter is what a filler needs besides when it keeps no order. The row of an item
// that is lost goes to the next item, so there are no holes but at the end of an epoch,
// and a full slot is a batch, whatever the others still wait for. The end of an epoch
// waits until nothing is being written.
type unordered[B any] struct {
	flying  int            // items that are being written
	barrier *pendingRow[B] // what ends the epoch, as soon as nothing is
}

// roomySlot is the oldest slot that has a row to give, or nil. A spare lot is for one
// that could not be filled otherwise, or for a new one.
func (f *filler[In, B]) roomySlot() *openBatch[B] {
	for _, s := range f.batches {
		if s.roomy(f.n) {
			return s
		}
	}
	if len(f.spareBuffers) == 0 || f.owed {
		return nil
	}
	if s := f.crippled(); s != nil {
		s.renew(f.takeSpare())
		return s
	}
	return f.newSlot()
}

func (s *openBatch[B]) roomy(n int) bool { return !s.closed && (len(s.free) > 0 || s.next < n) }

// crippled is a slot that cannot be filled, because of operations that were abandoned, or
// nil.
func (f *filler[In, B]) crippled() *openBatch[B] {
	for _, s := range f.batches {
		if !s.closed && len(s.lostRows) > 0 && !s.roomy(f.n) {
			return s
		}
	}
	return nil
}

func (s *openBatch[B]) freeRow() rowRef[B] {
	if n := len(s.free); n > 0 {
		row := s.free[n-1]
		s.free = s.free[:n-1]
		return rowRef[B]{s, s.buffer, row}
	}
	s.next++
	return rowRef[B]{s, s.buffer, s.next - 1}
}

// settleAnywhere puts an item behind those that were settled before.
func (f *filler[In, B]) settleAnywhere(e pendingRow[B]) {
	f.flying--
	if e.kind != queue.Item {
		e.row.giveBack()
	}
	f.pending.push(e)
	if f.barrier != nil && f.flying == 0 {
		f.pending.push(*f.barrier)
		f.barrier = nil
		f.turn.Broadcast()
	}
}

// giveBack frees the row of an item that is lost or dropped, unless somebody may still
// write into it.
func (at rowRef[B]) giveBack() {
	if s := at.batch; s.buffer == at.buffer && slices.Contains(at.buffer.abandonedRows, at.row) {
		s.lostRows = append(s.lostRows, at.row)
	} else {
		s.free = append(s.free, at.row)
	}
}

// gatherSlot adds a row to its own slot.
func (f *filler[In, B]) gatherInto(w *worker.Worker, e pendingRow[B]) {
	s := e.row.batch
	if s.written == nil {
		s.written = make([]pendingRow[B], 0, min(f.n, max(f.usual, firstRoom)))
	}
	s.written = append(s.written, e)
	if len(s.written) == f.n {
		f.gatherAll(w, s)
	}
}

// gatherRest makes batches of the slots that are not full, at the end of an epoch. What
// is written of the next one stands behind that end in the line, and has not come to its
// slots yet. Batches lie in slots that nobody else writes into, if there are any.
func (f *filler[In, B]) gatherRest(w *worker.Worker) {
	all := slices.Clone(f.batches)
	slices.SortStableFunc(all, func(a, b *openBatch[B]) int {
		return cmp.Compare(len(a.buffer.abandonedRows), len(b.buffer.abandonedRows))
	})
	for _, s := range all {
		f.gatherAll(w, s)
	}
}

// gatherAll gathers what is written of a slot, in the order of its rows.
func (f *filler[In, B]) gatherAll(w *worker.Worker, s *openBatch[B]) {
	rows := s.written
	s.written = nil
	slices.SortFunc(rows, func(a, b pendingRow[B]) int { return cmp.Compare(a.row.row, b.row.row) })
	for _, e := range rows {
		f.gather(w, e)
	}
}
