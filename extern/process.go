package extern

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"headrace/extern/internal/child"
	"headrace/extern/internal/link"
	"headrace/extern/internal/links"
	"headrace/extern/internal/message"
	"headrace/extern/internal/pack"
	"headrace/extern/internal/queue"
	"headrace/extern/internal/shared"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"headrace/wire"
)

// keeper has one process run, and another one when that has died.
type keeper struct {
	workers *Workers
	seat    queue.Keeper
	stop    chan struct{} // closed when the keeper is to end
	ready   chan struct{} // closed when a process of its has started, or none will
	started sync.Once     // guards that
	process atomic.Pointer[process]
}

func (k *keeper) keep() {
	w := k.workers
	defer w.done.Done()
	defer k.begun()
	defer w.queue.Leave(&k.seat)

	for {
		w.queue.Renew(&k.seat)
		if w.server != nil {
			w.server.Prepare(k.stop, child.Options{Heap: w.heap.File, Tell: w.tell}, w.imports())
		}
		if w.queue.Ended(&k.seat) {
			return
		}
		select {
		case starts <- struct{}{}:
		case <-k.stop:
			return
		}

		proc, err := w.start(k)
		if err != nil {
			<-starts
			if w.queue.Ended(&k.seat) {
				return
			}
			w.queue.Fail(&StartError{Stage: w.stage(), Cause: err})
			return
		}

		k.process.Store(proc)
		proc.run()
		k.process.Store(nil)
		proc.close()
		if w.queue.Ended(&k.seat) {
			return
		}

		p := proc.lastPool()
		if w.python.Own() != nil { // who has ended was the program, or its threads cannot work
			w.queue.Fail(&StartError{Stage: p.o.Stage, Cause: cmp.Or(proc.Refusal(), errGone)})
			return
		}
		w.mu.Lock()
		w.lost = &LostError{Stage: p.o.Stage, Ending: proc.Ending(), Last: proc.Words()}
		w.mu.Unlock()

		wait := w.died(proc, p)
		p.restarts.Add(1)
		select {
		case <-k.stop:
			return
		case <-time.After(wait):
		}
	}
}

func (k *keeper) begun() { k.started.Do(func() { close(k.ready) }) }

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
		w.queue.Fail(&StartError{Stage: p.o.Stage, Cause: fmt.Errorf("%d processes in a row have ended before their first sample; the last one %s", w.barren, proc.Ending()), Last: proc.Words()})
	}
	return backOff << w.barren
}

// process is one worker process. It has a lane for each of its threads.
type process struct {
	*child.Child
	workers *Workers
	keeper  *keeper
	seat    queue.Process[request]
	lanes   []*lane // of its threads
	loop    *loop

	ready  chan struct{}        // closed when lanes work
	exited chan struct{}        // closed when it has exited and the queue knows
	worked atomic.Bool          // it came as far as a sample
	last   atomic.Pointer[Pool] // whose function it was given last; nil: none
	object bool                 // Aggregate: it has the object that calls are for; the lane's

	mu      sync.Mutex
	limited *lane // whose call has taken too long
	item    int   // and which of its pack
	alone   bool  // no other coroutine was in work

	installing sync.Mutex        // guards what is below, and is held while the worker loads a function
	has        map[int]installed // by the numbers of functions
	forgot     int               // of those that were removed, how many its event loop was told of
	watchers   sync.WaitGroup
}

// lastPool is the one whose function the process was given last, or else the first that
// it would have been given.
func (proc *process) lastPool() *Pool {
	if p := proc.last.Load(); p != nil {
		return p
	}
	return proc.workers.first()
}

