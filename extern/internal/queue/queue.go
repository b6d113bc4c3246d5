package queue

import (
	"slices"
	"sync"
)

// A Queue holds calls that wait for workers, the oldest first.
type Queue[T any] struct {
	most  int // calls that go to a worker at once
	bytes int // of small values, after which no more go with them

	mu       sync.Mutex    // guards what is below
	some     sync.Cond     // that something waits, or that somebody who looks must go
	backlogs []*Backlog[T] // that are open
	last     uint64        // number of the job that came last
	uneven   bool          // some callers do not call all functions
	err      error
	calls    uint64 // counts how often all callers were called

	suspects []*Job[T] // that wait for a process which has done nothing else
	trials   int       // of them, how many are in work
	fresh    int       // slots whose process has done nothing but suspects, or is still to come
}

// Init makes q an empty queue. A caller takes at most that many calls at once, and no
// more once their small values have that many bytes.
func (q *Queue[T]) Init(most, bytes int) {
	q.most, q.bytes = most, bytes
	q.some.L = &q.mu
}

// change carries out a change after which callers may have something else to do, or to
// end.
func (q *Queue[T]) change(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
	q.wakeAll()
}

// why returns the error that stops a backlog's calls, or nil.
func (q *Queue[T]) why(b *Backlog[T]) error {
	if q.err != nil {
		return q.err
	}
	return b.err
}

