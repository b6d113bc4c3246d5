package extern

// Another opens a pool of the same function, with one worker.
func (p *Pool) Another() (*Pool, error) {
	o := p.given
	o.Workers, o.On = 1, nil
	return Open(o)
}

// Ahead is how many bytes the worker of a stream may have filled at most that yield has
// not returned for, so that there can be room for them before Stream is called. A result
// whose size is not known is taken to be no larger than the largest so far.
func (p *Pool) Ahead() int64 { return p.function.Ahead() }

// Segment tells the pool of memory besides the heap that Room and Whole may lie in. fd is
// duplicated. An id that came before now stands for this memory.
func (p *Pool) Segment(fd int, id uint32, memory []byte) error {
	return p.workers.spaces.Add(p, fd, id, memory)
}

// DropSegments forgets all memory that Segment told of, which is about to go: other
// memory may be at its address then. Close does it, too.
func (p *Pool) DropSegments() { p.workers.drop(p) }

// SetWorkers changes the number of processes, or of threads, that the function may be
// called in. Those that are too many finish what they have.
func (p *Pool) SetWorkers(n int) {
	n = max(1, n)
	if p.o.Kind == Aggregate || p.o.Kind == Iterate {
		n = 1
	}
	p.workers.set(p, n)
}

// Await has SetWorkers wait from now on until all workers have started: for who measures
// what they do then.
func (p *Pool) Await() { p.workers.await() }

// Close ends what waits to be called: it fails with [ErrClosed]. Workers of the pool's
// own end, too: each finishes the sample that it has, has its close() called, and is
// killed if that takes long. It may be called again, and returns when all processes of
// the pool's own are gone.
func (p *Pool) Close() error {
	if p.own {
		return p.workers.Close()
	}
	p.workers.queue.Refuse(&p.line, ErrClosed)
	p.workers.remove(p)
	return nil
}