// start starts a process.
func (w *Workers) start(k *keeper) (*process, error) {
	proc := &process{workers: w, keeper: k, has: map[int]installed{}, forgot: w.removals(), ready: make(chan struct{}), exited: make(chan struct{})}
	started, err := w.starter.StartPatiently(k.stop, child.Options{Python: w.python, Server: w.server, Heap: w.heap.File, Lanes: k.seat.Lanes + 1, Tell: w.tell})
	if err != nil {
		return nil, err
	}
	proc.Child = started
	proc.seat = queue.Process[request]{Keeper: &k.seat, Kill: proc.Kill}
	for i, conn := range started.Lanes[:k.seat.Lanes] {
		cell := w.heap.Take(shared.Align)
		clear(cell)
		proc.lanes = append(proc.lanes, newLane(proc, link.New(conn), i, cell))
	}
	proc.loop = &loop{process: proc, lanes: map[uint32]*lane{}, streams: link.NewStreams(started.Lanes[k.seat.Lanes], mostLanes)}
	return proc, nil
}

// tell tells of a line that a process has said.
func (w *Workers) tell(line Line) {
	if line.Stage == "" {
		line.Stage = w.stage()
	}
	if log := w.logOf(line.Stage); log != nil {
		log(line)
	}
}

// logOf is the log of who has a step of that name, where several share the workers.
func (w *Workers) logOf(stage string) func(Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.joined == "" || len(w.pools) == 0 {
		return w.log
	}
	i := slices.IndexFunc(w.pools, func(p *Pool) bool { return p.o.Stage == stage || p.function.Chain.Has(stage) })
	return w.pools[max(0, i)].o.Log
}

// setup is the message that tells the worker of a function.
func (proc *process) setup(p *Pool) ([]byte, error) {
	o := p.o
	s := message.Setup{Number: p.function.Number, Stage: o.Stage, Function: o.Function, Keys: o.Keys, Kind: string(o.Kind), Heap: int64(len(p.function.Heap.Memory)), In: message.FieldsOf(o.In), Rows: o.Rows, Positional: o.Positional, To: o.To,
		Gives: message.FieldsOf(o.Gives), Seed: o.Seed, Copy: o.Copy || o.Threads, States: o.States, Tape: o.Tape, Tried: o.Tried, Rank: o.Rank, World: o.World, InlineMost: pack.RoomLeast, Exact: o.Exact, Limit: o.Limit.Seconds()}

	s.Initializer = o.Interpreter.Initializer
	if proc.workers.joined != "" { // it was begun with another's
		s.Path = o.Interpreter.Path
	}

	var errs [4]error
	s.Pickle, errs[0] = links.Place(p.function.Heap, p.pickle)
	s.KeysPickle, errs[1] = links.Place(p.function.Heap, p.keys)
	s.InitializerPickle, errs[2] = links.Place(p.function.Heap, p.initializer)
	s.Chain, errs[3] = p.function.Chain.Setup(p.function.Heap)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}

	for _, l := range proc.lanes {
		at, ok := p.function.Heap.Offset(l.cell)
		if !ok {
			return nil, errors.New("extern: the heap has no room")
		}
		s.Cells = append(s.Cells, at)
	}

	return json.Marshal(s)
}

// run has the process work until it has ended.
func (proc *process) run() {
	w := proc.workers
	go proc.wait()

	defer proc.watchers.Wait() // they look at memory that is unmapped some time after this

	// Another process may start when this one is ready, has ended, or takes too long.
	go func() {
		select {
		case <-proc.ready:
		case <-proc.exited:
		case <-time.After(startTime):
		}
		<-starts
	}()

	keeper := proc.keeper
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-proc.exited:
			return
		case <-keeper.stop:
		}

		select {
		case <-proc.ready: // its lanes see that they are to end
		case <-proc.exited: // it has loaded what it was asked to, and its hooks and objects have ended
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
		var lanes sync.WaitGroup
		for _, l := range proc.lanes {
			lanes.Go(l.serve)
		}
		proc.loop.start()
		close(proc.ready)
		keeper.begun()
		lanes.Wait()
		proc.loop.wait()

		proc.dismiss()
	} else {
		select {
		case <-keeper.stop:
			proc.dismiss()
		default:
		}
		proc.Kill()
	}

	<-proc.exited
	<-stopped
}

