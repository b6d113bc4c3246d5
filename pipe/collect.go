package pipe

import (
	"slices"
	"time"

	"github.com/headrace/headrace/pipe/internal/worker"
)

func (e *engine) stats() Stats {
	s := Stats{Elapsed: e.Elapsed()}
	through := e.throughSince()
	for _, st := range e.stages {
		s.Stages = append(s.Stages, st.stats(through))
	}
	s.Queues = e.queues()
	e.await(&s)
	if e.lanes() {
		s = s.Folded()
	}
	return s
}

// lanes reports whether several stages have one name.
func (e *engine) lanes() bool {
	return slices.ContainsFunc(e.stages, func(s *stage) bool { return s.node.lanes > 1 })
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

// stats are the stage's numbers. The last stage had nothing left to do since then.
func (s *stage) stats(through time.Duration) StageStats {
	t := StageStats{Name: s.name, Kind: s.kind}

	s.AddTo(&t)
	if over := s.through.Load(); over != nil {
		t.Over = max(0, through-over.since) * time.Duration(over.operations)
	}

	return t
}

// await says of sources that all else waits for them, if that is so: no queue has
// anything, and no other stage is at work.
func (e *engine) await(s *Stats) {
	if e.Ended() {
		return
	}
	for i, st := range e.stages {
		if s.Queues[i].Len > 0 || st.kind != kindSource && st.works() {
			return
		}
	}
	for i, st := range e.stages {
		if t := &s.Stages[i]; st.kind == kindSource && st.works() {
			// The clocks of its one worker add up to its life, but for what it does now.
			t.Awaited = max(0, s.Elapsed-(t.Starved+t.Busy+t.Blocked+t.Gated+t.Turn))
		}
	}
}

// works tells whether an operation goes on.
func (s *stage) works() bool {
	return slices.ContainsFunc(s.Working(), func(w *worker.Worker) bool { return w.Waiting() == nil })
}
