package extern

import (
	"cmp"
	"errors"
	"fmt"
	"headrace/extern/internal/link"
	"headrace/extern/internal/message"
	"headrace/extern/internal/pack"
	"headrace/extern/internal/queue"
	"sync/atomic"
	"time"

	"headrace/wire"
)

// lane is one thread of a worker, with a connection of its own: it has one pack at a
// time. Or it is one call in flight of an async function, on the connection of the
// worker's event loop.
type lane struct {
	process  *process
	seat     queue.Lane[request]
	link     *link.Link
	function atomic.Pointer[Pool] // that it calls
	knows    map[int]*knowledge   // of those functions that it has called, by their numbers
	forgot   int                  // of those that were removed, how many the worker was told of
	cell     cell

	packNumber atomic.Uint32 // of the pack

	jobs  []*job
	pack  pack.Pack
	began time.Time // when it was sent

	loop  *loop // nil: it is a thread
	pool  *Pool // the only one whose function it calls, of a lane of the loop
	inbox <-chan wire.Frame
}

func newLane(proc *process, k *link.Link, index int, c cell) *lane {
	l := &lane{process: proc, link: k, cell: c, knows: map[int]*knowledge{}, forgot: proc.workers.removals()}
	l.seat = queue.Lane[request]{Process: &proc.seat, Index: index, Most: l.most}
	l.pack.Link, l.pack.PID, l.pack.Worked = k, proc.PID, &proc.worked
	l.pack.Done = func(first int, errs ...error) {
		proc.workers.queue.CompleteAll(l.jobs[first:first+len(errs)], errs)
	}
	l.pack.Back = func(from int) {
		rest := l.jobs[from:]
		l.jobs = l.jobs[:from]
		proc.workers.queue.PutBack(rest)
	}
	l.pack.Close()
	return l
}

// inWork tells which sample of its pack the lane works on, and since when.
func (l *lane) inWork() (item int, began time.Duration, ok bool) {
	return l.cell.inWork(l.packNumber.Load(), l.pack.Reported())
}

// most is how many calls of a function a pack may have. In threads of the program a call
// may wait for what the loop does with the results before it, so none waits with others.
func (l *lane) most(of *request) int {
	k := l.knows[of.pool.function.Number]
	if k == nil || l.loop != nil || l.process.workers.python.Own() != nil {
		return 1
	}
	return k.pace
}

// serve hands packs to the worker until it has died, or is to end.
func (l *lane) serve() {
	q := &l.process.workers.queue
	for {
		var more bool
		if l.jobs, more = q.Take(l.jobs[:0], &l.seat); !more {
			return
		}
		if len(l.jobs) == 0 {
			if err := l.forget(); err != nil {
				l.bury(err)
				return
			}
			continue
		}
		p := l.jobs[0].Of.pool
		if err := l.forgotten(l.jobs[0].Of.Call); err != nil {
			q.Complete(l.jobs[0], err)
			continue
		}

		l.process.last.Store(p)
		l.function.Store(p)
		l.pack.Reset(&p.function)
		for _, j := range l.jobs {
			l.pack.Add(&j.Of.Task)
		}
		l.packNumber.Add(1)
		l.pack.Open()
		k, err := l.know(p)
		if refused := (*StartError)(nil); errors.As(err, &refused) {
			l.pack.Close()
			for _, j := range l.jobs {
				q.Complete(j, err)
			}
			q.Refuse(&p.line, err)
			continue
		}
		if err == nil && k.all && l.loop == nil { // the event loop has lanes for it now
			l.pack.Close()
			q.PutBack(l.jobs)
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
		l.pack.Close()
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
	number := p.function.Number
	if k := l.knows[number]; k != nil {
		return k, k.err
	}
	has, err := l.process.install(l, p)
	if err != nil {
		return nil, err
	}
	l.knows[number] = &knowledge{installed: has, pace: 1}
	return l.knows[number], nil
}

// forgotten is an error for a call of an object that a process before this one had.
func (l *lane) forgotten(c *Call) error {
	proc := l.process
	p := l.jobs[0].Of.pool
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
	p := l.jobs[0].Of.pool
	p.packs.Add(1)
	has := l.knows[p.function.Number].installed
	if err := l.pack.Send(l.packNumber.Load(), has.random, has.epochs, has.all); err != nil {
		return err
	}
	for last := false; !last; {
		f, err := l.receive()
		if err != nil {
			return err
		}
		if last, err = l.pack.Receive(f); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the next frame of the worker's.
func (l *lane) receive() (wire.Frame, error) {
	if l.loop == nil {
		return l.link.Conn.Receive()
	}
	f, ok := <-l.inbox
	if !ok {
		return f, l.loop.streams.Failure()
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

	reported := int(l.pack.Reported())
	guilty := -1
	if item, began, ok := l.inWork(); ok && (l.pack.Single() || item < len(l.jobs)) { // the worker may have written anything
		guilty = item
		if !l.pack.Single() {
			l.jobs[item].Of.Call.Took += min(max(0, monotonic()-began), time.Since(l.began))
		}
	}

	proc.mu.Lock()
	limited, limitedItem, alone := proc.limited, proc.item, proc.alone
	proc.mu.Unlock()

	if l.pack.Single() {
		guilty = min(guilty, 0) // what it worked on is a part of the one call
	}
	if guilty >= 0 || reported > 0 {
		proc.worked.Store(true)
	}

	first := reported // those before it may be part of other calls already
	if l.pack.Single() {
		first = 0
	}

	var again []*job
	for i, j := range l.jobs[first:] {
		i += first
		switch {
		case proc.workers.python.Own() != nil: // its function may be in work still, and nobody else can call it
			q.Complete(j, cmp.Or(j.Ctx.Err(), j.Of.Err, cause))
		case errors.Is(cause, wire.ErrProtocol) && (i == max(reported, guilty) || l.pack.Single()):
			q.Complete(j, fmt.Errorf("extern: the worker of %s (process %d) was ended for what it sent: %w", p.o.Stage, proc.PID, cause))
		case j.Of.Err != nil: // who reads a stream had enough
			q.Complete(j, j.Of.Err)
		case l.pack.Began() && (p.o.Kind == Aggregate || p.o.Kind == Iterate):
			// Only who has the object's state can go on.
			q.Complete(j, l.verdict(j, limited))
		case i != guilty:
			again = append(again, j)
		case j.Ctx.Err() != nil:
			q.Complete(j, j.Ctx.Err())
		case limited == l && (limitedItem == i || l.pack.Single()) && (alone || j.Suspect):
			q.Complete(j, l.verdict(j, limited))
		case limited != nil:
			// Which coroutine keeps its event loop from going on is not known.
			j.Suspect = j.Suspect || limited.loop != nil && limited.loop == l.loop
			again = append(again, j)
		case p.o.Kind != Aggregate && !(j.Suspect && j.First) && l.pack.Restore(i):
			j.Suspect = true
			again = append(again, j)
		default:
			q.Complete(j, l.verdict(j, limited))
		}
	}

	l.pack.Release()
	q.PutBack(again)
}

// verdict is why the sample has failed that the worker died under.
func (l *lane) verdict(j *job, limited *lane) error {
	p := j.Of.pool
	w := l.process.workers
	switch {
	case j.Ctx.Err() != nil:
		return j.Ctx.Err()
	case limited == l:
		return &LimitError{Stage: p.o.Stage, PID: l.process.PID, Limit: p.o.Limit, Stack: l.process.Stack()}
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return failure(l.process.Child, p.function.Chain.Step(l.cell.function(), p.o.Stage), j.Suspect)
}
