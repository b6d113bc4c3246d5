package extern

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/queue"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/wire"
)

// caller exchanges packs with one thread of a worker, on a connection of its own and one
// pack at a time. In an event loop it carries one call in flight of an async function, on
// a stream of the loop's connection.
type caller struct {
	process  *process
	entry    queue.Caller[request]
	conn     *conn.Conn
	function atomic.Pointer[Pool] // the one it calls
	knows    map[int]*knowledge   // by function number, of functions it has called
	forgot   int                  // removals that the worker has been sent
	cell     cell

	packNumber atomic.Uint32

	jobs  []*job
	pack  pack.Pack
	began time.Time // when it was sent

	loop  *eventLoop // nil: this is a thread
	pool  *Pool      // loop: the only pool that it calls for
	inbox <-chan wire.Frame
}

func newCaller(proc *process, on *conn.Conn, index int, in cell) *caller {
	c := &caller{process: proc, conn: on, cell: in, knows: map[int]*knowledge{}, forgot: proc.workers.removals()}
	c.entry = queue.Caller[request]{Process: &proc.entry, Index: index, Most: c.most}
	c.pack.Conn, c.pack.PID, c.pack.Worked = on, proc.PID, &proc.worked
	c.pack.Done = func(first int, errs ...error) {
		proc.workers.queue.CompleteAll(c.jobs[first:first+len(errs)], errs)
	}
	c.pack.Back = func(from int) {
		rest := c.jobs[from:]
		c.jobs = c.jobs[:from]
		proc.workers.queue.PutBack(rest)
	}
	c.pack.Close()
	return c
}

// inWork returns the sample of its pack that the worker is working on, and the time it
// started.
func (c *caller) inWork() (item int, began time.Duration, ok bool) {
	return c.cell.inWork(c.packNumber.Load(), c.pack.Reported())
}

// most returns the largest number of calls of a function that may travel in a pack. In
// threads of the program a call may depend on what the training loop does with earlier
// results, so calls never travel together there.
func (c *caller) most(of *request) int {
	k := c.knows[of.pool.function.Number]
	if k == nil || c.loop != nil || c.process.workers.python.Own() != nil {
		return 1
	}
	return k.pace
}

// serve hands packs to the worker until it dies, or until the caller is told to end.
func (c *caller) serve() {
	q := &c.process.workers.queue
	for {
		var more bool
		if c.jobs, more = q.Take(c.jobs[:0], &c.entry); !more {
			return
		}
		if len(c.jobs) == 0 {
			if err := c.forget(); err != nil {
				c.settle(err)
				return
			}
			continue
		}
		p := c.jobs[0].Of.pool
		if err := c.lostObject(c.jobs[0].Of.Call); err != nil {
			q.Complete(c.jobs[0], err)
			continue
		}

		c.process.last.Store(p)
		c.function.Store(p)
		c.pack.Reset(&p.function)
		for _, j := range c.jobs {
			c.pack.Add(&j.Of.Task)
		}
		c.packNumber.Add(1)
		c.pack.Open()
		k, err := c.know(p)
		if refused := (*StartError)(nil); errors.As(err, &refused) {
			c.pack.Close()
			for _, j := range c.jobs {
				q.Complete(j, err)
			}
			q.Refuse(&p.backlog, err)
			continue
		}
		if err == nil && k.all && c.loop == nil { // the function is async: the event loop has callers for it now
			c.pack.Close()
			q.PutBack(c.jobs)
			continue
		}

		c.began = time.Now()
		if err == nil {
			err = c.exchange()
		}
		if err != nil {
			c.settle(err)
			return
		}
		c.pack.Close()
		each := time.Since(c.began) / time.Duration(len(c.jobs))
		p.took(c, each)
		k.pace = min(2*k.pace, message.MostCalls, max(1, int(packTime/max(1, each))))
	}
}

// took updates the average duration of a call. Each call of a pack gets an equal share of
// the pack's time.
func (p *Pool) took(c *caller, each time.Duration) {
	if c.loop != nil || p.o.Interpreter.Own() != nil {
		return
	}
	before := time.Duration(p.each.Load())
	if before == 0 {
		before = each
	}
	p.each.Store(int64(max(1, (3*before+each)/4)))
}

// know makes the worker load a function if it has not yet. A [StartError] means that it
// cannot.
func (c *caller) know(p *Pool) (*knowledge, error) {
	number := p.function.Number
	if k := c.knows[number]; k != nil {
		return k, k.err
	}
	has, err := c.process.install(c, p)
	if err != nil {
		return nil, err
	}
	c.knows[number] = &knowledge{installed: has, pace: 1}
	return c.knows[number], nil
}

