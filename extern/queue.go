package extern

import (
	"headrace/extern/internal/message"
	"slices"
	"sync"
)

// job is a call in the pool.
type job struct {
	task
	pool    *Pool
	number  uint64        // counts all that came to the queue
	done    chan struct{} // has room for one
	group   *group        // of which it is one; nil: it is called by itself
	at      int           // among those
	place   place         // guarded by the queue's lock, as process is
	process *process      // that works on it
	suspect bool          // it was in work when a process died: it is done again alone
	first   bool          // its process has done nothing before
}

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// forget makes the job ready for another call. Nobody else has it any more.
func (j *job) forget() {
	*j = job{done: j.done}
	jobs.Put(j)
}

// group is calls that somebody waits for together. The queue's lock guards ready.
type group struct {
	news  chan struct{} // has room for one: some are ready
	ready []*job        // that nobody was told of yet
}

// queue is where calls wait for workers, the oldest first.
type queue struct {
	mu     sync.Mutex
	some   sync.Cond // that something waits, or that somebody who looks must go
	lines  []*line   // of the pools that are open
	last   uint64    // number of the job that came last
	uneven bool      // some lanes do not call all functions
	err    error

	suspects []*job // that wait for a process which has done nothing else
	trials   int    // of them, how many are in work
	fresh    int    // keepers whose process has done nothing but suspects, or is still to come
}

// line is where the calls of one pool wait. The queue's lock guards it.
type line struct {
	waiting []*job // from head on
	head    int
	wanted  int       // how many workers
	beside  bool      // one worker runs so many calls beside each other instead
	loops   int       // processes whose event loops have lanes for it
	calls   sync.Cond // that one of those lanes has something to do
	first   int       // lanes that call the function, up to end
	end     int
	err     error // why no more is called; nil: the queue's
}

// why is the reason why nothing is called any more; nil: there is none.
func (q *queue) why(l *line) error {
	if q.err != nil {
		return q.err
	}
	return l.err
}

func (q *queue) init() {
	q.some.L = &q.mu
}

