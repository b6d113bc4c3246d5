package extern

import (
	"cmp"
	"errors"
	"fmt"
	"headrace/extern/internal/message"
	"sync/atomic"
	"time"

	"headrace/wire"
)

// lane is one thread of a worker, with a connection of its own: it has one pack at a
// time. Or it is one call in flight of an async function, on the connection of the
// worker's event loop.
type lane struct {
	process  *process
	keeper   *keeper
	index    int // among the threads of its process, or among the lanes that the event loop has for the pool
	link     *link
	function atomic.Pointer[Pool] // that it calls
	knows    map[*Pool]*knowledge // of those functions that it has called
	cell     cell

	packNumber atomic.Uint32 // of the pack

	jobs  []*job
	pack  pack
	began time.Time // when it was sent

	loop  *loop // nil: it is a thread
	pool  *Pool // the only one whose function it calls, of a lane of the loop
	inbox <-chan wire.Frame
}

func newLane(proc *process, k *link, index int, c cell) *lane {
	l := &lane{process: proc, keeper: proc.keeper, link: k, index: index, cell: c, knows: map[*Pool]*knowledge{}}
	l.pack.link, l.pack.pid, l.pack.worked = k, proc.PID, &proc.worked
	l.pack.done = func(first int, errs ...error) {
		proc.workers.queue.completeAll(l.jobs[first:first+len(errs)], errs)
	}
	l.pack.back = func(from int) {
		rest := l.jobs[from:]
		l.jobs = l.jobs[:from]
		proc.workers.queue.putBack(rest)
	}
	l.pack.reported.Store(noPack)
	return l
}

// inWork tells which sample of its pack the lane works on, and since when.
func (l *lane) inWork() (item int, began time.Duration, ok bool) {
	return l.cell.inWork(l.packNumber.Load(), l.pack.reported.Load())
}

// number is that of a thread's lane among all of the workers'.
func (l *lane) number() int { return l.keeper.index*l.keeper.lanes + l.index }

// most is how many calls of a function a pack may have. In threads of the program a call
// may wait for what the loop does with the results before it, so none waits with others.
func (l *lane) most(p *Pool) int {
	k := l.knows[p]
	if k == nil || l.loop != nil || l.process.workers.python.Own() != nil {
		return 1
	}
	return k.pace
}

// serve hands packs to the worker until it has died, or is to end.
func (l *lane) serve() {
	q := &l.process.workers.queue
	for {
		l.jobs = q.take(l.jobs[:0], l)
		if len(l.jobs) == 0 {
			return
		}
		p := l.jobs[0].pool
		if err := l.forgotten(l.jobs[0].call); err != nil {
			q.complete(l.jobs[0], err)
			continue
		}

		l.process.last.Store(p)
		l.function.Store(p)
		l.pack.reset(&p.function)
		for _, j := range l.jobs {
			l.pack.add(&j.task)
		}
		l.packNumber.Add(1)
		l.pack.reported.Store(0)
		k, err := l.know(p)
		if refused := (*StartError)(nil); errors.As(err, &refused) {
			l.pack.reported.Store(noPack)
			for _, j := range l.jobs {
				q.complete(j, err)
			}
			q.refuse(p, err)
			continue
		}
		if err == nil && k.all && l.loop == nil { // the event loop has lanes for it now
			l.pack.reported.Store(noPack)
			q.putBack(l.jobs)
			continue
		}

		l.began = time.Now()
		if err == nil {
			err = l.exchange()
		}
		if err != nil {
			l.bury(err)
			return
		}
		l.pack.reported.Store(noPack)
		each := time.Since(l.began) / time.Duration(len(l.jobs))
		p.took(l, each)
		k.pace = min(2*k.pace, message.MostCalls, max(1, int(packTime/max(1, each))))
	}
}

// took notes how long a lane's calls took, each with its share of what is done for all.
func (p *Pool) took(l *lane, each time.Duration) {
	if l.loop != nil || p.o.Interpreter.Own() != nil {
		return
	}
	before := time.Duration(p.each.Load())
	if before == 0 {
		before = each
	}
	p.each.Store(int64(max(1, (3*before+each)/4)))
}

// know has the worker load a function that it has not. A [StartError] says that it
// cannot.
func (l *lane) know(p *Pool) (*knowledge, error) {
	if k := l.knows[p]; k != nil {
		return k, k.err
	}
	has, err := l.process.install(l, p)
	if err != nil {
		return nil, err
	}
	l.knows[p] = &knowledge{installed: has, pace: 1}
	return l.knows[p], nil
}

// forgotten is an error for a call of an object that a process before this one had.
func (l *lane) forgotten(c *Call) error {
	proc := l.process
	p := l.jobs[0].pool
	if p.o.Kind != Aggregate {
		return nil
	}
	if c.Begin || proc.object { // there is one lane
		proc.object = true
		return nil
	}
	w := proc.workers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil {
		return fmt.Errorf("extern: %s has no object yet: the first call begins", p.o.Stage)
	}
	return w.lost
}

