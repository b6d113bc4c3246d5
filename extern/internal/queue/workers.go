package queue

// A Slot is a place for a process. When its process dies, another one is started there.
type Slot struct {
	Index   int  // among the slots
	Threads int  // that its process has, without those of an event loop
	All     bool // every backlog's calls may be made in its process

	retired bool // it starts no more
	fresh   bool // its process has done nothing but suspects, or is still to come
}

// A Process is the queue's entry for a process. The queue's lock guards its private
// fields.
type Process[T any] struct {
	Slot *Slot
	Kill func()

	gone        bool                 // it has ended
	begun       bool                 // it was given something to do
	renewed     bool                 // it ends so that another one can try suspects
	trial       *Job[T]              // the suspect that it tries
	onEventLoop map[*Backlog[T]]bool // whose calls are its event loop's
}

// A Caller is the queue's entry for a thread, or for one call in flight in an event loop.
type Caller[T any] struct {
	Process *Process[T]
	Index   int             // among the threads of its process, or among the callers that the event loop has for the backlog
	Backlog *Backlog[T]     // of an event loop's caller: the only one whose calls it makes; nil: it is a thread's
	Most    func(of *T) int // how many calls like this one it takes at once

	calls uint64 // how often it was called, as far as it has noticed
}

// Renew lets a slot's next process, or its current one, try suspects.
func (q *Queue[T]) Renew(s *Slot) { q.change(func() { q.freshen(s) }) }

// Leave notes that a slot is no longer used.
func (q *Queue[T]) Leave(s *Slot) { q.change(func() { q.spoil(s) }) }

// Retire makes the callers of a slot's process end, and prevents another process.
func (q *Queue[T]) Retire(s *Slot) { q.change(func() { s.retired = true }) }

// Ended reports whether a slot starts no more processes.
func (q *Queue[T]) Ended(s *Slot) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return s.retired || q.err != nil
}

// UseEventLoop routes a backlog's calls to the process's event loop from now on.
func (q *Queue[T]) UseEventLoop(p *Process[T], b *Backlog[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !p.gone && !p.onEventLoop[b] {
		if p.onEventLoop == nil {
			p.onEventLoop = make(map[*Backlog[T]]bool)
		}
		p.onEventLoop[b] = true
		b.eventLoops++
	}
	q.wakeAll()
}

// Gone notes that a process has ended.
func (q *Queue[T]) Gone(p *Process[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.gone = true
	for b := range p.onEventLoop {
		b.eventLoops--
	}
	q.freshen(p.Slot)
	q.wakeAll()
}

// Kill kills the process that works on a job, if there is one.
func (q *Queue[T]) Kill(j *Job[T]) {
	q.mu.Lock()
	p := j.process
	q.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

// number returns the caller's number among the threads of all slots.
func (c *Caller[T]) number() int {
	s := c.Process.Slot
	return s.Index*s.Threads + c.Index
}

// mayCall reports whether the caller may make a backlog's calls. Calls of async functions
// go to the event loop once it has the function. The queue's lock is held.
func (q *Queue[T]) mayCall(caller *Caller[T], b *Backlog[T]) bool {
	if caller.Backlog == nil {
		return b.first <= caller.number() && caller.number() < b.end && !caller.Process.onEventLoop[b]
	}
	return b == caller.Backlog && caller.Index < q.abreast(b) && caller.Process.Slot.calls(b.first, b.end)
}

// calls reports whether any of the callers from first to end is the slot's.
func (s *Slot) calls(first, end int) bool {
	return s.All || first/s.Threads <= s.Index && s.Index <= (end-1)/s.Threads
}

// mayTry reports whether the caller may try a suspect of a backlog. Any process may.
func (c *Caller[T]) mayTry(of *Backlog[T]) bool {
	if c.Backlog == nil {
		return !c.Process.onEventLoop[of]
	}
	return of == c.Backlog && c.Index == 0
}
