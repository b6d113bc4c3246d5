package extern

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/headrace/headrace/extern/internal/chain"
	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/extern/internal/shared"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/wire"
)

// supervisor keeps one process running: when it dies, it starts another.
type supervisor struct {
	workers *Workers
	entry   queue.Slot
	stop    chan struct{} // closed when the supervisor is to end
	ready   chan struct{} // closed when a process has started, or none will
	started sync.Once     // guards closing ready
	process atomic.Pointer[process]
}

func (s *supervisor) run() {
	w := s.workers
	defer w.done.Done()
	defer s.begun()
	defer w.queue.Leave(&s.entry)

	for {
		w.queue.Renew(&s.entry)
		if w.server != nil {
			w.server.Prepare(s.stop, child.Options{Heap: w.heap.File, Tell: w.tell}, w.imports())
		}
		if w.queue.Ended(&s.entry) {
			return
		}
		select {
		case starts <- struct{}{}:
		case <-s.stop:
			return
		}

		proc, err := w.start(s)
		if err != nil {
			<-starts
			if w.queue.Ended(&s.entry) {
				return
			}
			w.queue.Fail(&StartError{Stage: w.stage(), Cause: err})
			return
		}

		s.process.Store(proc)
		proc.run()
		s.process.Store(nil)
		proc.close()
		if w.queue.Ended(&s.entry) {
			return
		}

		p := proc.lastPool()
		if w.python.Own() != nil { // the program has ended, or its threads cannot work
			w.queue.Fail(&StartError{Stage: p.o.Stage, Cause: cmp.Or(proc.Refusal(), errGone)})
			return
		}
		w.mu.Lock()
		w.lost = &LostError{Stage: p.o.Stage, Ending: proc.Ending(), Last: proc.LastLines()}
		w.mu.Unlock()

		wait := w.died(proc, p)
		p.restarts.Add(1)
		select {
		case <-s.stop:
			return
		case <-time.After(wait):
		}
	}
}

func (s *supervisor) begun() { s.started.Do(func() { close(s.ready) }) }

// died counts processes that were of no use, and tells how long to wait before the next.
// A run must not go on starting processes that cannot work.
func (w *Workers) died(proc *process, p *Pool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if proc.worked.Load() {
		w.barren = 0
		return 0
	}
	w.barren++
	if w.barren >= mostBarren {
		w.queue.Fail(&StartError{Stage: p.o.Stage, Cause: fmt.Errorf("%d processes in a row have ended before their first sample; the last one %s", w.barren, proc.Ending()), Last: proc.LastLines()})
	}
	return backOff << w.barren
}

// process is one worker process. It has a caller for each of its threads.
type process struct {
	*child.Child
	workers    *Workers
	supervisor *supervisor
	entry      queue.Process[request]
	callers    []*caller // one for each thread
	loop       *eventLoop

	ready  chan struct{}        // closed when callers work
	exited chan struct{}        // closed when it has exited and the queue knows
	worked atomic.Bool          // it has begun to work on a sample
	last   atomic.Pointer[Pool] // whose function it was given last, or nil
	object bool                 // Aggregate: the object exists. Used by the caller only

	mu      sync.Mutex
	limited *caller // whose call has taken too long, or nil
	item    int     // the call's number in its pack
	alone   bool    // no other coroutine was running

	installing sync.Mutex        // guards the fields below; held while the worker loads a function
	has        map[int]installed // by function number
	forgot     int               // removals that its event loop has been sent
	watchers   sync.WaitGroup
}

// lastPool returns the pool whose function the process was given last, or the first pool
// if it was given none.
func (proc *process) lastPool() *Pool {
	if p := proc.last.Load(); p != nil {
		return p
	}
	return proc.workers.first()
}

// start starts a process.
func (w *Workers) start(s *supervisor) (*process, error) {
	proc := &process{workers: w, supervisor: s, has: map[int]installed{}, forgot: w.removals(), ready: make(chan struct{}), exited: make(chan struct{})}
	started, err := w.starter.StartPatiently(s.stop, child.Options{Python: w.python, Server: w.server, Heap: w.heap.File, Conns: s.entry.Threads + 1, Tell: w.tell})
	if err != nil {
		return nil, err
	}
	proc.Child = started
	proc.entry = queue.Process[request]{Slot: &s.entry, Kill: proc.Kill}
	for i, own := range started.Conns[:s.entry.Threads] {
		cell := w.heap.Take(shared.Align)
		clear(cell)
		proc.callers = append(proc.callers, newCaller(proc, conn.New(own), i, cell))
	}
	proc.loop = &eventLoop{process: proc, callers: map[uint32]*caller{}, streams: conn.NewStreams(started.Conns[s.entry.Threads], mostCoroutines)}
	return proc, nil
}

// tell logs a line that a process has written.
func (w *Workers) tell(line Line) {
	if line.Stage == "" {
		line.Stage = w.stage()
	}
	if log := w.logOf(line.Stage); log != nil {
		log(line)
	}
}

// logOf returns the log for a step's output. If several users share the workers, that is
// the log of the one with a step of that name.
func (w *Workers) logOf(stage string) func(Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.joined == "" || len(w.pools) == 0 {
		return w.log
	}
	i := slices.IndexFunc(w.pools, func(p *Pool) bool { return p.o.Stage == stage || p.function.Chain.Has(stage) })
	return w.pools[max(0, i)].o.Log
}

