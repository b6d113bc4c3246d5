package extern

import (
	"slices"
	"sync"

	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/queue"
)

// Workers are processes, or the threads of one process, that call the functions of one or
// several pools.
type Workers struct {
	team
	threads bool // workers are threads of one process
	fixed   int  // number of processes; 0: as many as the pools want
	each    int  // fixed: threads of each process

	users int // loaders that share them; guarded by the lock of joined

	// Guarded by the team's lock.
	removed     map[any][]removal // joined: of closed pools, by user, until the user leaves
	count       int               // of pools ever added
	supervisors []*supervisor
	begun       bool // processes have been started
	least       int  // least number of threads, for pools that are still to come
	patient     bool // SetWorkers waits until all have started
	barren      int  // processes in a row that have died before they worked on anything
	done        sync.WaitGroup
}

// NewWorkers returns workers without functions. No process starts before Start or the
// first call.
func NewWorkers(python *Interpreter, heap *Heap, threads bool, log func(Line)) *Workers {
	if python == nil {
		python = Default()
	}
	w := &Workers{team: team{python: python, heap: heap, log: log}, threads: threads, removed: map[any][]removal{}}
	w.resize = w.scale
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

// add has a function called by these workers, so many of them, or beside each other.
func (w *Workers) add(fn *function, workers int, beside bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn.Number = w.count
	w.count++
	w.functions = append(w.functions, fn)
	w.queue.Open(&fn.backlog, workers, beside)
	w.scale()
}

// remove has a function loaded by no process that begins from now on. The numbers of
// workers stay until another pool comes.
func (w *Workers) remove(fn *function) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.functions, fn)
	if i < 0 {
		return
	}
	w.functions = slices.Delete(w.functions, i, i+1)
	w.queue.Close(&fn.backlog)
	w.dropped(fn)
	if w.joined != "" {
		w.log = fn.log // for output after the last pool is gone
	}
	if fn.closed = true; fn.loading == 0 {
		fn.unload()
	}
}

// drop forgets the segments of a function.
func (w *Workers) drop(fn *function) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped(fn)
}

// dropped is drop, and the processes forget them when the user leaves, and the function.
// The caller holds mu.
func (w *Workers) dropped(fn *function) {
	segments := w.spaces.Drop(fn)
	if w.joined != "" {
		w.removed[fn.user] = append(w.removed[fn.user], removal{Function: fn.Number, Segments: segments})
	}
}

// set changes the number of workers that may call a function. An idle pool with workers
// of its own starts with it.
func (w *Workers) set(fn *function, n int, own bool) {
	w.mu.Lock()
	w.queue.Want(&fn.backlog, n)
	w.begun = w.begun || own
	w.scale()
	all, patient := slices.Clone(w.supervisors), w.patient
	w.mu.Unlock()
	for _, s := range all {
		if patient {
			<-s.ready
		}
		if proc := s.process.Load(); proc != nil {
			proc.widen(fn)
		}
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
	s := &supervisor{workers: w, entry: queue.Slot{Index: len(w.supervisors), Threads: callers,
		All: w.threads && w.fixed == 0}, stop: make(chan struct{}), ready: make(chan struct{})}
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

// pidsFor returns the processes that may call a function. Threads of the program
// are not listed.
func (w *Workers) pidsFor(fn *function) (all []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.supervisors {
		proc := s.process.Load()
		running := proc != nil && proc.PID != 0
		everyPools := w.threads || w.fixed > 0 // each process serves all pools
		if running && (everyPools || i < w.queue.Wanted(&fn.backlog)) {
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
	// The workers' parent is the server, which tells how they exited: it ends last.
	if w.server != nil {
		w.server.Close()
	}
	w.starter.Close()
	w.spaces.Close()

	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fn := range w.functions {
		fn.closed = true
		fn.unload()
	}
	w.functions = nil
	return nil
}
