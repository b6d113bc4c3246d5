package queue

// A Keeper is what the queue knows of a place for a process, in which another one is
// started when that has died.
type Keeper struct {
	Index int  // among the keepers
	Lanes int  // that its process has, without those of an event loop
	All   bool // every line's calls may be made in its process

	retired bool // it starts no more
	fresh   bool // its process has done nothing but suspects, or is still to come
}

// A Process is what the queue knows of one. The queue's lock guards what is not
// exported.
type Process[T any] struct {
	Keeper *Keeper
	Kill   func()

	gone    bool              // it has ended
	begun   bool              // it was given something to do
	renewed bool              // it ends so that another one can try suspects
	trial   *Job[T]           // the suspect that it tries
	looped  map[*Line[T]]bool // whose calls are its event loop's
}

// A Lane is what the queue knows of a lane: that of a thread, or of one call in flight in
// an event loop.
type Lane[T any] struct {
	Process *Process[T]
	Index   int             // among the threads of its process, or among the lanes that the event loop has for the line
	Line    *Line[T]        // of an event loop's lane: the only one whose calls it makes; nil: it is a thread's
	Most    func(of *T) int // how many calls like this one it takes at once

	calls uint64 // how often it was called, as far as it has noticed
}

// Renew says that a keeper's next process, or the one that it has, may try suspects.
func (q *Queue[T]) Renew(k *Keeper) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.freshen(k)
	q.wakeAll()
}

// Leave says that a keeper has ended.
func (q *Queue[T]) Leave(k *Keeper) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spoil(k)
	q.wakeAll()
}

// Retire has the lanes of a keeper's process go, and no other process begin.
func (q *Queue[T]) Retire(k *Keeper) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k.retired = true
	q.wakeAll()
}

// Ended tells whether a keeper starts no more processes.
func (q *Queue[T]) Ended(k *Keeper) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return k.retired || q.err != nil
}

// Loop says that the calls of a line are made by the process's event loop from now on.
func (q *Queue[T]) Loop(p *Process[T], l *Line[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !p.gone && !p.looped[l] {
		if p.looped == nil {
			p.looped = make(map[*Line[T]]bool)
		}
		p.looped[l] = true
		l.loops++
	}
	q.wakeAll()
}

// Gone says that a process has ended.
func (q *Queue[T]) Gone(p *Process[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p.gone = true
	for l := range p.looped {
		l.loops--
	}
	q.freshen(p.Keeper)
	q.wakeAll()
}

// Kill kills the process that works on a job, if one does.
func (q *Queue[T]) Kill(j *Job[T]) {
	q.mu.Lock()
	p := j.process
	q.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

// number is that of a thread's lane among all of the workers'.
func (l *Lane[T]) number() int {
	k := l.Process.Keeper
	return k.Index*k.Lanes + l.Index
}

// mayCall tells whether calls of a line are the lane's: those of async functions are the
// event loop's, once it has the function. The caller holds mu.
func (q *Queue[T]) mayCall(lane *Lane[T], l *Line[T]) bool {
	if lane.Line == nil {
		return l.first <= lane.number() && lane.number() < l.end && !lane.Process.looped[l]
	}
	return l == lane.Line && lane.Index < q.abreast(l) && lane.Process.Keeper.calls(l.first, l.end)
}

// calls tells whether some of the lanes from first to end are the keeper's.
func (k *Keeper) calls(first, end int) bool {
	return k.All || first/k.Lanes <= k.Index && k.Index <= (end-1)/k.Lanes
}

// mayTry tells the same of a suspect, which any process may have.
func (l *Lane[T]) mayTry(of *Line[T]) bool {
	if l.Line == nil {
		return !l.Process.looped[of]
	}
	return of == l.Line && l.Index == 0
}