// exchange sends a pack and receives what comes of it. What was reported is complete even
// where there is an error.
func (l *lane) exchange() error {
	k := &l.pack
	p := l.jobs[0].pool
	p.packs.Add(1)
	k.begin(l.packNumber.Load(), l.knows[p].installed)

	if err := l.link.announce(k.segments, &l.process.workers.spaces); err != nil {
		return err
	}
	if err := l.link.conn.SendParts(wire.KindPack, k.number, k.ints, k.data); err != nil {
		return err
	}

	for {
		f, err := l.receive()
		if err != nil {
			return err
		}
		switch f.Kind {
		case wire.KindResults:
			last, err := k.results(f.Payload)
			if err != nil {
				return err
			}
			if last {
				return nil
			}
		case wire.KindRoom:
			if err := k.grant(f.Payload); err != nil {
				return err
			}
		case wire.KindError: // of the worker itself, not of the function
			return fmt.Errorf("%w: %s", errWorker, f.Payload)
		default:
			return fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
		}
	}
}

// receive returns the next frame of the worker's.
func (l *lane) receive() (wire.Frame, error) {
	if l.loop == nil {
		return l.link.conn.Receive()
	}
	f, ok := <-l.inbox
	if !ok {
		return f, l.loop.streams.failure()
	}
	return f, nil
}

// bury settles what the worker had when it died, or had to be ended for what it sent. The
// sample that it worked on may be innocent: threads, memory that was spoilt long ago, or
// somebody else may have ended the process. So it is tried once more, alone and first in
// a new process, and has failed if that one dies too. The others are done again.
func (l *lane) bury(cause error) {
	proc := l.process
	p := l.function.Load() // a job that has come back may be another pool's already
	q := &proc.workers.queue
	if errors.Is(cause, wire.ErrProtocol) {
		proc.Kill()
	}

	select {
	case <-proc.exited:
	case <-time.After(patience): // it has closed its connection and goes on living
		proc.Kill()
		<-proc.exited
	}

	reported := int(l.pack.reported.Load())
	guilty := -1
	if item, began, ok := l.inWork(); ok && (l.pack.single || item < len(l.jobs)) { // the worker may have written anything
		guilty = item
		if !l.pack.single {
			l.jobs[item].call.Took += min(max(0, monotonic()-began), time.Since(l.began))
		}
	}

	proc.mu.Lock()
	limited, limitedItem, alone := proc.limited, proc.item, proc.alone
	proc.mu.Unlock()

	if l.pack.single {
		guilty = min(guilty, 0) // what it worked on is a part of the one call
	}
	if guilty >= 0 || reported > 0 {
		proc.worked.Store(true)
	}

	first := reported // those before it may be part of other calls already
	if l.pack.single {
		first = 0
	}

	var again []*job
	for i, j := range l.jobs[first:] {
		i += first
		switch {
		case proc.workers.python.Own() != nil: // its function may be in work still, and nobody else can call it
			q.complete(j, cmp.Or(j.ctx.Err(), j.err, cause))
		case errors.Is(cause, wire.ErrProtocol) && (i == max(reported, guilty) || l.pack.single):
			q.complete(j, fmt.Errorf("extern: the worker of %s (process %d) was ended for what it sent: %w", p.o.Stage, proc.PID, cause))
		case j.err != nil: // who reads a stream had enough
			q.complete(j, j.err)
		case l.pack.began && (p.o.Kind == Aggregate || p.o.Kind == Iterate):
			// Only who has the object's state can go on.
			q.complete(j, l.verdict(j, limited))
		case i != guilty:
			again = append(again, j)
		case j.ctx.Err() != nil:
			q.complete(j, j.ctx.Err())
		case limited == l && (limitedItem == i || l.pack.single) && (alone || j.suspect):
			q.complete(j, l.verdict(j, limited))
		case limited != nil:
			// Which coroutine keeps its event loop from going on is not known.
			j.suspect = j.suspect || limited.loop != nil && limited.loop == l.loop
			again = append(again, j)
		case p.o.Kind != Aggregate && !(j.suspect && j.first) && l.pack.restore(i):
			j.suspect = true
			again = append(again, j)
		default:
			q.complete(j, l.verdict(j, limited))
		}
	}

	l.pack.release()
	q.putBack(again)
}

// verdict is why the sample has failed that the worker died under.
func (l *lane) verdict(j *job, limited *lane) error {
	p := j.pool
	w := l.process.workers
	switch {
	case j.ctx.Err() != nil:
		return j.ctx.Err()
	case limited == l:
		return &LimitError{Stage: p.o.Stage, PID: l.process.PID, Limit: p.o.Limit, Stack: l.process.Stack()}
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return failure(l.process.Child, p.chain.Step(l.cell.function(), p.o.Stage), j.suspect)
}
