package extern

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/chain"
	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/wire"
)

// process is one worker process. It has a caller for each of its threads.
type process struct {
	*child.Child
	team    *team
	stop    <-chan struct{} // closed when the process is to end
	entry   queue.Process[request]
	callers []*caller // one for each thread
	loop    *eventLoop

	ready  chan struct{}            // closed when callers work
	exited chan struct{}            // closed when it has exited and the queue knows
	worked atomic.Bool              // it has begun to work on a sample
	last   atomic.Pointer[function] // that it was given last, or nil
	object bool                     // Aggregate: the object exists. Used by the caller only

	mu      sync.Mutex
	limited *caller // whose call has taken too long, or nil
	item    int     // the call's number in its pack
	alone   bool    // no other coroutine was running

	installing sync.Mutex        // guards the fields below; held while the worker loads a function
	has        map[int]installed // by function number
	forgot     int               // removals that its event loop has been sent
	watchers   sync.WaitGroup
}

// lastFunction returns the function that the process was given last, or the first one if
// it was given none.
func (proc *process) lastFunction() *function {
	if fn := proc.last.Load(); fn != nil {
		return fn
	}
	return proc.team.first()
}

// start starts a process in a slot, unless stop is closed.
func (t *team) start(in *queue.Slot, stop <-chan struct{}) (*process, error) {
	proc := &process{team: t, stop: stop, has: map[int]installed{}, forgot: t.removals(), ready: make(chan struct{}),
		exited: make(chan struct{})}
	started, err := t.starter.StartPatiently(stop,
		child.Options{Python: t.python, Server: t.server, Heap: t.heap.File, Conns: in.Threads + 1, Tell: t.tell})
	if err != nil {
		return nil, err
	}
	proc.Child = started
	proc.entry = queue.Process[request]{Slot: in, Kill: proc.Kill}
	for i, own := range started.Conns[:in.Threads] {
		cell := t.heap.Take(shared.Align)
		clear(cell)
		proc.callers = append(proc.callers, newCaller(proc, conn.New(own), i, cell))
	}
	proc.loop = &eventLoop{process: proc, callers: map[uint32]*caller{},
		streams: conn.NewStreams(started.Conns[in.Threads], mostCoroutines)}
	return proc, nil
}

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

// run runs the process until it has ended. It calls begun when its callers work.
func (proc *process) run(begun func()) {
	t := proc.team
	go proc.wait()

	defer proc.watchers.Wait() // they read memory that is unmapped later

	// Another process may start when this one is ready, has ended, or takes too long.
	go func() {
		select {
		case <-proc.ready:
		case <-proc.exited:
		case <-time.After(startTime):
		}
		<-starts
	}()

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-proc.exited:
			return
		case <-proc.stop:
		}

		select {
		case <-proc.ready: // its callers end by themselves
		case <-proc.exited: // it finished loading, and ended its hooks and objects
		case <-time.After(patience):
			proc.Kill()
		}

		if t.isClosed() {
			select {
			case <-proc.exited:
			case <-time.After(2 * patience):
				proc.Kill()
			}
		}
	}()

	if proc.begin() {
		var callers sync.WaitGroup
		for _, c := range proc.callers {
			callers.Go(c.serve)
		}
		proc.loop.start()
		close(proc.ready)
		begun()
		callers.Wait()
		proc.loop.wait()

		proc.dismiss()
	} else {
		select {
		case <-proc.stop:
			proc.dismiss()
		default:
		}
		proc.Kill()
	}

	<-proc.exited
	<-stopped
}

// dismiss lets the worker end on its own, and kills it if it does not.
func (proc *process) dismiss() {
	for _, conn := range proc.Conns {
		conn.CloseWrite()
	}
	select {
	case <-proc.exited:
	case <-time.After(2 * patience):
		proc.Kill()
	}
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

	var has installed
	switch f.Kind {
	case wire.KindReady:
		var r struct {
			Random     bool `json:"random"`
			Epochs     bool `json:"epochs"`
			Concurrent bool `json:"concurrent"`
		}
		if err := json.Unmarshal(f.Payload, &r); err != nil {
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
	case wire.KindError:
		cause := &CallError{}
		if err := json.Unmarshal(f.Payload, cause); err != nil {
			return has, fmt.Errorf("%w: ERROR: %w", wire.ErrProtocol, err)
		}
		has.err = &StartError{Stage: fn.Stage, Cause: cause, Last: proc.LastLines()}
	default:
		return has, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
	}
	proc.has[fn.Number] = has
	return has, has.err
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

// wait tells the queue when the process has ended.
func (proc *process) wait() {
	<-proc.Exited()
	proc.team.queue.Gone(&proc.entry)
	close(proc.exited)
}

// watch ends the process when a call of a function takes too long.
func (proc *process) watch(fn *function, coroutines bool) {
	limit := fn.Limit
	if coroutines {
		limit += patience // the worker cancels coroutines itself, unless one blocks the event loop
	}
	ticker := time.NewTicker(min(max(limit/8, 5*time.Millisecond), time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-proc.exited:
			return
		case <-ticker.C:
		}
		now := monotonic()
		callers := proc.callers
		if coroutines {
			callers = proc.loop.of(fn)
		}
		for _, c := range callers {
			if item, began, ok := c.inWork(); ok && now-began > limit && c.function.Load() == fn {
				proc.expire(c, item)
				return
			}
		}
	}
}

// expire records the call that has taken too long, asks Python for its stacks, and kills
// the process.
func (proc *process) expire(c *caller, item int) {
	proc.mu.Lock()
	proc.limited, proc.item = c, item
	proc.alone = c.loop == nil || c.loop.inWork() == 1
	proc.mu.Unlock()
	proc.AskStack()
	proc.Kill()
}

func (proc *process) close() {
	proc.Close()
	for _, c := range proc.callers {
		proc.team.heap.Give(c.cell)
		c.pack.Forget(proc.team.heap)
	}
	proc.loop.close()
}
