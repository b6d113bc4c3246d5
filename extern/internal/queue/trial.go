package queue

import "slices"

// A call that was in work when its process died is a suspect. It goes to a process that
// has done nothing else, with nothing beside it: if that one dies too, it was the call's
// fault.

// freshen lets a slot's next process, or its current one, try suspects. The queue's lock
// is held.
func (q *Queue[T]) freshen(s *Slot) {
	if !s.fresh && !s.retired {
		s.fresh = true
		q.fresh++
	}
}

// spoil ends that. The queue's lock is held.
func (q *Queue[T]) spoil(s *Slot) {
	if s.fresh {
		s.fresh = false
		q.fresh--
		q.wakeAll()
	}
}

// try gives a process the first suspect. The queue's lock is held.
func (q *Queue[T]) try(p *Process[T]) *Job[T] {
	j := q.suspects[0]
	q.suspects = slices.Delete(q.suspects, 0, 1)
	j.place, j.process, j.First = running, p, !p.begun
	p.trial, p.begun = j, true
	q.trials++
	return j
}

// endTrial notes that a job's process no longer has it. The queue's lock is held.
func (q *Queue[T]) endTrial(j *Job[T]) {
	if p := j.process; p != nil && p.trial == j {
		p.trial = nil
		q.trials--
		q.wakeAll()
	}
	j.process = nil
}
