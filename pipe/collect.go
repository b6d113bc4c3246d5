package pipe

import (
	"time"
)

func (e *engine) stats() Stats {
	s := Stats{Elapsed: e.Elapsed()}
	for _, st := range e.stages {
		s.Stages = append(s.Stages, st.stats())
	}
	s.Queues = e.queues()
	return s
}

// throughSince is when the last stage had nothing left to do; now, as long as there is
// one that has.
func (e *engine) throughSince() (last time.Duration) {
	for _, s := range e.stages {
		over := s.through.Load()
		if over == nil {
			return e.Elapsed()
		}
		last = max(last, over.since)
	}
	return last
}

// queues are the numbers of all queues.
func (e *engine) queues() (all []QueueStats) {
	for _, st := range e.stages {
		q := st.queue.Stats()
		q.From = st.name
		if st.below != nil {
			q.To = st.below.name
		}
		all = append(all, q)
	}
	return all
}

func (s *stage) stats() StageStats {
	t := StageStats{Name: s.name, Kind: s.kind}

	s.AddTo(&t)
	if over := s.through.Load(); over != nil {
		t.Over = max(0, s.engine.throughSince()-over.since) * time.Duration(over.operations)
	}

	return t
}
