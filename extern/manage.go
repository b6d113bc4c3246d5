package extern

// Another opens a pool of the same function, with one worker.
func (p *Pool) Another() (*Pool, error) {
	o := p.given
	o.Workers, o.On = 1, nil
	return Open(o)
}

// Ahead returns the largest number of bytes that a stream's worker may have filled before
// yield has returned for them, so that room can be made before Stream is called. A result
// of unknown size is assumed to be no larger than the largest so far.
func (p *Pool) Ahead() int64 { return p.function.Ahead() }

// Segment tells the pool of memory besides the heap that Room and Whole may lie in. fd is
// duplicated. An id that came before now stands for this memory.
func (p *Pool) Segment(fd int, id uint32, memory []byte) error {
	return p.workers.spaces.Add(&p.function, fd, id, memory)
}

// DropSegments forgets all memory that Segment told of, which is about to go: other
// memory may be at its address then. Close does it, too.
func (p *Pool) DropSegments() { p.workers.drop(&p.function) }

// SetWorkers changes the number of processes, or threads, that may call the function.
// Surplus ones finish their current work.
func (p *Pool) SetWorkers(n int) {
	n = max(1, n)
	if p.o.Kind == Aggregate || p.o.Kind == Iterate {
		n = 1
	}
	p.workers.set(&p.function, n, p.own)
}

// Await makes SetWorkers wait until all workers have started, so that measurements see
// them all.
func (p *Pool) Await() { p.workers.await() }

// Close ends what waits to be called: it fails with [ErrClosed]. Workers of the pool's
// own end, too: each finishes the sample that it has, has its close() called, and is
// killed if that takes long. It may be called again, and returns when all processes of
// the pool's own are gone.
func (p *Pool) Close() error {
	if p.own {
		return p.workers.Close()
	}
	p.workers.queue.Refuse(&p.function.backlog, ErrClosed)
	p.workers.remove(&p.function)
	return nil
}