// setup returns the message that describes a function to the worker.
func (proc *process) setup(p *Pool) ([]byte, error) {
	o := p.o
	s := message.Setup{Number: p.function.Number, Stage: o.Stage, Function: o.Function, Keys: o.Keys, Kind: string(o.Kind), Heap: int64(len(p.function.Heap.Memory)), In: message.FieldsOf(o.In), Rows: o.Rows, Positional: o.Positional, To: o.To,
		Gives: message.FieldsOf(o.Gives), Seed: o.Seed, Copy: o.Copy || o.Threads, States: o.States, Tape: o.Tape, Tried: o.Tried, Rank: o.Rank, World: o.World, InlineMost: pack.RoomLeast, Exact: o.Exact, Limit: o.Limit.Seconds()}

	s.Initializer = o.Interpreter.Initializer
	if proc.workers.joined != "" { // the process was started with another user's path
		s.Path = o.Interpreter.Path
	}

	var errs [4]error
	s.Pickle, errs[0] = chain.PickleAt(p.function.Heap, p.pickle)
	s.KeysPickle, errs[1] = chain.PickleAt(p.function.Heap, p.keys)
	s.InitializerPickle, errs[2] = chain.PickleAt(p.function.Heap, p.initializer)
	s.Chain, errs[3] = p.function.Chain.Setup(p.function.Heap)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}

	for _, c := range proc.callers {
		at, ok := p.function.Heap.Offset(c.cell)
		if !ok {
			return nil, errors.New("extern: the heap has no room")
		}
		s.Cells = append(s.Cells, at)
	}

	return json.Marshal(s)
}

// run runs the process until it has ended.
func (proc *process) run() {
	w := proc.workers
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

	s := proc.supervisor
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-proc.exited:
			return
		case <-s.stop:
		}

		select {
		case <-proc.ready: // its callers end by themselves
		case <-proc.exited: // it finished loading, and ended its hooks and objects
		case <-time.After(patience):
			proc.Kill()
		}

		w.mu.Lock()
		closed := w.closed
		w.mu.Unlock()
		if closed {
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
		s.begun()
		callers.Wait()
		proc.loop.wait()

		proc.dismiss()
	} else {
		select {
		case <-s.stop:
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
	w := proc.workers
	w.mu.Lock()
	pools := slices.Clone(w.pools)
	w.mu.Unlock()
	for _, p := range pools {
		select {
		case <-proc.supervisor.stop:
			return false
		default:
		}
		_, err := proc.install(proc.callers[0], p)
		refused := (*StartError)(nil)
		switch {
		case errors.As(err, &refused) && len(pools) == 1 && w.joined == "":
			proc.Kill()
			<-proc.exited
			refused.Last = proc.LastLines() // all of it
			w.queue.Fail(refused)
			return false
		case refused != nil:
			w.queue.Refuse(&p.backlog, err)
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
func (proc *process) install(c *caller, p *Pool) (installed, error) {
	proc.installing.Lock()
	defer proc.installing.Unlock()
	if has, ok := proc.has[p.function.Number]; ok {
		return has, has.err
	}
	if !proc.workers.loads(p) {
		return installed{}, &StartError{Stage: p.o.Stage, Cause: ErrClosed}
	}
	defer proc.workers.loaded(p)
	proc.last.Store(p)

	message, err := proc.setup(p)
	if err != nil {
		return installed{}, &StartError{Stage: p.o.Stage, Cause: err}
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
			p.draws.Store(true)
		}
		if has.all {
			if p.o.Exact {
				proc.workers.beside(p)
			}
			if err := proc.loop.spread(p, has); err != nil {
				return has, err
			}
		}
		switch own := proc.workers.python.Own() != nil; {
		case own && p.o.Limit > 0 && !has.all:
			has.err = &StartError{Stage: p.o.Stage, Cause: errUnstoppable}
		case own: // the program cancels coroutines itself; other calls cannot be stopped
		case p.o.Limit > 0:
			proc.watchers.Go(func() { proc.watch(p, has.all) })
		}
	case wire.KindError:
		cause := &CallError{}
		if err := json.Unmarshal(f.Payload, cause); err != nil {
			return has, fmt.Errorf("%w: ERROR: %w", wire.ErrProtocol, err)
		}
		has.err = &StartError{Stage: p.o.Stage, Cause: cause, Last: proc.LastLines()}
	default:
		return has, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
	}
	proc.has[p.function.Number] = has
	return has, has.err
}

// widen lets as many calls of an async function run concurrently as are wanted now.
func (proc *process) widen(p *Pool) {
	proc.installing.Lock()
	has := proc.has[p.function.Number]
	proc.installing.Unlock()
	if has.all && has.err == nil {
		proc.loop.spread(p, has) // if that fails, the process ends
	}
}

// wait tells the queue when the process has ended.
func (proc *process) wait() {
	<-proc.Exited()
	proc.workers.queue.Gone(&proc.entry)
	close(proc.exited)
}

// watch ends the process when a call of a pool takes too long.
func (proc *process) watch(p *Pool, coroutines bool) {
	limit := p.o.Limit
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
			callers = proc.loop.of(p)
		}
		for _, c := range callers {
			if item, began, ok := c.inWork(); ok && now-began > limit && c.function.Load() == p {
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
		proc.workers.heap.Give(c.cell)
		c.pack.Forget(proc.workers.heap)
	}
	proc.loop.close()
}
