package extern

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/wire"
)

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
	q := &proc.team.queue
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
	// Only the exit status tells why it died: a closed connection does not.
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
	j, fn := c.jobs[i], c.function.Load()
	single := c.pack.Single()

	// The function may still be running in a thread of the program, and no other process
	// can call it.
	if c.process.team.python.Own() != nil {
		return cmp.Or(j.Ctx.Err(), j.Of.Err, d.cause)
	}

	// Another worker would probably send the same.
	sent := single || i == max(d.reported, d.guilty)
	if d.breach && sent {
		return fmt.Errorf("extern: the worker of %s (process %d) was ended for what it sent: %w", fn.Stage, c.process.PID, d.cause)
	}

	// The reader of a stream has stopped reading.
	if j.Of.Err != nil {
		return j.Of.Err
	}

	// The object's state died with the process, so a stream of it cannot continue.
	stateful := fn.Kind == Aggregate || fn.Kind == Iterate
	if stateful && c.pack.Began() {
		return c.verdict(j, d.limited)
	}

	if i != d.guilty {
		return nil
	}
	if err := j.Ctx.Err(); err != nil {
		return err
	}

	if j.Of.Call.Run != nil {
		return ErrApart // each sample has its own chances
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
	if fn.Kind != Aggregate && !tried && c.pack.Restore(i) {
		j.Suspect = true
		return nil
	}
	return c.verdict(j, d.limited)
}

// verdict returns the error of a sample whose worker died while working on it.
func (c *caller) verdict(j *job, limited *caller) error {
	fn := j.Of.function
	t := c.process.team
	switch {
	case j.Ctx.Err() != nil:
		return j.Ctx.Err()
	case limited == c:
		return &LimitError{Stage: fn.Stage, PID: c.process.PID, Limit: fn.Limit, Stack: c.process.Stack()}
	}
	if t.isClosed() {
		return ErrClosed
	}
	return failure(c.process.Child, fn.Chain.Step(c.cell.function(), fn.Stage), j.Suspect)
}

// lostObject returns an error if the call needs an object that died with an earlier
// process.
func (c *caller) lostObject(call *Call) error {
	proc := c.process
	fn := c.jobs[0].Of.function
	if fn.Kind != Aggregate {
		return nil
	}
	if call.Begin || proc.objects[call.Object] { // safe: such a process has one caller
		if proc.objects == nil {
			proc.objects = map[int]bool{}
		}
		proc.objects[call.Object] = true
		return nil
	}
	t := proc.team
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost == nil {
		return fmt.Errorf("extern: %s has no object yet: the first call begins", fn.Stage)
	}
	return t.lost
}
