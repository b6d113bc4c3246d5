package headrace

import (
	"fmt"

	"headrace/pipe"
)

// spending counts the samples of an epoch that were replaced, against what is allowed. It is the consumer's: batches come in order, so the one with the sample that is one too
// many is the same in every run.
type spending struct {
	limit  int            // of all stages together that have no limit of their own
	own    map[string]int // limits of stages
	shared int64
	by     map[string]int64
}

// begin begins an epoch, or goes on in one.
func (s *spending) begin(from State) {
	s.shared = from.Replaced
	clear(s.by)
	for stage := range s.own {
		if n := from.Errors[stage]; n > 0 {
			s.add(stage, n)
			s.shared = max(0, s.shared-n)
		}
	}
}

func (s *spending) add(stage string, n int64) {
	if s.by == nil {
		s.by = make(map[string]int64)
	}
	s.by[stage] += n
}

// note tells what has been counted in stages that have limits of their own.
func (s *spending) note(errors map[string]int64) {
	for stage := range s.own {
		errors[stage] = s.by[stage]
	}
}

// spend counts a sample. It reports whether it is one too many, and the limit.
func (s *spending) spend(stage string) (over bool, limit int) {
	limit, own := s.own[stage]
	if !own {
		s.shared++
		return s.shared > int64(s.limit), s.limit
	}
	s.add(stage, 1)
	return s.by[stage] > int64(limit), limit
}

// before is the state, where it may have to be gone back to.
func (l *Loader) before() (s State) {
	if l.slots.Notes {
		s = l.State()
	}
	return s
}

// tellReplaced tells of the samples in whose places others came into a batch. One too many ends the run before the batch.
func (l *Loader) tellReplaced(b *Batch, before State) error {
	all := b.Replaced()
	for _, lost := range all {
		if over, limit := l.spending.spend(lost.Stage); over {
			b.Release()
			return l.overspent(lost, limit, before)
		}
	}
	for _, lost := range all {
		l.count.Replaced++
		l.tell(*lost)
	}
	return nil
}

// overspent ends the run at a state.
func (l *Loader) overspent(last *Lost, limit int, at State) error {
	l.Stop()
	l.spending.begin(at)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place = at
	failed := &pipe.StageError{Stage: last.Stage, Source: last.ID.Source, Epoch: last.ID.Epoch, Pos: last.ID.Pos, Err: last.Err}
	l.failure = fmt.Errorf("%w: %w (others came in the places of %d samples of this epoch; max_errors allows no more)", ErrTooManyLost, failed, limit)
	return l.failure
}
