package extern

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/extern/internal/shared"
)

// process is one worker process. It has a caller for each of its threads.
type process struct {
	*child.Child
	team    *team
	stop    <-chan struct{} // closed when the process is to end
	entry   queue.Process[request]
	callers []*caller // one for each thread
	loop    *eventLoop

	ready   chan struct{}            // closed when callers work
	exited  chan struct{}            // closed when it has exited and the queue knows
	worked  atomic.Bool              // it has begun to work on a sample
	last    atomic.Pointer[function] // that it was given last, or nil
	objects map[int]bool             // Aggregate: those that exist, by Call.Object. Used by the caller only

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
