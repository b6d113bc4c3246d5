package extern

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/extern/internal/chain"
	"github.com/headrace/headrace/wire"
)

// setup returns the message that describes a function to the worker.
func (proc *process) setup(fn *function) ([]byte, error) {
	s := fn.setup
	s.Number = fn.Number
	if proc.team.joined != "" { // the process was started with another user's path
		s.Path = fn.interpreter.Path
	}

	var errs [4]error
	s.Pickle, errs[0] = chain.PickleAt(fn.Heap, fn.pickle)
	s.KeysPickle, errs[1] = chain.PickleAt(fn.Heap, fn.keys)
	s.InitializerPickle, errs[2] = chain.PickleAt(fn.Heap, fn.initializer)
	s.Chain, errs[3] = fn.Chain.Setup(fn.Heap)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}

	for _, c := range proc.callers {
		at, ok := fn.Heap.Offset(c.cell)
		if !ok {
			return nil, errors.New("extern: the heap has no room")
		}
		s.Cells = append(s.Cells, at)
	}

	return json.Marshal(s)
}

// begin makes the worker load all functions there are, and reports whether it has.
func (proc *process) begin() bool {
	t := proc.team
	t.mu.Lock()
	functions := slices.Clone(t.functions)
	t.mu.Unlock()
	for _, fn := range functions {
		select {
		case <-proc.stop:
			return false
		default:
		}
		_, err := proc.install(proc.callers[0], fn)
		refused := (*StartError)(nil)
		// A function that cannot be loaded fails its own calls; if it is the only one,
		// there is nothing else to do.
		switch {
		case errors.As(err, &refused) && len(functions) == 1 && t.joined == "":
			proc.Kill()
			<-proc.exited
			refused.Last = proc.LastLines() // all of it
			t.queue.Fail(refused)
			return false
		case refused != nil:
			t.queue.Refuse(&fn.backlog, err)
		case err != nil:
			return false // it has died, which died reports
		}
	}

	for _, c := range proc.callers {
		for number, has := range proc.has {
			c.knows[number] = &knowledge{installed: has, pace: 1}
		}
	}
	return true
}

// install makes the worker load a function unless it has it. A [StartError] means that it
// cannot.
func (proc *process) install(c *caller, fn *function) (installed, error) {
	proc.installing.Lock()
	defer proc.installing.Unlock()
	// The callers of a process share its functions: the first of them loads each.
	if has, ok := proc.has[fn.Number]; ok {
		return has, has.err
	}
	if !proc.team.loads(fn) {
		return installed{}, &StartError{Stage: fn.Stage, Cause: ErrClosed}
	}
	defer proc.team.loaded(fn)
	proc.last.Store(fn)

	message, err := proc.setup(fn)
	if err != nil {
		return installed{}, &StartError{Stage: fn.Stage, Cause: err}
	}
	if err := c.conn.Send(wire.KindSetup, 0, message); err != nil {
		return installed{}, err
	}
	f, err := c.conn.Receive()
	if err != nil {
		return installed{}, err
	}

	has, err := proc.answered(fn, f)
	if err != nil {
		return has, err
	}
	proc.has[fn.Number] = has
	return has, has.err
}

// answered returns the properties of a function from the worker's answer to its setup.
func (proc *process) answered(fn *function, f wire.Frame) (has installed, err error) {
	switch f.Kind {
	case wire.KindReady:
		return proc.admit(fn, f.Payload)
	case wire.KindError:
		cause := &CallError{}
		if err := json.Unmarshal(f.Payload, cause); err != nil {
			return has, fmt.Errorf("%w: ERROR: %w", wire.ErrProtocol, err)
		}
		has.err = &StartError{Stage: fn.Stage, Cause: cause, Last: proc.LastLines()}
		return has, nil
	}
	return has, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
}

// admit prepares for the calls of a function that the worker has loaded: an async one
// gets callers in the event loop, and one with a time limit is watched.
func (proc *process) admit(fn *function, ready []byte) (has installed, err error) {
	var r struct {
		Random     bool `json:"random"`
		Epochs     bool `json:"epochs"`
		Concurrent bool `json:"concurrent"`
	}
	if err := json.Unmarshal(ready, &r); err != nil {
		return has, fmt.Errorf("%w: READY: %w", wire.ErrProtocol, err)
	}
	has.random, has.epochs, has.all = r.Random, r.Epochs, r.Concurrent
	if r.Random {
		fn.draws.Store(true)
	}
	if has.all {
		if fn.setup.Exact {
			proc.team.beside(fn)
		}
		if err := proc.loop.spread(fn, has); err != nil {
			return has, err
		}
	}
	switch own := proc.team.python.Own() != nil; {
	case own && fn.Limit > 0 && !has.all:
		has.err = &StartError{Stage: fn.Stage, Cause: errUnstoppable}
	case own: // the program cancels coroutines itself; other calls cannot be stopped
	case fn.Limit > 0:
		proc.watchers.Go(func() { proc.watch(fn, has.all) })
	}
	return has, nil
}

// widen lets as many calls of an async function run concurrently as are wanted now.
func (proc *process) widen(fn *function) {
	proc.installing.Lock()
	has := proc.has[fn.Number]
	proc.installing.Unlock()
	if has.all && has.err == nil {
		proc.loop.spread(fn, has) // if that fails, the process ends
	}
}

// knowledge is a caller's view of a function.
type knowledge struct {
	installed
	pace int // largest number of calls in a pack; grows while packs come back quickly, so that slow calls are left to other workers
}

// installed holds the properties that a worker reported for a function it has loaded.
type installed struct {
	random bool  // it wants random numbers
	epochs bool  // it wants to know the epochs of samples
	all    bool  // its calls run concurrently
	err    error // it cannot be loaded
}
