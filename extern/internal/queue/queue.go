package queue

import (
	"slices"
	"sync"
)

// A Queue is where calls wait for workers, the oldest first.
type Queue[T any] struct {
	most  int // calls that go to a worker at once
	bytes int // of small values, after which no more go with them

	mu     sync.Mutex // guards what is below
	some   sync.Cond  // that something waits, or that somebody who looks must go
	lines  []*Line[T] // that are open
	last   uint64     // number of the job that came last
	uneven bool       // some lanes do not call all functions
	err    error
	calls  uint64 // counts how often all lanes were called

	suspects []*Job[T] // that wait for a process which has done nothing else
	trials   int       // of them, how many are in work
	fresh    int       // keepers whose process has done nothing but suspects, or is still to come
}

// Init makes an empty queue of it, from which a lane takes at most so many calls at
// once, and no more when these have so many bytes.
func (q *Queue[T]) Init(most, bytes int) {
	q.most, q.bytes = most, bytes
	q.some.L = &q.mu
}

// why is the reason why nothing of a line is called any more; nil: there is none.
func (q *Queue[T]) why(l *Line[T]) error {
	if q.err != nil {
		return q.err
	}
	return l.err
}

// Put adds jobs of one line.
func (q *Queue[T]) Put(all ...*Job[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range all {
		l := j.Line
		if err := q.why(l); err != nil {
			j.finish(err)
			continue
		}
		j.place = waiting
		q.last++
		j.number = q.last
		if l.waiting = append(l.waiting, j); j == all[len(all)-1] {
			q.wake(l)
		}
	}
}

// wake has somebody look at what waits in a line. A lane beside a trial looks and must
// leave it, so then all do.
func (q *Queue[T]) wake(l *Line[T]) {
	switch {
	case q.trials > 0 || len(q.suspects) > 0:
		q.wakeAll()
	case l.loops > 0:
		l.calls.Signal()
	case q.uneven:
		q.some.Broadcast()
	default:
		q.some.Signal()
	}
}

func (q *Queue[T]) wakeAll() {
	q.some.Broadcast()
	for _, l := range q.lines {
		l.calls.Broadcast()
	}
}

// PutBack has jobs of one line done again, before all others.
func (q *Queue[T]) PutBack(again []*Job[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(again) == 0 {
		return
	}
	l := again[0].Line
	var kept, suspects []*Job[T]
	for _, j := range again {
		q.endTrial(j)
		if why := q.why(l); why != nil {
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
	l.waiting = append(kept, l.waiting[l.head:]...)
	l.head = 0
	q.wakeAll()
}

// Withdraw takes a job out that no worker has; it reports whether that was so.
func (q *Queue[T]) Withdraw(j *Job[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := j.Line
	for i := l.head; i < len(l.waiting); i++ {
		if l.waiting[i] == j {
			copy(l.waiting[i:], l.waiting[i+1:])
			l.waiting = l.waiting[:len(l.waiting)-1]
			return true
		}
	}
	if i := slices.Index(q.suspects, j); i >= 0 {
		q.suspects = slices.Delete(q.suspects, i, i+1)
		return true
	}
	return false
}

// Take waits for jobs of a line whose calls the lane makes, the one that has waited
// longest, and appends a fair share of them to into, at most so many as the lane takes at
// once. It returns none, and true, when all lanes were called; and false when the lane
// has to go.
//
// Suspects go to a process that has done nothing else, one at a time and with nothing
// beside them. Where there is none and none is to come, the process that asks makes room
// for one.
func (q *Queue[T]) Take(into []*Job[T], lane *Lane[T]) (jobs []*Job[T], more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	l, suspect, more := q.await(lane)
	switch {
	case suspect != nil:
		return append(into, suspect), true
	case l == nil:
		return into, more
	}

	p := lane.Process
	q.spoil(p.Keeper)
	p.begun = true

	n := len(l.waiting) - l.head
	lanes := l.end - l.first
	n = min((n+lanes-1)/lanes, lane.Most(&l.waiting[l.head].Of), q.most)
	bytes := 0
	for len(into) < n {
		j := l.waiting[l.head]
		if len(into) > 0 && (j.Alone || bytes > q.bytes) {
			break
		}

		l.waiting[l.head] = nil
		l.head++
		j.place, j.process = running, p
		into = append(into, j)
		bytes += j.Bytes
		if j.Alone {
			break
		}
	}

	if l.head == len(l.waiting) {
		l.waiting, l.head = l.waiting[:0], 0
	}
	if i := slices.IndexFunc(q.lines, func(l *Line[T]) bool { return l.loops == 0 && l.head < len(l.waiting) }); i >= 0 {
		q.wake(q.lines[i]) // there is something for another one
	}
	return into, true
}

// await waits until there is a line that a lane is to take from, or a suspect that it
// tries. Neither, and more: it was called; else it has to go. The caller holds mu.
func (q *Queue[T]) await(lane *Lane[T]) (l *Line[T], suspect *Job[T], more bool) {
	p := lane.Process
	k := p.Keeper
	for {
		if p.gone || k.retired || p.renewed || q.err != nil {
			return nil, nil, false
		}
		if lane.Line != nil && q.why(lane.Line) != nil {
			return nil, nil, false
		}
		if p.trial == nil && lane.Line == nil && lane.calls != q.calls {
			lane.calls = q.calls
			return nil, nil, true
		}

		news := &q.some
		if p.trial == nil {
			if len(q.suspects) > 0 && k.fresh && lane.mayTry(q.suspects[0].Line) {
				return nil, q.try(p), true
			}
			if len(q.suspects) > 0 && q.fresh == 0 {
				p.renewed = true
				q.freshen(k)
				q.wakeAll()
				return nil, nil, false
			}
			if l := q.oldest(lane); l != nil {
				return l, nil, true
			}
			if lane.Line != nil && q.mayCall(lane, lane.Line) {
				news = &lane.Line.calls
			}
		}
		news.Wait()
	}
}

// Call has each thread's lane look at what there is besides jobs, once it has none.
func (q *Queue[T]) Call() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls++
	q.wakeAll()
}

// Err is why nothing is called any more; nil: something is.
func (q *Queue[T]) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// oldest is the line whose first job has waited longest, of those that a lane calls the
// functions of. The caller holds mu.
func (q *Queue[T]) oldest(lane *Lane[T]) (oldest *Line[T]) {
	for _, l := range q.lines {
		if l.head < len(l.waiting) && (oldest == nil || l.waiting[l.head].number < oldest.waiting[oldest.head].number) && q.mayCall(lane, l) {
			oldest = l
		}
	}
	return oldest
}

// Fail ends what waits, and all that comes.
func (q *Queue[T]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	for _, l := range q.lines {
		l.empty(q.err)
	}
	for _, j := range q.suspects {
		j.finish(q.err)
	}
	q.suspects = nil
	q.wakeAll()
}

// Refuse ends what waits of one line, and all of it that comes.
func (q *Queue[T]) Refuse(l *Line[T], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.empty(l.err)
	q.suspects = slices.DeleteFunc(q.suspects, func(j *Job[T]) bool {
		if j.Line != l {
			return false
		}
		j.finish(l.err) // after which it may mean another call already
		return true
	})
	q.wakeAll()
}

func (l *Line[T]) empty(err error) {
	for _, j := range l.waiting[l.head:] {
		j.finish(err)
	}
	l.waiting, l.head = nil, 0
}

// Complete ends a job that a worker had.
func (q *Queue[T]) Complete(j *Job[T], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endTrial(j)
	j.finish(err)
}

// CompleteAll does that for several.
func (q *Queue[T]) CompleteAll(all []*Job[T], errs []error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, j := range all {
		q.endTrial(j)
		j.finish(errs[i])
	}
}