// Put adds jobs of one backlog.
func (q *Queue[T]) Put(all ...*Job[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range all {
		b := j.Backlog
		if err := q.why(b); err != nil {
			j.finish(err)
			continue
		}
		j.place = waiting
		q.last++
		j.number = q.last
		if b.waiting = append(b.waiting, j); j == all[len(all)-1] {
			q.wake(b)
		}
	}
}

// wake wakes a caller for a backlog. During a trial the one woken may have to leave the
// job, so all are woken then.
func (q *Queue[T]) wake(b *Backlog[T]) {
	switch {
	case q.trials > 0 || len(q.suspects) > 0:
		q.wakeAll()
	case b.eventLoops > 0:
		b.calls.Signal()
	case q.uneven:
		q.some.Broadcast()
	default:
		q.some.Signal()
	}
}

func (q *Queue[T]) wakeAll() {
	q.some.Broadcast()
	for _, b := range q.backlogs {
		b.calls.Broadcast()
	}
}

// PutBack returns jobs of one backlog to the front of the queue.
func (q *Queue[T]) PutBack(again []*Job[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(again) == 0 {
		return
	}
	b := again[0].Backlog
	var kept, suspects []*Job[T]
	for _, j := range again {
		q.endTrial(j)
		if why := q.why(b); why != nil {
			j.finish(why) // after which it may mean another call already
		} else if err := j.Ctx.Err(); err != nil {
			j.finish(err)
		} else if j.place = waiting; j.Suspect {
			suspects = append(suspects, j)
		} else {
			kept = append(kept, j)
		}
	}
	q.suspects = append(suspects, q.suspects...)
	b.waiting = append(kept, b.waiting[b.head:]...)
	b.head = 0
	q.wakeAll()
}

// Withdraw removes a job that no worker has taken, and reports whether it could.
func (q *Queue[T]) Withdraw(j *Job[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := j.Backlog
	for i := b.head; i < len(b.waiting); i++ {
		if b.waiting[i] == j {
			copy(b.waiting[i:], b.waiting[i+1:])
			b.waiting = b.waiting[:len(b.waiting)-1]
			return true
		}
	}
	if i := slices.Index(q.suspects, j); i >= 0 {
		q.suspects = slices.Delete(q.suspects, i, i+1)
		return true
	}
	return false
}

// Take waits for jobs that the caller may make and appends a fair share of them to into.
// All are of one backlog, the one that has waited longest, and at most as many as the
// caller takes at once. Take returns no jobs and true after [Queue.Call], and false when
// the caller must end.
//
// Suspects go to a process that has done nothing else, one at a time and with nothing
// beside them. If there is no such process and none is to come, the asking process makes
// room for one.
func (q *Queue[T]) Take(into []*Job[T], caller *Caller[T]) (jobs []*Job[T], more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	b, suspect, more := q.await(caller)
	switch {
	case suspect != nil:
		return append(into, suspect), true
	case b == nil:
		return into, more
	}

	p := caller.Process
	// From now on the process cannot try suspects: it could die of this call instead.
	q.spoil(p.Slot)
	p.begun = true

	n := len(b.waiting) - b.head
	callers := b.end - b.first
	n = min((n+callers-1)/callers, caller.Most(&b.waiting[b.head].Of), q.most)
	bytes := 0
	for len(into) < n {
		j := b.waiting[b.head]
		if len(into) > 0 && (j.Alone || bytes > q.bytes) {
			break
		}

		b.waiting[b.head] = nil
		b.head++
		j.place, j.process = running, p
		into = append(into, j)
		bytes += j.Bytes
		if j.Alone {
			break
		}
	}

	if b.head == len(b.waiting) {
		b.waiting, b.head = b.waiting[:0], 0
	}
	if i := slices.IndexFunc(q.backlogs, func(b *Backlog[T]) bool { return b.eventLoops == 0 && b.head < len(b.waiting) }); i >= 0 {
		q.wake(q.backlogs[i]) // there is something for another one
	}
	return into, true
}

// await waits for a backlog to take from, or a suspect to try. It returns neither, and
// more, after Queue.Call; without more the caller must end. The queue's lock is held.
func (q *Queue[T]) await(caller *Caller[T]) (b *Backlog[T], suspect *Job[T], more bool) {
	p := caller.Process
	s := p.Slot
	for {
		if p.gone || s.retired || p.renewed || q.err != nil {
			return nil, nil, false
		}
		if caller.Backlog != nil && q.why(caller.Backlog) != nil {
			return nil, nil, false
		}
		if p.trial == nil && caller.Backlog == nil && caller.calls != q.calls {
			caller.calls = q.calls
			return nil, nil, true
		}

		news := &q.some
		// A process that tries a suspect does nothing else beside it.
		if p.trial == nil {
			if len(q.suspects) > 0 && s.fresh && caller.mayTry(q.suspects[0].Backlog) {
				return nil, q.try(p), true
			}
			if len(q.suspects) > 0 && q.fresh == 0 {
				p.renewed = true
				q.freshen(s)
				q.wakeAll()
				return nil, nil, false
			}
			if b := q.oldest(caller); b != nil {
				return b, nil, true
			}
			if caller.Backlog != nil && q.mayCall(caller, caller.Backlog) {
				news = &caller.Backlog.calls
			}
		}
		news.Wait()
	}
}

// Call makes each thread's caller return from Take once, when it has no jobs.
func (q *Queue[T]) Call() { q.change(func() { q.calls++ }) }

// Err returns the error that stops all calls, or nil.
func (q *Queue[T]) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// oldest returns the backlog whose first job has waited longest, among those whose
// function the caller may call. The queue's lock is held.
func (q *Queue[T]) oldest(caller *Caller[T]) (oldest *Backlog[T]) {
	for _, b := range q.backlogs {
		if b.head >= len(b.waiting) {
			continue
		}
		older := oldest == nil || b.waiting[b.head].number < oldest.waiting[oldest.head].number
		if older && q.mayCall(caller, b) {
			oldest = b
		}
	}
	return oldest
}

// Fail ends all waiting jobs, and all that come later, with an error.
func (q *Queue[T]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	for _, b := range q.backlogs {
		b.empty(q.err)
	}
	for _, j := range q.suspects {
		j.finish(q.err)
	}
	q.suspects = nil
	q.wakeAll()
}

// Refuse ends the waiting jobs of one backlog, and all that come later, with an error.
func (q *Queue[T]) Refuse(b *Backlog[T], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.empty(b.err)
	q.suspects = slices.DeleteFunc(q.suspects, func(j *Job[T]) bool {
		if j.Backlog != b {
			return false
		}
		j.finish(b.err) // after which it may mean another call already
		return true
	})
	q.wakeAll()
}

func (b *Backlog[T]) empty(err error) {
	for _, j := range b.waiting[b.head:] {
		j.finish(err)
	}
	b.waiting, b.head = nil, 0
}

// Complete ends a job that a worker had.
func (q *Queue[T]) Complete(j *Job[T], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endTrial(j)
	j.finish(err)
}

// CompleteAll is Complete for several jobs.
func (q *Queue[T]) CompleteAll(all []*Job[T], errs []error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, j := range all {
		q.endTrial(j)
		j.finish(errs[i])
	}
}
