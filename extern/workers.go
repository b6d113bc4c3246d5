package extern

import (
	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/extern/internal/shared"
	"slices"
	"sync"
)

// Workers are processes, or the threads of one process, that call the functions of one or
// several pools.
type Workers struct {
	python  *Interpreter
	heap    *Heap
	threads bool // workers are threads of one process
	fixed   int  // number of processes; 0: as many as the pools want
	each    int  // fixed: threads of each process
	log     func(Line)

	spaces  shared.Spaces
	queue   queue.Queue[request]
	starter child.Starter
	server  *child.Server // forks the processes; nil: workers are the program's threads

	joined string // the name by which loaders share them, or empty
	users  int    // loaders that do; guarded by the lock of joined

	mu          sync.Mutex // guards the fields below
	pools       []*Pool
	removed     map[any][]removal // joined: of closed pools, by user, until the user leaves
	forgotten   []removal         // of users that have left
	count       int               // of pools ever added
	supervisors []*supervisor
	begun       bool  // processes have been started
	lost        error // Aggregate: why the last process ended
	least       int   // least number of threads, for pools that are still to come
	patient     bool  // SetWorkers waits until all have started
	barren      int   // processes in a row that have died before they worked on anything
	closed      bool
	done        sync.WaitGroup
}

// NewWorkers returns workers without functions. No process starts before Start or the
// first call.
func NewWorkers(python *Interpreter, heap *Heap, threads bool, log func(Line)) *Workers {
	if python == nil {
		python = Default()
	}
	w := &Workers{python: python, heap: heap, threads: threads, log: log, removed: map[any][]removal{}}
	w.queue.Init(message.MostCalls, packBytes)
	w.spaces.Init(heap)
	w.starter.Open()
	if python.Own() == nil {
		w.server = child.ServerOf(python)
	}
	return w
}

// Fix sets the number of processes, and of threads of each, that the pools share.
func (w *Workers) Fix(processes, threads int) { w.fixed, w.each = processes, threads }

// add has a pool's function called by these workers.
func (w *Workers) add(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.function.Number = w.count
	w.count++
	w.pools = append(w.pools, p)
	w.queue.Open(&p.backlog, p.o.Workers, p.o.Beside)
	w.scale()
}

// remove has a function loaded by no process that begins from now on. The numbers of
// workers stay until another pool comes.
func (w *Workers) remove(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.pools, p)
	if i < 0 {
		return
	}
	w.pools = slices.Delete(w.pools, i, i+1)
	w.queue.Close(&p.backlog)
	w.dropped(p)
	if w.joined != "" {
		w.log = p.o.Log // for output after the last pool is gone
	}
	if p.closed = true; p.loading == 0 {
		p.unload()
	}
}

// drop forgets the segments of a pool.
func (w *Workers) drop(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped(p)
}

// dropped is drop, and the processes forget them when the user leaves, and the function.
// The caller holds mu.
func (w *Workers) dropped(p *Pool) {
	segments := w.spaces.Drop(p)
	if w.joined != "" {
		w.removed[p.o.User] = append(w.removed[p.o.User], removal{Function: p.function.Number, Segments: segments})
	}
}

// loads keeps a function's pickles in the heap until loaded is called. It returns false
// if they are gone.
func (w *Workers) loads(p *Pool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.closed {
		p.loading++
	}
	return !p.closed
}

func (w *Workers) loaded(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.loading--; p.loading == 0 && p.closed {
		p.unload()
	}
}

// set changes how many workers may call a pool's function.
func (w *Workers) set(p *Pool, n int) {
	w.mu.Lock()
	w.queue.Want(&p.backlog, n)
	w.begun = w.begun || p.own // an idle pool starts with this
	w.scale()
	all, patient := slices.Clone(w.supervisors), w.patient
	w.mu.Unlock()
	for _, s := range all {
		if patient {
			<-s.ready
		}
		if proc := s.process.Load(); proc != nil {
			proc.widen(p)
		}
	}
}

