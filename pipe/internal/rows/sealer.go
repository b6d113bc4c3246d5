package rows

import (
	"slices"

	"github.com/headrace/headrace/pipe/internal/progress"
)

// A sealer deals with the inputs that are settled, from the oldest on.
type sealer[B any] struct {
	decided  []Decision[B]    // and not told yet
	current  Decision[B]      // that was reported last
	gathered []Ref[B]         // survivors that make the next batch
	unused   []Ref[B]         // room for the ones after these
	usual    int              // how many made the one before
	lineage  progress.Lineage // what they were made of
	of       int              // their epoch
}

// A DecisionKind says what is to be done.
type DecisionKind int

// The kinds of decisions.
const (
	Send DecisionKind = iota // hand Outcome on
	Seal                     // make the moves, seal the batch, hand it on, and call Sealed
	Move                     // make the moves, and call Moved
	Drop                     // give Buffers back to the store
)

// A Decision is something to be done, before anything else is decided.
type Decision[B any] struct {
	Kind    DecisionKind
	Outcome Outcome // of Send
	Skipped int     // of Send: rows that are left out at the end of an epoch
	Lineage progress.Lineage
	Epoch   int
	Buffers []B // of Drop

	rows   []Ref[B] // that make the batch
	target *openBatch[B]
	newest *openBatch[B] // of Move: at the time
}

// Rows is how many make the batch.
func (d *Decision[B]) Rows() int { return len(d.rows) }

// Buffer is where the batch is.
func (d *Decision[B]) Buffer() B { return d.target.buffer.b }

// Moves calls move for each row that is elsewhere than it belongs, in order. A row never
// goes where one is that is still needed: the k-th survivor is in its own batch at row k
// or later, and later batches are in other buffers.
func (d *Decision[B]) Moves(move func(to int, src B, from int)) {
	for k, r := range d.rows {
		if r.buffer != d.target.buffer || r.row != k {
			move(k, r.buffer.b, r.row)
		}
	}
}

// Decide is what is to be done next; nil if that is nothing as yet. It is valid until
// Decide is called again.
func (m *Machine[B]) Decide() *Decision[B] {
	for !m.halted {
		if len(m.decided) > 0 {
			m.current = m.decided[0]
			m.decided = slices.Delete(m.decided, 0, 1)
			return &m.current
		}
		if e := m.pending.first(); e != nil {
			m.conclude(e)
			m.pending.pop()
		} else if !m.sweep() && !m.compact() {
			break
		}
	}
	return nil
}

// conclude deals with the oldest input.
func (m *Machine[B]) conclude(e *pendingRow[B]) {
	switch e.Kind {
	case Written:
		if m.Ordered {
			m.gather(e)
			m.end(e)
		} else {
			m.gatherInto(e)
		}

		if m.Budget != nil && !m.Budget.Pass(1) {
			m.send(Outcome{Kind: Fatal, Lineage: m.Budget.Last, Failure: m.Budget.Exceeded()}, 0)
		}
		return
	case Gone:
		m.hole(e)
		if m.within(e) {
			return
		}
	case Failed:
		m.hole(e)
		e.Kind = Gone
		if m.Raises || e.Failure.Stops {
			e.Kind = Fatal
		} else if m.Budget != nil {
			e.Failure.Counted = true
			if !m.Budget.Lose(1, 1, e.Lineage, e.Failure) {
				e.Kind, e.Failure = Fatal, m.Budget.Exceeded()
			}
		}

		if e.Kind == Gone && m.within(e) {
			return
		}
	case EpochEnd:
		m.send(e.Outcome, m.endEpoch())
		return
	}

	m.send(e.Outcome, 0)
}

func (m *Machine[B]) send(o Outcome, skipped int) {
	m.decided = append(m.decided, Decision[B]{Kind: Send, Outcome: o, Skipped: skipped})
}

// hole forgets the row of an item that is lost or dropped.
func (m *Machine[B]) hole(e *pendingRow[B]) {
	if e.ref.batch != nil {
		e.ref.batch.live--
	}
}

// gather adds a row to the next batch.
func (m *Machine[B]) gather(e *pendingRow[B]) {
	m.gathered = append(m.gathered, e.ref)
	m.lineage.Join(e.Lineage, m.KeepMembers)
	m.of = e.epoch
	if len(m.gathered) == m.Size && !m.Groups {
		m.emit()
	}
}

// within makes a loss a part of its batch, if that has an end of its own: it is reported
// with the batch, so that a state has all of it or nothing, and the same items make the
// same batch after a resume.
func (m *Machine[B]) within(e *pendingRow[B]) bool {
	if !m.Groups || e.ref.batch == nil {
		return false
	}
	m.lineage.Aside(e.Lineage, m.KeepMembers)
	if e.Failure != nil {
		m.lineage.Lose(progress.LostInput{Of: e.Lineage, Why: e.Failure})
	}
	m.end(e)
	return true
}

