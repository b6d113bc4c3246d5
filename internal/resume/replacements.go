package resume

import "github.com/headrace/headrace/state"

// Replacements counts the samples of an epoch that were replaced, against what is
// allowed. It is the consumer's: batches come in order, so the one with the sample that
// is one too many is the same in every run.
type Replacements struct {
	Limit  int            // of all stages together that have no limit of their own
	Own    map[string]int // limits of stages
	shared int64
	by     map[string]int64
}

// Begin begins an epoch, or goes on in one.
func (s *Replacements) Begin(from state.State) {
	s.shared = from.Replaced
	clear(s.by)
	for stage := range s.Own {
		if n := from.Errors[stage]; n > 0 {
			s.add(stage, n)
			s.shared = max(0, s.shared-n)
		}
	}
}

func (s *Replacements) add(stage string, n int64) {
	if s.by == nil {
		s.by = make(map[string]int64)
	}
	s.by[stage] += n
}

// Note tells what has been counted in stages that have limits of their own.
func (s *Replacements) Note(errors map[string]int64) {
	for stage := range s.Own {
		errors[stage] = s.by[stage]
	}
}

// Spend counts a sample. It reports whether it is one too many, and the limit.
func (s *Replacements) Spend(stage string) (over bool, limit int) {
	limit, own := s.Own[stage]
	if !own {
		s.shared++
		return s.shared > int64(s.Limit), s.Limit
	}
	s.add(stage, 1)
	return s.by[stage] > int64(limit), limit
}
