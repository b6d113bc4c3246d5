package rows

import (
	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
)

// Options are the settings of a machine.
type Options struct {
	Size        int  // rows of a batch
	Ordered     bool // batches have the items in the order of the input
	Groups      bool // batches have ends of their own, and Size is the most
	DropLast    bool // the last batch of an epoch is left out if it is not full
	Raises      bool // the first failure is the end
	KeepMembers bool // batches know which items they were put together of

	// Budget counts losses by the stage's own policy; nil: the consumer does, by the
	// run's.
	Budget *failure.Counter
}

// A Machine gives out rows and gathers batches. B is a batch of the store.
type Machine[B any] struct {
	Options
	workers int
	ahead   int // a buffer is reserved when no more rows than these wait for their batch

	pending      pending[B]
	batches      []*openBatch[B] // that have buffers, and are neither sealed nor dropped
	newest       *openBatch[B]   // of them the one that gives out rows; may be nil
	spareBuffers []*buffer[B]    // reserved, and in no batch yet
	reserving    bool            // somebody waits for the store
	owed         bool            // what is reserved next is for a batch that was given out
	over         bool            // nothing more is taken
	halted       bool            // and nothing more is decided
	epoch        int             // of the items that are taken, counted from 0
	claim        int             // rows of this epoch that are written or may yet be
	waiting      int             // rows that are written or may yet be, and are in no batch that was handed on
	taken        progress.Lineage

	sealer[B]
	unordered[B]
}

// firstRoom is for how many rows of a batch there is room at first. It grows with what
// comes, so that a greatest size that is never reached costs nothing.
const firstRoom = 64

// pendingSlack is how many inputs without a row may be pending, besides.
const pendingSlack = 64

// New makes a machine for a number of workers.
func New[B any](o Options, workers int) *Machine[B] {
	m := &Machine[B]{Options: o}
	m.SetWorkers(workers)
	return m
}

// SetWorkers says how many items may be written at once.
func (m *Machine[B]) SetWorkers(n int) {
	m.workers = n
	m.ahead = (n + m.Size - 1) / m.Size * m.Size
}

// Over tells whether nothing more is taken.
func (m *Machine[B]) Over() bool { return m.over || m.halted }

// Halt ends everything: nothing more is decided.
func (m *Machine[B]) Halt() { m.halted = true }

// Halted tells whether nothing more is decided.
func (m *Machine[B]) Halted() bool { return m.halted }

// A Step is what a worker does next.
type Step int

// The steps.
const (
	Take    Step = iota // take an item: there is a row for it
	Reserve             // ask the store for a buffer
	Wait                // until something has changed
)

// Ready says what a worker does next: it takes no item before there is a row for it.
func (m *Machine[B]) Ready() Step {
	switch {
	case m.barrier != nil, m.pending.len() >= m.ahead+2*m.Size+pendingSlack:
		return Wait
	case m.hasRow():
		return Take
	case m.reserving || m.owed || m.crowded():
		return Wait
	}
	return Reserve
}

// Rows is how many items may be taken at once where Ready says that one may: as many as
// there are rows for.
func (m *Machine[B]) Rows() int {
	free := 1
	switch {
	case !m.Ordered:
		s := m.roomyBatch()
		free = len(s.free) + m.Size - s.next
	case !m.Groups:
		free = m.Size - max(m.claim%m.Size, m.newest.next)
	}
	return max(1, min(free, m.ahead+2*m.Size+pendingSlack-m.pending.len()))
}

// Needs tells whether a buffer is still to be reserved, after Decide has been asked,
// which may have freed some.
func (m *Machine[B]) Needs() bool { return !m.hasRow() && !m.reserving && !m.owed }

// BeginReserve says that somebody waits for the store.
func (m *Machine[B]) BeginReserve() { m.reserving = true }

// Reserving tells whether somebody does.
func (m *Machine[B]) Reserving() bool { return m.reserving }

// EndReserve says that nobody does any more.
func (m *Machine[B]) EndReserve() { m.reserving = false }

// Add adds a buffer that the store has given.
func (m *Machine[B]) Add(b B) { m.spareBuffers = append(m.spareBuffers, &buffer[B]{b: b}) }

// crowded tells whether no buffer is to be reserved, because enough batches are being
// filled.
func (m *Machine[B]) crowded() bool {
	if !m.Ordered && m.crippled() != nil {
		return false
	}
	return m.waiting > m.ahead || m.Groups && len(m.batches) > m.workers
}

