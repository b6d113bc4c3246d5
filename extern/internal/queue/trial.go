package queue

import "slices"

// A call that was in work when its process died is a suspect. It goes to a process that
// has done nothing else, with nothing beside it: if that one dies too, it was the call's
// fault.

// freshen notes that a keeper's next process, or the one that it has, may try suspects.
// The caller holds mu.
func (q *Queue[T]) freshen(k *Keeper) {
	if !k.fresh && !k.retired {
		k.fresh = true
		q.fresh++
	}
}

// spoil notes that it may not any more. The caller holds mu.
func (q *Queue[T]) spoil(k *Keeper) {
	if k.fresh {
		k.fresh = false
		q.fresh--
		q.wakeAll()
	}
}

// try begins with a suspect. The caller holds mu.
func (q *Queue[T]) try(p *Process[T]) *Job[T] {
	j := q.suspects[0]
	q.suspects = slices.Delete(q.suspects, 0, 1)
	j.place, j.process, j.First = running, p, !p.begun
	p.trial, p.begun = j, true
	q.trials++
	return j
}

// endTrial notes that a job's process does not have it any more. The caller holds mu.
func (q *Queue[T]) endTrial(j *Job[T]) {
	if p := j.process; p != nil && p.trial == j {
		p.trial = nil
		q.trials--
		q.wakeAll()
	}
	j.process = nil
}
