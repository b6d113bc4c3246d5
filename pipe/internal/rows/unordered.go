package rows

import (
	"cmp"
	"slices"
)

// unordered is what a machine needs besides when it keeps no order. The row of an item
// that is lost goes to the next item, so there are no holes but at the end of an epoch,
// and a full batch is sealed, whatever the others still wait for. The end of an epoch
// waits until nothing is being written.
type unordered[B any] struct {
	flying  int            // items that are being written
	barrier *pendingRow[B] // what ends the epoch, as soon as nothing is
}

// roomyBatch is the oldest batch that has a row to give, or nil. A spare buffer is for
// one that could not be filled otherwise, or for a new one.
func (m *Machine[B]) roomyBatch() *openBatch[B] {
	for _, s := range m.batches {
		if s.roomy(m.Size) {
			return s
		}
	}
	if len(m.spareBuffers) == 0 || m.owed {
		return nil
	}
	if s := m.crippled(); s != nil {
		s.renew(m.takeSpare())
		return s
	}
	return m.newBatch()
}

func (s *openBatch[B]) roomy(n int) bool { return !s.closed && (len(s.free) > 0 || s.next < n) }

// crippled is a batch that cannot be filled, because of operations that were abandoned,
// or nil.
func (m *Machine[B]) crippled() *openBatch[B] {
	for _, s := range m.batches {
		if !s.closed && len(s.lostRows) > 0 && !s.roomy(m.Size) {
			return s
		}
	}
	return nil
}

func (s *openBatch[B]) freeRow() Ref[B] {
	if n := len(s.free); n > 0 {
		row := s.free[n-1]
		s.free = s.free[:n-1]
		return Ref[B]{s, s.buffer, row}
	}
	s.next++
	return Ref[B]{s, s.buffer, s.next - 1}
}

// settleAnywhere puts an item after those that were settled before.
func (m *Machine[B]) settleAnywhere(e pendingRow[B]) {
	m.flying--
	e.settled = true
	if e.Kind != Written {
		e.ref.giveBack()
	}
	m.pending.push(e)
	if m.barrier != nil && m.flying == 0 {
		m.pending.push(*m.barrier)
		m.barrier = nil
	}
}

// giveBack frees the row of an item that is lost or dropped, unless somebody may still
// write into it.
func (r Ref[B]) giveBack() {
	s := r.batch
	if s.buffer == r.buffer && slices.Contains(r.buffer.abandonedRows, r.row) {
		s.lostRows = append(s.lostRows, r.row)
	} else {
		s.free = append(s.free, r.row)
	}
}

// gatherInto adds a row to its own batch.
func (m *Machine[B]) gatherInto(e *pendingRow[B]) {
	s := e.ref.batch
	if s.written == nil {
		s.written = make([]pendingRow[B], 0, min(m.Size, max(m.usual, firstRoom)))
	}
	s.written = append(s.written, *e)
	if len(s.written) == m.Size {
		m.gatherAll(s)
	}
}

// gatherRest makes batches of those that are not full, at the end of an epoch. What is
// written of the next one is pending after that end, and has not come to its batches yet.
// They are in buffers that nobody else writes into, if there are any.
func (m *Machine[B]) gatherRest() {
	all := slices.Clone(m.batches)
	slices.SortStableFunc(all, func(a, b *openBatch[B]) int {
		return cmp.Compare(len(a.buffer.abandonedRows), len(b.buffer.abandonedRows))
	})
	for _, s := range all {
		m.gatherAll(s)
	}
}

// gatherAll gathers what is written of a batch, in the order of its rows.
func (m *Machine[B]) gatherAll(s *openBatch[B]) {
	rows := s.written
	s.written = nil
	slices.SortFunc(rows, func(a, b pendingRow[B]) int { return cmp.Compare(a.ref.row, b.ref.row) })
	for i := range rows {
		m.gather(&rows[i])
	}
}
