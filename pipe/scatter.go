package pipe

import (
	"cmp"
	"slices"
)

// A scatter is what a filler needs besides when it keeps no order. The row of an item that is lost goes to the next item, so
// there are no holes but at the end of an epoch, and a full slot is a batch, whatever the others still wait for. The end
// of an epoch waits until nothing is being written.
type scatter[B any] struct {
	flying  int       // items that are being written
	barrier *entry[B] // what ends the epoch, as soon as nothing is
}

// roomySlot is the oldest slot that has a row to give, or nil.
func (f *filler[In, B]) roomySlot() *slot[B] {
	for _, s := range f.slots {
		if !s.closed && (len(s.free) > 0 || s.next < f.n) {
			return s
		}
	}
	return nil
}

func (s *slot[B]) freeRow() seat[B] {
	if n := len(s.free); n > 0 {
		row := s.free[n-1]
		s.free = s.free[:n-1]
		return seat[B]{s, row}
	}
	s.next++
	return seat[B]{s, s.next - 1}
}

// settleAnywhere puts an item behind those that were settled before.
func (f *filler[In, B]) settleAnywhere(e entry[B]) {
	f.flying--
	if e.kind != item {
		e.seat.slot.free = append(e.seat.slot.free, e.seat.row)
	}
	f.line.push(e)
	if f.barrier != nil && f.flying == 0 {
		f.line.push(*f.barrier)
		f.barrier = nil
		f.turn.Broadcast()
	}
}

// gatherSlot adds a row to its own slot.
func (f *filler[In, B]) gatherSlot(w *worker, e entry[B]) {
	s := e.seat.slot
	if s.written == nil {
		s.written = make([]entry[B], 0, f.n)
	}
	s.written = append(s.written, e)
	if len(s.written) == f.n {
		f.gatherAll(w, s)
	}
}

// gatherRest makes batches of the slots that are not full, at the end of an epoch. What is written of the next one stands behind
// that end in the line, and has not come to its slots yet.
func (f *filler[In, B]) gatherRest(w *worker) {
	for _, s := range slices.Clone(f.slots) {
		f.gatherAll(w, s)
	}
}

// gatherAll gathers what is written of a slot, in the order of its rows.
func (f *filler[In, B]) gatherAll(w *worker, s *slot[B]) {
	rows := s.written
	s.written = nil
	slices.SortFunc(rows, func(a, b entry[B]) int { return cmp.Compare(a.seat.row, b.seat.row) })
	for _, e := range rows {
		f.gather(w, e)
	}
}