// put adds jobs of one pool.
func (q *queue) put(all ...*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range all {
		l := &j.pool.line
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
func (q *queue) wake(l *line) {
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

func (q *queue) wakeAll() {
	q.some.Broadcast()
	for _, l := range q.lines {
		l.calls.Broadcast()
	}
}

// freshen notes that a keeper's next process, or the one that it has, may try suspects.
// The caller holds mu.
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
		q.wakeAll()
	}
}

// putBack has jobs done again, before all others.
func (q *queue) putBack(again []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(again) == 0 {
		return
	}
	l := &again[0].pool.line // they were one pack
	var kept, suspects []*job
	for _, j := range again {
		q.endTrial(j)
		if why := q.why(l); why != nil {
			j.finish(why) // after which it may mean another call already
		} else if err := j.ctx.Err(); err != nil {
			j.finish(err)
		} else if j.place = waiting; j.suspect {
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

// withdraw takes a job out that no worker has; it reports whether that was so.
func (q *queue) withdraw(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &j.pool.line
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
	q.wakeAll()
}

// take waits for jobs of a pool whose function the lane calls, the one that has waited
// longest, and appends a fair share of them to into, at most so many as are worth a pack.
// It returns none when the lane has to go.
//
// Suspects go to a process that has done nothing else, one at a time and with nothing
// beside them. Where there is none and none is to come, the process that asks makes room
// for one.
func (q *queue) take(into []*job, lane *lane) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()

	p := lane.process
	k := p.keeper
	var l *line
	for {
		if p.gone || k.retired || p.renewed || q.err != nil {
			return into
		}
		if lane.pool != nil && q.why(&lane.pool.line) != nil {
			return into
		}
		news := &q.some
		if p.trial == nil {
			if len(q.suspects) > 0 && k.fresh && lane.mayTry(q.suspects[0].pool) {
				return append(into, q.try(p))
			}
			if len(q.suspects) > 0 && q.fresh == 0 && !k.retired {
				p.renewed = true
				q.freshen(k)
				q.wakeAll()
				return into
			}
			if l = q.oldest(lane); l != nil {
				break
			}
			if lane.pool != nil && lane.mayCall(&lane.pool.line) {
				news = &lane.pool.line.calls
			}
		}
		news.Wait()
	}

	q.spoil(k)
	p.begun = true

	n := len(l.waiting) - l.head
	lanes := l.end - l.first
	n = min((n+lanes-1)/lanes, lane.most(l.waiting[l.head].pool), message.MostCalls)
	bytes := 0
	for len(into) < n {
		j := l.waiting[l.head]
		alone := j.yield != nil || j.call.Flush || j.call.State != nil || j.call.Rows > 0
		if len(into) > 0 && (alone || bytes > packBytes) {
			break
		}

		l.waiting[l.head] = nil
		l.head++
		j.place, j.process = running, p
		into = append(into, j)
		bytes += j.small()
		if alone {
			break
		}
	}

	if l.head == len(l.waiting) {
		l.waiting, l.head = l.waiting[:0], 0
	}
	if i := slices.IndexFunc(q.lines, func(l *line) bool { return l.loops == 0 && l.head < len(l.waiting) }); i >= 0 {
		q.wake(q.lines[i]) // there is something for another one
	}
	return into
}

// oldest is the line whose first job has waited longest, of those that a lane calls the
// functions of. The caller holds mu.
func (q *queue) oldest(lane *lane) (oldest *line) {
	for _, l := range q.lines {
		if l.head < len(l.waiting) && (oldest == nil || l.waiting[l.head].number < oldest.waiting[oldest.head].number) && lane.mayCall(l) {
			oldest = l
		}
	}
	return oldest
}

// mayCall tells whether calls of a line are the lane's: those of async functions are the
// event loop's, once it has the function. The queue's lock is held.
func (l *lane) mayCall(of *line) bool {
	k := l.keeper
	if l.loop == nil {
		return of.first <= l.number() && l.number() < of.end && !l.process.looped[of]
	}
	return of == &l.pool.line && l.index < of.abreast() && k.calls(of)
}

// calls tells whether a line's calls may be made in the keeper's process.
func (k *keeper) calls(of *line) bool {
	return k.workers.threads && k.workers.fixed == 0 || of.first/k.lanes <= k.index && k.index <= (of.end-1)/k.lanes
}

// mayTry tells the same of a suspect, which any process may have. The queue's lock is
// held.
func (l *lane) mayTry(of *Pool) bool {
	if l.loop == nil {
		return !l.process.looped[&of.line]
	}
	return of == l.pool && l.index == 0
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
		q.wakeAll()
	}
	j.process = nil
}

// small is the number of bytes that travel with the message.
func (j *job) small() (n int) {
	h := j.pool.heap
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
	for _, l := range q.lines {
		q.empty(l, q.err)
	}
	for _, j := range q.suspects {
		j.finish(q.err)
	}
	q.suspects = nil
	q.wakeAll()
}

// refuse ends what waits of one pool, and all of it that comes.
func (q *queue) refuse(p *Pool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.line.err == nil {
		p.line.err = err
	}
	q.empty(&p.line, p.line.err)
	q.suspects = slices.DeleteFunc(q.suspects, func(j *job) bool {
		if j.pool != p {
			return false
		}
		j.finish(p.line.err) // after which it may mean another call already
		return true
	})
	q.wakeAll()
}

func (q *queue) empty(l *line, err error) {
	for _, j := range l.waiting[l.head:] {
		j.finish(err)
	}
	l.waiting, l.head = nil, 0
}

// complete ends a job that a worker had.
func (q *queue) complete(j *job, err error) {
	q.mu.Lock()
	q.endTrial(j)
	j.finish(err)
	q.mu.Unlock()
}

// completeAll does that for several.
func (q *queue) completeAll(all []*job, errs []error) {
	q.mu.Lock()
	for i, j := range all {
		q.endTrial(j)
		j.finish(errs[i])
	}
	q.mu.Unlock()
}

func (j *job) finish(err error) {
	j.place, j.err = finished, err
	if g := j.group; g != nil {
		g.ready = append(g.ready, j)
		select {
		case g.news <- struct{}{}:
		default:
		}
		return
	}
	j.done <- struct{}{}
}
