package extern

import (
	"context"
	"slices"
	"sync"
)

// job is a call in the pool.
type job struct {
	call    *Call
	yield   func([]Value) error // of a stream
	ctx     context.Context
	done    chan struct{} // has room for one
	err     error
	place   place    // guarded by the queue's lock, as process is
	process *process // that works on it
	suspect bool     // it was in work when a process died: it is done again alone
	first   bool     // its process has done nothing before
	given   int      // of a stream: how many samples were handed on
}

type place uint8

const (
	waiting place = iota
	running
	finished
)

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// forget makes the job ready for another call. Nobody else has it any more.
func (j *job) forget() {
	*j = job{done: j.done}
	jobs.Put(j)
}

// queue is where calls wait for workers, the oldest first.
type queue struct {
	mu      sync.Mutex
	some    sync.Cond // that something waits, or that somebody who looks must go
	waiting []*job    // from head on
	head    int
	lanes   int // that the waiting are divided among
	err     error

	suspects []*job // that wait for a process which has done nothing else
	trials   int    // of them, how many are in work
	fresh    int    // keepers whose process has done nothing but suspects, or is still to come
}

const (
	packCalls = 64
	packBytes = 256 << 10 // of small values
)

func (q *queue) init() {
	q.some.L = &q.mu
	q.lanes = 1
}

func (q *queue) width(n int) {
	q.mu.Lock()
	q.lanes = n
	q.mu.Unlock()
}

func (q *queue) put(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		j.finish(q.err)
		return
	}
	j.place = waiting
	q.waiting = append(q.waiting, j)
	q.wake()
}

// wake has somebody look at what waits. A lane beside a trial looks and must leave it, so then all do.
func (q *queue) wake() {
	if q.trials > 0 || len(q.suspects) > 0 {
		q.some.Broadcast()
	} else {
		q.some.Signal()
	}
}

// freshen notes that a keeper's next process, or the one that it has, may try suspects. The caller holds mu.
func (q *queue) freshen(k *keeper) {
	if !k.fresh && !k.retired {
		k.fresh = true
		q.fresh++
	}
}

// spoil notes that it may not any more. The caller holds mu.
func (q *queue) spoil(k *keeper) {
	if k.fresh {
		k.fresh = false
		q.fresh--
		q.some.Broadcast()
	}
}

// putBack has jobs done again, before all others.
func (q *queue) putBack(again []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var kept, suspects []*job
	for _, j := range again {
		q.endTrial(j)
		if q.err != nil {
			j.finish(q.err) // after which it may stand for another call already
		} else if err := j.ctx.Err(); err != nil {
			j.finish(err)
		} else if j.place = waiting; j.suspect {
			suspects = append(suspects, j)
		} else {
			kept = append(kept, j)
		}
	}
	q.suspects = append(suspects, q.suspects...)
	q.waiting = append(kept, q.waiting[q.head:]...)
	q.head = 0
	q.some.Broadcast()
}

// withdraw takes a job out that no worker has; it reports whether that was so.
func (q *queue) withdraw(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := q.head; i < len(q.waiting); i++ {
		if q.waiting[i] == j {
			copy(q.waiting[i:], q.waiting[i+1:])
			q.waiting = q.waiting[:len(q.waiting)-1]
			return true
		}
	}
	if i := slices.Index(q.suspects, j); i >= 0 {
		q.suspects = slices.Delete(q.suspects, i, i+1)
		return true
	}
	return false
}

// running calls f with the process that works on a job, if one does.
func (q *queue) running(j *job, f func(*process)) {
	q.mu.Lock()
	p := j.process
	q.mu.Unlock()
	if p != nil {
		f(p)
	}
}

// update changes what leave looks at, and has everybody look.
func (q *queue) update(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
	q.some.Broadcast()
}

// take waits for jobs and appends a fair share of them to into, at most so many as are worth a pack. It returns none when leave says so; leave is called under the lock.
//
// Suspects go to a process that has done nothing else, one at a time and with nothing beside them. Where there is none and none is to come, the process that asks makes room for one.
func (q *queue) take(into []*job, p *process, most int, leave func() bool) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()

	k := p.keeper
	for {
		if leave() || p.renewed || q.err != nil {
			return into
		}
		if p.trial == nil {
			if len(q.suspects) > 0 && k.fresh {
				return append(into, q.try(p))
			}
			if len(q.suspects) > 0 && q.fresh == 0 && !k.retired {
				p.renewed = true
				q.freshen(k)
				q.some.Broadcast()
				return into
			}
			if q.head < len(q.waiting) {
				break
			}
		}
		q.some.Wait()
	}

	q.spoil(k)
	p.begun = true

	n := len(q.waiting) - q.head
	n = min((n+q.lanes-1)/q.lanes, most, packCalls)
	bytes := 0
	for len(into) < n {
		j := q.waiting[q.head]
		alone := j.yield != nil || j.call.Flush || j.call.State != nil || j.call.Rows > 0
		if len(into) > 0 && (alone || bytes > packBytes) {
			break
		}

		q.waiting[q.head] = nil
		q.head++
		j.place, j.process = running, p
		into = append(into, j)
		bytes += j.small(p.pool.heap)
		if alone {
			break
		}
	}

	if q.head == len(q.waiting) {
		q.waiting, q.head = q.waiting[:0], 0
	} else {
		q.wake() // there is something for another one
	}
	return into
}

// try begins with a suspect. The caller holds mu.
func (q *queue) try(p *process) *job {
	j := q.suspects[0]
	q.suspects = slices.Delete(q.suspects, 0, 1)
	j.place, j.process, j.first = running, p, !p.begun
	p.trial, p.begun = j, true
	q.trials++
	return j
}

// endTrial notes that a job's process does not have it any more. The caller holds mu.
func (q *queue) endTrial(j *job) {
	if p := j.process; p != nil && p.trial == j {
		p.trial = nil
		q.trials--
		q.some.Broadcast()
	}
	j.process = nil
}

// small is the number of bytes that travel with the message.
func (j *job) small(h *Heap) (n int) {
	for i := range j.call.In {
		v := &j.call.In[i]
		n += len(v.Text)
		if len(v.Data) <= inlineMost || !h.Has(v.Data) {
			n += len(v.Data)
		}
	}
	return n
}

// fail ends what waits, and all that comes.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	for _, j := range append(q.waiting[q.head:], q.suspects...) {
		j.finish(q.err)
	}
	q.waiting, q.suspects, q.head = nil, nil, 0
	q.some.Broadcast()
}

// complete ends a job that a worker had.
func (q *queue) complete(j *job, err error) {
	q.mu.Lock()
	q.endTrial(j)
	j.finish(err)
	q.mu.Unlock()
}

func (j *job) finish(err error) {
	j.place, j.err = finished, err
	j.done <- struct{}{}
}
