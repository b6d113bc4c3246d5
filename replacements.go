package headrace

// replacementBudget counts the samples of an epoch that were replaced, against what is
// allowed. It is the consumer's: batches come in order, so the one with the sample that
// is one too many is the same in every run.
type replacementBudget struct {
	limit  int            // of all stages together that have no limit of their own
	own    map[string]int // limits of stages
	shared int64
	by     map[string]int64
}

// begin begins an epoch, or goes on in one.
func (s *replacementBudget) begin(from State) {
	s.shared = from.Replaced
	clear(s.by)
	for stage := range s.own {
		if n := from.Errors[stage]; n > 0 {
			s.add(stage, n)
			s.shared = max(0, s.shared-n)
		}
	}
}

func (s *replacementBudget) add(stage string, n int64) {
	if s.by == nil {
		s.by = make(map[string]int64)
	}
	s.by[stage] += n
}

// note tells what has been counted in stages that have limits of their own.
func (s *replacementBudget) note(errors map[string]int64) {
	for stage := range s.own {
		errors[stage] = s.by[stage]
	}
}

// spend counts a sample. It reports whether it is one too many, and the limit.
func (s *replacementBudget) spend(stage string) (over bool, limit int) {
	limit, own := s.own[stage]
	if !own {
		s.shared++
		return s.shared > int64(s.limit), s.limit
	}
	s.add(stage, 1)
	return s.by[stage] > int64(limit), limit
}