// hasRow tells whether a batch has a row to give. The newest gives none any more as soon
// as the rows that may yet survive make whole batches: after a loss, that is a batch with
// just the rows that are missing, so that those after it need not be moved.
func (m *Machine[B]) hasRow() bool {
	if !m.Ordered {
		return m.roomyBatch() != nil
	}
	if s := m.newest; s != nil {
		if m.Groups {
			return true
		}
		if (s.hope == 0 || s.live == 0) && len(s.buffer.abandonedRows) == 0 {
			s.next, s.hope = 0, 0 // nobody has or needs a row of it
		}
		if s.next == 0 || s.next < m.Size && m.claim%m.Size != 0 {
			return true
		}
	}
	if len(m.spareBuffers) == 0 || m.owed {
		return false
	}
	m.begin(m.newBatch())
	return true
}

// newBatch begins a batch in a spare buffer.
func (m *Machine[B]) newBatch() *openBatch[B] {
	s := &openBatch[B]{buffer: m.takeSpare()}
	m.batches = append(m.batches, s)
	return s
}

// begin makes a batch the newest.
func (m *Machine[B]) begin(s *openBatch[B]) {
	if m.newest != nil {
		m.newest.closed = true
	}
	m.newest = s
}

// Full tells whether a batch with an end of its own has as many items as it may, and this
// has not come.
func (m *Machine[B]) Full() bool { return m.Groups && m.newest.next == m.Size }

// A Placing is what a worker knows of its item.
type Placing[B any] struct {
	Ref     Ref[B]
	Lineage progress.Lineage
	Epoch   int
	ends    bool
	number  int64 // of the pending row; without order it is pending only when it is settled
}

// Place gives an item a row; ends: its batch ends after it.
func (m *Machine[B]) Place(of progress.Lineage, ends bool) Placing[B] {
	m.waiting++
	m.taken = of
	at := Placing[B]{Lineage: of, Epoch: m.epoch, ends: ends}
	if !m.Ordered {
		m.flying++
		at.Ref = m.roomyBatch().freeRow()
		at.Ref.batch.live++
		return at
	}

	s := m.newest
	at.Ref = Ref[B]{batch: s, buffer: s.buffer, row: s.next}
	s.next++
	s.live++
	s.hope++
	m.claim++
	if ends {
		s.closed = true
		m.newest = nil
	}
	at.number = m.pending.push(at.pending(Written, nil))
	return at
}

func (at *Placing[B]) pending(k Kind, why *failure.Failure) pendingRow[B] {
	return pendingRow[B]{Outcome: Outcome{Kind: k, Lineage: at.Lineage, Failure: why}, ref: at.Ref, epoch: at.Epoch, ends: at.ends}
}

// Next is what a failure between two items is about: the item that would come next.
func (m *Machine[B]) Next() progress.Lineage {
	if at, ok := m.taken.First(); ok && m.taken.Lo == m.taken.Hi {
		return progress.Single(at)
	}
	return progress.Single(m.taken.Hi)
}

// Pass takes an input that needs no row: one that is gone before, the end of an epoch, or
// of everything.
func (m *Machine[B]) Pass(o Outcome) {
	e := pendingRow[B]{Outcome: o, settled: true, epoch: m.epoch}
	if o.Kind == EpochEnd || o.Kind == Fatal {
		m.over = o.Last || o.Kind == Fatal
		m.endRows()
	}
	if !m.Ordered && o.Kind != Gone && m.flying > 0 {
		m.barrier = &e
		return
	}
	m.pending.push(e)
}

// endRows begins the rows of the next epoch. A batch of which nobody has a row goes with
// it.
func (m *Machine[B]) endRows() {
	for _, s := range m.batches {
		s.closed = s.closed || s.next > 0
	}
	if m.newest != nil && m.newest.closed {
		m.newest = nil
	}
	m.epoch++
	m.claim = 0
}

// Settle says what became of an item that has a row. It reports whether the stage ends
// with it.
func (m *Machine[B]) Settle(at *Placing[B], k Kind, why *failure.Failure) (ends bool) {
	if k != Written {
		m.waiting--
	}
	if k == Failed && (m.Raises || why.Stops) {
		m.over, ends = true, true
	}

	if !m.Ordered {
		m.settleAnywhere(at.pending(k, why))
		return ends
	}
	e := m.pending.at(at.number)
	e.settled, e.Kind, e.Failure = true, k, why
	if k != Written {
		e.ref.batch.hope--
		if e.epoch == m.epoch {
			m.claim--
		}
	}
	return ends
}

// Close ends the machine. It returns the buffers that nobody needs any more, and nobody
// writes into.
func (m *Machine[B]) Close() (drop []B) {
	left := m.spareBuffers
	for _, s := range m.batches {
		left = append(left, s.buffers()...)
	}
	for _, d := range m.decided {
		if d.Kind == Seal {
			left = append(left, d.target.buffers()...)
		}
	}
	m.batches, m.newest, m.spareBuffers, m.decided = nil, nil, nil, nil
	return vacate(left...)
}