// dismiss has the worker end by itself.
func (proc *process) dismiss() {
	for _, conn := range proc.Lanes {
		conn.CloseWrite()
	}
	select {
	case <-proc.exited:
	case <-time.After(2 * patience):
		proc.Kill()
	}
}

// begin has the worker load the functions that there are, and waits until it has; false:
// it will not.
func (proc *process) begin() bool {
	w := proc.workers
	w.mu.Lock()
	pools := slices.Clone(w.pools)
	w.mu.Unlock()
	for _, p := range pools {
		select {
		case <-proc.keeper.stop:
			return false
		default:
		}
		_, err := proc.install(proc.lanes[0], p)
		refused := (*StartError)(nil)
		switch {
		case errors.As(err, &refused) && len(pools) == 1 && w.joined == "":
			proc.Kill()
			<-proc.exited
			refused.Last = proc.Words() // all of it
			w.queue.Fail(refused)
			return false
		case refused != nil:
			w.queue.Refuse(&p.line, err)
		case err != nil:
			return false // it has died, which is reported by died
		}
	}
	for _, l := range proc.lanes {
		for number, has := range proc.has {
			l.knows[number] = &knowledge{installed: has, pace: 1}
		}
	}
	return true
}

// install has the worker load a function, unless it has. A [StartError] says that it
// cannot.
func (proc *process) install(l *lane, p *Pool) (installed, error) {
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
	if err := l.link.Conn.Send(wire.KindSetup, 0, message); err != nil {
		return installed{}, err
	}
	f, err := l.link.Conn.Receive()
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
		case own: // the program cancels coroutines, and nobody stops the rest
		case p.o.Limit > 0:
			proc.watchers.Go(func() { proc.watch(p, has.all) })
		}
	case wire.KindError:
		cause := &CallError{}
		if err := json.Unmarshal(f.Payload, cause); err != nil {
			return has, fmt.Errorf("%w: ERROR: %w", wire.ErrProtocol, err)
		}
		has.err = &StartError{Stage: p.o.Stage, Cause: cause, Last: proc.Words()}
	default:
		return has, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
	}
	proc.has[p.function.Number] = has
	return has, has.err
}

// widen has as many calls of an async function run beside each other as are wanted now.
func (proc *process) widen(p *Pool) {
	proc.installing.Lock()
	has := proc.has[p.function.Number]
	proc.installing.Unlock()
	if has.all && has.err == nil {
		proc.loop.spread(p, has) // where that fails, the process ends
	}
}

// wait has the queue know when the process has ended.
func (proc *process) wait() {
	<-proc.Exited()
	proc.workers.queue.Gone(&proc.seat)
	close(proc.exited)
}

// watch ends the process when a call of a pool takes too long.
func (proc *process) watch(p *Pool, coroutines bool) {
	limit := p.o.Limit
	if coroutines {
		limit += patience // the worker cancels coroutines itself, unless one keeps it from that
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
		lanes := proc.lanes
		if coroutines {
			lanes = proc.loop.of(p)
		}
		for _, l := range lanes {
			if item, began, ok := l.inWork(); ok && now-began > limit && l.function.Load() == p {
				proc.expire(l, item)
				return
			}
		}
	}
}

// expire notes who has taken too long, has Python write where it is, and ends the
// process.
func (proc *process) expire(l *lane, item int) {
	proc.mu.Lock()
	proc.limited, proc.item = l, item
	proc.alone = l.loop == nil || l.loop.inWork() == 1
	proc.mu.Unlock()
	proc.AskStack()
	proc.Kill()
}

func (proc *process) close() {
	proc.Close()
	for _, l := range proc.lanes {
		proc.workers.heap.Give(l.cell)
		l.pack.Forget(proc.workers.heap)
	}
	proc.loop.close()
}
