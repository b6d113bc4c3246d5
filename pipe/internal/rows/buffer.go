package rows

import "slices"

// A buffer is a batch of the store, where an open batch is. From when an operation in
// it is abandoned, which may still write into its row, nothing is moved into the buffer,
// and it is not sealed: its rows move to another one, and it is dropped when the
// operation has returned.
type buffer[B any] struct {
	b             B
	abandonedRows []int // of operations that were abandoned and have not returned
	left          bool  // nobody needs its rows
}

// An openBatch is a batch that is being filled.
type openBatch[B any] struct {
	buffer *buffer[B]
	before []*buffer[B] // where rows were written before it was given this buffer
	next   int          // the row that is given out next
	live   int          // rows given out that are neither lost, moved away nor handed on, as far as was decided
	hope   int          // rows given out that are not known to be lost
	closed bool         // no more rows are given out

	// Without order:
	free     []int           // rows given back
	lostRows []int           // rows of operations that were abandoned
	written  []pendingRow[B] // rows that are written
}

// A Ref is a row of a batch, and the buffer where it is written.
type Ref[B any] struct {
	batch  *openBatch[B]
	buffer *buffer[B]
	row    int
}

// Buffer is what the store has given for the row's batch.
func (r Ref[B]) Buffer() B { return r.buffer.b }

// Row is its number there.
func (r Ref[B]) Row() int { return r.row }

// Abandon notes that the operation that writes a row was abandoned.
func (m *Machine[B]) Abandon(r Ref[B]) {
	r.buffer.abandonedRows = append(r.buffer.abandonedRows, r.row)
}

// Return notes that it has returned. The row may be given out again where no order is
// kept, if the batch still has this buffer. drop is true if nobody needs the buffer.
func (m *Machine[B]) Return(r Ref[B]) (drop bool) {
	r.buffer.abandonedRows = without(r.buffer.abandonedRows, r.row)
	if s := r.batch; s.buffer == r.buffer && slices.Contains(s.lostRows, r.row) {
		s.lostRows, s.free = without(s.lostRows, r.row), append(s.free, r.row)
	}
	return len(r.buffer.abandonedRows) == 0 && r.buffer.left
}

func without(rows []int, row int) []int {
	return slices.DeleteFunc(rows, func(r int) bool { return r == row })
}

// renew gives a batch another buffer. Rows that are written, or being written, are where
// they are until they are moved.
func (s *openBatch[B]) renew(fresh *buffer[B]) {
	s.before = append(s.before, s.buffer)
	s.buffer = fresh
	s.free = append(s.free, s.lostRows...)
	s.lostRows = nil
}

// takeSpare takes a buffer that was reserved and is in no batch yet.
func (m *Machine[B]) takeSpare() *buffer[B] {
	fresh := m.spareBuffers[0]
	m.spareBuffers = slices.Delete(m.spareBuffers, 0, 1)
	return fresh
}

// buffers are all of a batch.
func (s *openBatch[B]) buffers() []*buffer[B] { return append(s.before, s.buffer) }

// vacate returns those of the buffers to drop: their rows nobody needs. Others are left
// to those who may still write there.
func vacate[B any](all ...*buffer[B]) (drop []B) {
	for _, b := range all {
		if b.left = true; len(b.abandonedRows) == 0 {
			drop = append(drop, b.b)
		}
	}
	return drop
}
