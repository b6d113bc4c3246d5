package queue

import (
	"github.com/headrace/headrace/pipe/internal/failure"

	"github.com/headrace/headrace/pipe/internal/progress"
)

// pass judges a message that leaves the ring. It reports whether it is the end of a
// failed run.
func (r *Ring[T]) pass(m *Message[T]) (broken bool) {
	if r.Budget != nil {
		r.passLosses(m.Lineage.Within())
	}

	switch m.Kind {
	case Item:
		if r.Budget != nil && !r.Budget.Pass(1) {
			r.terminal = &Message[T]{Kind: Fatal, Lineage: r.Budget.Last, Failure: r.Budget.Exceeded()}
		}
	case Failed:
		m.Kind = Gone
		if r.Raises || m.Failure.Stops {
			m.Kind = Fatal
		} else if r.Budget != nil {
			m.Failure.Counted = true
			if !r.Budget.Lose(1, 1, m.Lineage, m.Failure) {
				m.Kind, m.Failure = Fatal, r.Budget.Exceeded()
			}
		}
	case Mark:
		r.ended = m.Last
		if r.Budget != nil {
			r.Budget.Reset()
		}
	}

	if m.Kind == Fatal {
		r.ended = true
	}
	return m.Kind == Fatal
}

// passLosses judges what an aggregator has lost in the making of an output.
func (r *Ring[T]) passLosses(all []progress.LostInput) {
	for _, lost := range all {
		l := failure.Part(lost)
		if l.Failure.From != r.From || l.Failure.Counted {
			continue
		}
		l.Failure.Counted = true
		if !r.Budget.Lose(1, 1, l.Lineage, l.Failure) {
			r.terminal = &Message[T]{Kind: Fatal, Lineage: l.Lineage, Failure: r.Budget.Exceeded()}
		}
	}
}