// end ends a batch after an item that says so.
func (m *Machine[B]) end(e *pendingRow[B]) {
	if e.ends {
		m.endBatch()
	}
}

// endBatch hands on what was gathered of a batch with an end of its own. Of one of which
// nothing was gathered only the losses are handed on.
func (m *Machine[B]) endBatch() {
	if len(m.gathered) > 0 {
		m.emit()
	} else if _, some := m.lineage.First(); some {
		m.send(Outcome{Kind: Gone, Lineage: m.lineage}, 0)
		m.lineage = progress.Lineage{}
	}
}

// endEpoch hands on or drops a last batch that is not full. It returns how many rows were
// left out.
func (m *Machine[B]) endEpoch() (skipped int) {
	if m.Budget != nil {
		m.Budget.Reset()
	}
	if !m.Ordered {
		m.gatherRest()
	}

	switch skipped = len(m.gathered); {
	case m.Groups:
		m.endBatch()
		return 0
	case skipped == 0:
		return 0
	case !m.DropLast:
		m.emit()
		return 0
	}

	m.waiting -= skipped
	m.forget(m.gathered)
	m.gathered, m.lineage = m.gathered[:0], progress.Lineage{}
	return skipped
}

// forget says that nobody needs rows any more.
func (m *Machine[B]) forget(rows []Ref[B]) {
	for _, r := range rows {
		r.batch.live--
	}
}

// emit makes a batch of what was gathered. It is where the first row does; no row there
// is still being written or will be given out, because what was gathered ends with its
// last row or after it.
func (m *Machine[B]) emit() {
	target := m.gathered[0].batch
	m.remove(target)
	if m.newest == target {
		m.newest = nil
	}
	m.decided = append(m.decided, Decision[B]{Kind: Seal, Lineage: m.lineage, Epoch: m.of, rows: m.gathered, target: target})
	m.gathered, m.unused = m.unused, nil
	m.lineage = progress.Lineage{}
}

func (m *Machine[B]) remove(s *openBatch[B]) {
	if i := slices.Index(m.batches, s); i >= 0 {
		m.batches = slices.Delete(m.batches, i, i+1)
	}
}

// Sealed says that a batch was sealed, and handed on or dropped. It returns the other
// buffers in which it had rows, which may be dropped.
func (m *Machine[B]) Sealed(d *Decision[B]) (drop []B) {
	m.waiting -= len(d.rows)
	m.usual = len(d.rows)
	m.forget(d.rows)
	m.unused = d.rows[:0]
	return vacate(d.target.before...)
}

// Stuck tells whether a batch cannot be sealed where it is, because somebody may still
// write there. It has to get a spare buffer with Renew.
func (d *Decision[B]) Stuck() bool { return len(d.target.buffer.abandonedRows) > 0 }

// Owe says whether the next spare buffer is for a batch that is stuck.
func (m *Machine[B]) Owe(owed bool) { m.owed = owed }

// HasSpare tells whether there is one.
func (m *Machine[B]) HasSpare() bool { return len(m.spareBuffers) > 0 }

// Renew gives a batch that is stuck a spare buffer.
func (m *Machine[B]) Renew(d *Decision[B]) { d.target.renew(m.takeSpare()) }

// Forsake gives up a batch that was to be sealed. It returns the buffers to drop.
func (m *Machine[B]) Forsake(d *Decision[B]) (drop []B) { return vacate(d.target.buffers()...) }

// compact makes rows when there are none and nothing is being written: what was gathered
// moves to the front of its batch, which gives out the rows after it. So a store need not
// have another buffer for a batch to be completed. It reports whether there is something
// to do.
func (m *Machine[B]) compact() bool {
	switch {
	case !m.Ordered, m.over, m.pending.len() > 0, len(m.gathered) == 0, m.hasRow():
		return false
	}
	target := m.gathered[0].batch
	if m.Groups || len(target.buffer.abandonedRows) > 0 {
		return false
	}
	m.decided = append(m.decided, Decision[B]{Kind: Move, Lineage: m.lineage, rows: m.gathered, target: target, newest: m.newest})
	return true
}

// Moved says that the rows are where they belong.
func (m *Machine[B]) Moved(d *Decision[B]) {
	for k := range m.gathered {
		m.gathered[k].batch.live--
		m.gathered[k] = Ref[B]{d.target, d.target.buffer, k}
		d.target.live++
	}

	if m.newest == d.newest { // else the store has just given a buffer, which may be in use already
		d.target.closed = false
		d.target.next, d.target.hope = len(m.gathered), len(m.gathered)
		if d.newest != d.target {
			m.begin(d.target)
		}
	}
}

// sweep drops one batch that is done with. It reports whether there was one.
func (m *Machine[B]) sweep() bool {
	for _, s := range m.batches {
		if s.closed && s.live == 0 {
			m.remove(s)
			if drop := vacate(s.buffers()...); drop != nil {
				m.decided = append(m.decided, Decision[B]{Kind: Drop, Buffers: drop})
			}
			return true
		}
	}
	return false
}
