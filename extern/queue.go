package extern

import (
	"context"
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
	suspect bool     // it was in work when a process of several threads died
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
	q.some.Signal()
}

// putBack has jobs done again, before all others.
func (q *queue) putBack(again []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var kept []*job
	for _, j := range again {
		j.process = nil
		if q.err != nil {
			j.finish(q.err) // after which it may stand for another call already
		} else if err := j.ctx.Err(); err != nil {
			j.finish(err)
		} else {
			j.place = waiting
			kept = append(kept, j)
		}
	}
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
func (q *queue) take(into []*job, p *process, most int, leave func() bool) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if leave() || q.err != nil {
			return into
		}
		if q.head < len(q.waiting) {
			break
		}
		q.some.Wait()
	}
	n := len(q.waiting) - q.head
	n = min((n+q.lanes-1)/q.lanes, most, packCalls)
	bytes := 0
	for len(into) < n {
		j := q.waiting[q.head]
		alone := j.yield != nil || j.suspect || j.call.Flush || j.call.State != nil || j.call.Rows > 0
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
		q.some.Signal() // there is something for another one
	}
	return into
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
	for _, j := range q.waiting[q.head:] {
		j.finish(q.err)
	}
	q.waiting, q.head = nil, 0
	q.some.Broadcast()
}

// complete ends a job that a worker had.
func (q *queue) complete(j *job, err error) {
	q.mu.Lock()
	j.process = nil
	j.finish(err)
	q.mu.Unlock()
}

func (j *job) finish(err error) {
	j.place, j.err = finished, err
	j.done <- struct{}{}
}