// beside has one worker run the calls of an async function beside each other, as many as
// there would have been workers.
func (w *Workers) beside(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue.RunBeside(&p.backlog) {
		w.scale()
	}
}

// Expect has the process of threads begin with so many, since pools that are still to
// come will want them: to change their number takes another process.
func (w *Workers) Expect(threads int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.least = threads
}

func (w *Workers) await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.patient = true
}

// Start starts the processes, and does not wait for them.
func (w *Workers) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.begun = true
		w.scale()
	}
}

// scale starts and stops processes until there are as many as the pools want. Pools share
// the processes, each the first ones; of threads, each has some of its own. The caller
// holds mu.
func (w *Workers) scale() {
	if w.closed {
		return
	}
	least := w.least
	if w.fixed == 0 && w.threads && len(w.supervisors) > 0 {
		least = max(least, w.supervisors[0].entry.Threads)
	}
	total := w.queue.Divide(w.fixed*w.each, w.threads, least)

	switch {
	case !w.begun:
	case w.fixed > 0:
		for len(w.supervisors) < w.fixed {
			w.addProcess(w.each)
		}
	case !w.threads:
		w.removeProcesses(total)
		for len(w.supervisors) < total {
			w.addProcess(1)
		}
	case len(w.supervisors) != 1 || w.supervisors[0].entry.Threads < total:
		w.removeProcesses(0)
		w.addProcess(max(total, w.least))
	}
}

// addProcess adds a process. The caller holds mu.
func (w *Workers) addProcess(callers int) {
	s := &supervisor{workers: w, entry: queue.Slot{Index: len(w.supervisors), Threads: callers, All: w.threads && w.fixed == 0}, stop: make(chan struct{}), ready: make(chan struct{})}
	w.supervisors = append(w.supervisors, s)
	w.done.Add(1)
	go s.run()
}

// removeProcesses stops all processes but the first n. The caller holds mu.
func (w *Workers) removeProcesses(n int) {
	for len(w.supervisors) > n {
		last := len(w.supervisors) - 1
		s := w.supervisors[last]
		w.supervisors = w.supervisors[:last]
		w.queue.Retire(&s.entry) // before stop is closed: a stopped supervisor asks the queue whether to end
		close(s.stop)
	}
}

// pidsFor returns the processes that may call a pool's function. Threads of the program
// are not listed.
func (w *Workers) pidsFor(p *Pool) (all []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.supervisors {
		proc := s.process.Load()
		running := proc != nil && proc.PID != 0
		everyPools := w.threads || w.fixed > 0 // each process serves all pools
		if running && (everyPools || i < w.queue.Wanted(&p.backlog)) {
			all = append(all, proc.PID)
		}
	}
	return all
}

// Close ends the workers, as [Pool.Close] says, and all calls.
func (w *Workers) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		w.done.Wait()
		return nil
	}
	w.closed = true
	w.removeProcesses(0)
	w.mu.Unlock()

	w.queue.Fail(ErrClosed)
	w.done.Wait()
	if w.server != nil {
		w.server.Close()
	}
	w.starter.Close()
	w.spaces.Close()

	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pools {
		p.closed = true
		p.unload()
	}
	w.pools = nil
	return nil
}

// imports are the modules that processes import to load the functions that there are.
func (w *Workers) imports() (modules []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.pools {
		modules = append(modules, p.imports()...)
	}
	return modules
}

// first returns the first pool, or one without a function if all are closed.
func (w *Workers) first() *Pool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pools) == 0 {
		return &Pool{workers: w, o: Options{Stage: "workers"}}
	}
	return w.pools[0]
}

// stage returns the name to use for output that belongs to no known function.
func (w *Workers) stage() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pools) == 1 {
		return w.pools[0].o.Stage
	}
	return "workers"
}
