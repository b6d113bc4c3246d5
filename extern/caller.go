package extern

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/wire"
)

// caller exchanges packs with one thread of a worker, on a connection of its own and one
// pack at a time. In an event loop it carries one call in flight of an async function, on
// a stream of the loop's connection.
type caller struct {
	process  *process
	entry    queue.Caller[request]
	conn     *conn.Conn
	function atomic.Pointer[function] // the one it calls
	knows    map[int]*knowledge       // by function number, of functions it has called
	forgot   int                      // removals that the worker has been sent
	cell     cell

	packNumber atomic.Uint32

	jobs  []*job
	pack  pack.Pack
	began time.Time // when it was sent

	loop  *eventLoop // nil: this is a thread
	only  *function  // loop: the only one that it calls
	inbox <-chan wire.Frame
}

func newCaller(proc *process, on *conn.Conn, index int, in cell) *caller {
	c := &caller{process: proc, conn: on, cell: in, knows: map[int]*knowledge{}, forgot: proc.team.removals()}
	c.entry = queue.Caller[request]{Process: &proc.entry, Index: index, Most: c.most}
	c.pack.Conn, c.pack.PID, c.pack.Worked = on, proc.PID, &proc.worked
	c.pack.Done = func(first int, errs ...error) {
		proc.team.queue.CompleteAll(c.jobs[first:first+len(errs)], errs)
	}
	c.pack.Back = func(from int) {
		rest := c.jobs[from:]
		c.jobs = c.jobs[:from]
		proc.team.queue.PutBack(rest)
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
	k := c.knows[of.function.Number]
	if k == nil || c.loop != nil || c.process.team.python.Own() != nil {
		return 1
	}
	return k.pace
}

// serve hands packs to the worker until it dies, or until the caller is told to end.
func (c *caller) serve() {
	q := &c.process.team.queue
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
		fn := c.jobs[0].Of.function
		if err := c.lostObject(c.jobs[0].Of.Call); err != nil {
			q.Complete(c.jobs[0], err)
			continue
		}

		c.process.last.Store(fn)
		c.function.Store(fn)
		c.pack.Reset(&fn.Function)
		for _, j := range c.jobs {
			c.pack.Add(&j.Of.Task)
		}
		c.packNumber.Add(1)
		c.pack.Open()
		k, err := c.know(fn)
		if refused := (*StartError)(nil); errors.As(err, &refused) {
			c.pack.Close()
			for _, j := range c.jobs {
				q.Complete(j, err)
			}
			q.Refuse(&fn.backlog, err)
			continue
		}
		if err == nil && k.installed.random && c.jobs[0].Of.Call.Run != nil {
			c.pack.Close()
			q.Complete(c.jobs[0], ErrApart)
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
		each := time.Since(c.began) / time.Duration(c.pack.Calls())
		if c.loop == nil && fn.interpreter.Own() == nil {
			fn.took(each)
		}
		// A pack at most doubles, since a few quick calls say little of the next ones.
		k.pace = min(2*k.pace, message.MostCalls, max(1, int(packTime/max(1, each))))
	}
}

// know makes the worker load a function if it has not yet. A [StartError] means that it
// cannot.
func (c *caller) know(fn *function) (*knowledge, error) {
	number := fn.Number
	if k := c.knows[number]; k != nil {
		return k, k.err
	}
	has, err := c.process.install(c, fn)
	if err != nil {
		return nil, err
	}
	c.knows[number] = &knowledge{installed: has, pace: 1}
	return c.knows[number], nil
}

// exchange sends a pack and receives its results. Calls that were reported are complete
// even if it fails.
func (c *caller) exchange() error {
	fn := c.jobs[0].Of.function
	fn.packs.Add(1)
	has := c.knows[fn.Number].installed
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