// lostObject returns an error if the call needs an object that died with an earlier
// process.
func (c *caller) lostObject(call *Call) error {
	proc := c.process
	p := c.jobs[0].Of.pool
	if p.o.Kind != Aggregate {
		return nil
	}
	if call.Begin || proc.object { // safe: such a process has one caller
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

// exchange sends a pack and receives its results. Calls that were reported are complete
// even if it fails.
func (c *caller) exchange() error {
	p := c.jobs[0].Of.pool
	p.packs.Add(1)
	has := c.knows[p.function.Number].installed
	if err := c.pack.Send(c.packNumber.Load(), has.random, has.epochs, has.all); err != nil {
		return err
	}
	for last := false; !last; {
		f, err := c.receive()
		if err != nil {
			return err
		}
		if last, err = c.pack.Receive(f); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the worker's next frame.
func (c *caller) receive() (wire.Frame, error) {
	if c.loop == nil {
		return c.conn.Receive()
	}
	f, ok := <-c.inbox
	if !ok {
		return f, c.loop.streams.Failure()
	}
	return f, nil
}

// death is the state in which a worker left its caller's pack.
type death struct {
	cause    error
	breach   bool // the worker was killed because it broke the protocol
	reported int  // calls that have come back
	guilty   int  // the call it was working on; -1: none

	limited     *caller // whose call took too long; nil: nobody's
	limitedItem int     // which of its calls that was
	alone       bool    // no other coroutine was running then
}

// settle finishes the calls of a worker that has died, or puts them back into the queue.
//
// The call that the worker had in progress may be innocent: the cause may be another
// thread, memory that was corrupted long before, or a signal from outside. So it is tried
// once more, alone and first in a new process, and fails if that one dies too. The other
// calls are made again.
func (c *caller) settle(cause error) {
	proc := c.process
	q := &proc.workers.queue
	d := c.awaitDeath(cause)
	if d.guilty >= 0 || d.reported > 0 {
		proc.worked.Store(true)
	}

	first := d.reported // jobs before it may already be used for other calls
	if c.pack.Single() {
		first = 0
	}

	var again []*job
	for i := first; i < len(c.jobs); i++ {
		if err := c.outcome(&d, i); err != nil {
			q.Complete(c.jobs[i], err)
		} else {
			again = append(again, c.jobs[i])
		}
	}

	c.pack.Release()
	q.PutBack(again)
}

// awaitDeath waits until the process has exited and returns what it was doing. It kills a
// process that has broken the protocol, or that has closed its connection and lives on.
func (c *caller) awaitDeath(cause error) death {
	proc := c.process
	d := death{cause: cause, breach: errors.Is(cause, wire.ErrProtocol), guilty: -1}
	if d.breach {
		proc.Kill()
	}
	select {
	case <-proc.exited:
	case <-time.After(patience):
		proc.Kill()
		<-proc.exited
	}

	d.reported = int(c.pack.Reported())
	single := c.pack.Single()
	item, began, working := c.inWork()
	switch {
	case !working:
	case single:
		d.guilty = 0 // the item is a part of the one call
	case item < len(c.jobs): // the cell may contain anything
		d.guilty = item
		c.jobs[item].Of.Call.Took += min(max(0, monotonic()-began), time.Since(c.began))
	}

	proc.mu.Lock()
	defer proc.mu.Unlock()
	d.limited, d.limitedItem, d.alone = proc.limited, proc.item, proc.alone
	return d
}

// outcome returns the error of the i-th call after its worker's death, or nil if the call
// is to be made again. The rules are in order: the first one that applies decides.
func (c *caller) outcome(d *death, i int) error {
	j, p := c.jobs[i], c.function.Load()
	single := c.pack.Single()

	// The function may still be running in a thread of the program, and no other process
	// can call it.
	if c.process.workers.python.Own() != nil {
		return cmp.Or(j.Ctx.Err(), j.Of.Err, d.cause)
	}

	// Another worker would probably send the same.
	sent := single || i == max(d.reported, d.guilty)
	if d.breach && sent {
		return fmt.Errorf("extern: the worker of %s (process %d) was ended for what it sent: %w", p.o.Stage, c.process.PID, d.cause)
	}

	// The reader of a stream has stopped reading.
	if j.Of.Err != nil {
		return j.Of.Err
	}

	// The object's state died with the process, so a stream of it cannot continue.
	stateful := p.o.Kind == Aggregate || p.o.Kind == Iterate
	if stateful && c.pack.Began() {
		return c.verdict(j, d.limited)
	}

	if i != d.guilty {
		return nil
	}
	if err := j.Ctx.Err(); err != nil {
		return err
	}

	if d.limited != nil {
		late := d.limited == c && (single || d.limitedItem == i)
		if late && (d.alone || j.Suspect) {
			return c.verdict(j, d.limited)
		}
		// With several coroutines it is unknown which one blocks the event loop, so each
		// is tried alone.
		if d.limited.loop != nil && d.limited.loop == c.loop {
			j.Suspect = true
		}
		return nil
	}

	// A second chance, unless this was it, or the sample's input cannot be restored.
	tried := j.Suspect && j.First
	if p.o.Kind != Aggregate && !tried && c.pack.Restore(i) {
		j.Suspect = true
		return nil
	}
	return c.verdict(j, d.limited)
}

// verdict returns the error of a sample whose worker died while working on it.
func (c *caller) verdict(j *job, limited *caller) error {
	p := j.Of.pool
	w := c.process.workers
	switch {
	case j.Ctx.Err() != nil:
		return j.Ctx.Err()
	case limited == c:
		return &LimitError{Stage: p.o.Stage, PID: c.process.PID, Limit: p.o.Limit, Stack: c.process.Stack()}
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return failure(c.process.Child, p.function.Chain.Step(c.cell.function(), p.o.Stage), j.Suspect)
}
