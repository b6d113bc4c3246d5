package extern

import (
	"headrace/extern/internal/child"
	"headrace/extern/internal/message"
	"headrace/extern/internal/queue"
	"headrace/extern/internal/shared"
	"slices"
	"sync"
)

// Workers are processes, or the threads of one process, in which the functions of one or
// of several pools are called.
type Workers struct {
	python  *Interpreter
	heap    *Heap
	threads bool // of one process
	fixed   int  // processes, however many the pools want; 0: as many as that
	each    int  // fixed: lanes of one
	log     func(Line)

	spaces  shared.Spaces
	queue   queue.Queue[request]
	starter child.Starter
	server  *child.Server // that its processes are forked from; nil: they are the program's threads

	joined string // by what name others share them; empty: nobody does
	users  int    // who do; guarded by the lock of joined

	mu        sync.Mutex // guards what is below
	pools     []*Pool
	removed   map[any][]removal // joined: of pools that are closed, by their users, until these leave
	forgotten []removal         // of users that have left
	count     int               // of all pools that there were
	keepers   []*keeper
	begun     bool  // processes are started
	lost      error // Aggregate: how the last process has ended
	least     int   // threads that the process has at least, for pools that are still to come
	patient   bool  // a change of numbers waits until all have started
	barren    int   // processes in a row that have died before they worked on anything
	closed    bool
	done      sync.WaitGroup
}

// NewWorkers makes some on which no function is called yet. No process is started before
// Start, or the first call.
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

// Fix has there be so many processes, of so many threads each, which the pools share.
func (w *Workers) Fix(processes, threads int) { w.fixed, w.each = processes, threads }

// add has a pool's function called by these workers.
func (w *Workers) add(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.function.Number = w.count
	w.count++
	w.pools = append(w.pools, p)
	w.queue.Open(&p.line, p.o.Workers, p.o.Beside)
	w.employ()
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
	w.queue.Close(&p.line)
	w.dropped(p)
	if w.joined != "" {
		w.log = p.o.Log // of what is said when nobody else is left
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

// loads has a function's pickles stay where they are until loaded; false: they are gone.
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
	w.queue.Want(&p.line, n)
	w.begun = w.begun || p.own // an idle pool begins with it
	w.employ()
	keepers, patient := slices.Clone(w.keepers), w.patient
	w.mu.Unlock()
	for _, k := range keepers {
		if patient {
			<-k.ready
		}
		if proc := k.process.Load(); proc != nil {
			proc.widen(p)
		}
	}
}

// beside has one worker run the calls of an async function beside each other, as many as
// there would have been workers.
func (w *Workers) beside(p *Pool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue.RunBeside(&p.line) {
		w.employ()
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
		w.employ()
	}
}

// employ has as many workers as the pools want. All may use the same processes, each the
// first ones; of threads, each has some of its own. The caller holds mu.
func (w *Workers) employ() {
	if w.closed {
		return
	}
	least := w.least
	if w.fixed == 0 && w.threads && len(w.keepers) > 0 {
		least = max(least, w.keepers[0].seat.Lanes)
	}
	total := w.queue.Divide(w.fixed*w.each, w.threads, least)

	switch {
	case !w.begun:
	case w.fixed > 0:
		for len(w.keepers) < w.fixed {
			w.engage(w.each)
		}
	case !w.threads:
		w.retire(total)
		for len(w.keepers) < total {
			w.engage(1)
		}
	case len(w.keepers) != 1 || w.keepers[0].seat.Lanes < total:
		w.retire(0)
		w.engage(max(total, w.least))
	}
}

// engage adds a process. The caller holds mu.
func (w *Workers) engage(lanes int) {
	k := &keeper{workers: w, seat: queue.Keeper{Index: len(w.keepers), Lanes: lanes, All: w.threads && w.fixed == 0}, stop: make(chan struct{}), ready: make(chan struct{})}
	w.keepers = append(w.keepers, k)
	w.done.Add(1)
	go k.keep()
}

// retire lets processes go, but for the first n. The caller holds mu.
func (w *Workers) retire(n int) {
	for len(w.keepers) > n {
		last := len(w.keepers) - 1
		k := w.keepers[last]
		w.keepers = w.keepers[:last]
		w.queue.Retire(&k.seat) // first: who is stopped asks whether it was
		close(k.stop)
	}
}

// pidsFor are the processes that may call a pool's function. The program is none of them.
func (w *Workers) pidsFor(p *Pool) (all []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, k := range w.keepers {
		if proc := k.process.Load(); proc != nil && proc.PID != 0 && (w.threads || w.fixed > 0 || i < w.queue.Wanted(&p.line)) {
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
	w.retire(0)
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

// first is the first pool; where all are closed, one that nobody has.
func (w *Workers) first() *Pool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pools) == 0 {
		return &Pool{workers: w, o: Options{Stage: "workers"}}
	}
	return w.pools[0]
}

// stage names the workers where it is not known whose function they call.
func (w *Workers) stage() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pools) == 1 {
		return w.pools[0].o.Stage
	}
	return "workers"
}
