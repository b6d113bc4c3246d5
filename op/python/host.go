package python

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
)

// Host has the workers of a loader's functions of Python, and the memory that they share
// with the engine.
type Host struct {
	Heap      *extern.Heap
	number    int64 // among those of this process: several loaders may share workers
	python    *extern.Interpreter
	log       func(extern.Line)
	workers   int  // of a step that does not say how many
	probes    bool // nothing runs but for a first sample: each has one worker
	idle      bool // nothing runs at all
	Calls     []*Function
	Threads   map[string]int // that all steps together will want, by where they are
	Processes int            // of a set of workers that does not say how many
	trials    trials

	mu     sync.Mutex
	pools  []*extern.Pool             // guarded by mu
	shared map[string]*extern.Workers // guarded by mu: of steps that share them, by where they are
	joined map[string]*extern.Workers // guarded by mu: of steps that share them with other loaders, likewise
	alone  map[string]*extern.Workers // guarded by mu: of steps that share none, by their names
	beside []string                   // guarded by mu: steps whose functions were found to be async
	closed bool                       // guarded by mu
}

var hosts atomic.Int64

// NewHost makes one without workers.
func NewHost(python *extern.Interpreter, log func(extern.Line), idle bool, workers int, probes bool) (*Host, error) {
	heap := extern.NewHeap
	if python != nil && len(python.Sets) > 0 && !idle {
		heap = extern.CommonHeap // whose workers may be others', too
	}
	memory, err := heap()
	if err != nil {
		return nil, fmt.Errorf("headrace: %w: %w", arena.ErrMemory, machine.Short(err))
	}
	h := &Host{Heap: memory, number: hosts.Add(1), python: python, log: log, workers: workers, probes: probes, idle: idle}
	h.Processes = workers
	if probes {
		h.workers = 1
	}
	if h.python == nil {
		h.python = extern.Default()
	}
	return h, nil
}

// HostOf returns the host of a loader; nil: it has none.
func HostOf(w *core.Env) *Host {
	h, _ := w.Host.(*Host)
	return h
}

// Directory implements [PythonHost].
func (h *Host) Directory() string {
	if h.python == nil {
		return ""
	}
	return h.python.Directory
}

// Renew has the same workers, as many as these of a step that does not say how many,
// work for what is opened from now on. What was opened before is closed.
func (h *Host) Renew(workers int, probes bool) {
	h.mu.Lock()
	old := h.pools
	h.pools, h.Calls = nil, nil
	h.workers, h.probes = workers, probes
	h.mu.Unlock()
	for _, p := range old {
		if p.Beside() {
			h.mu.Lock()
			h.beside = append(h.beside, p.Stage())
			h.mu.Unlock()
		}
		p.Close()
	}
}

// Open starts the workers of a step's function.
func (h *Host) Open(name string, p *recipe.Python, o extern.Options, f *recipe.Failures) (*extern.Pool, int, error) {
	workers := h.workers
	if p.Workers != nil && !h.probes {
		workers = *p.Workers
	}
	o.Stage, o.Function, o.Interpreter, o.Heap, o.Workers, o.Threads = name, p.Function, h.python, h.Heap, workers, place(p) != "process"
	if recipe.InProgram(p.Where) {
		o.Interpreter = h.python.Here()
	}
	set, ofSet := h.setOf(p)
	if ofSet {
		o.Interpreter, o.Threads = h.python.Of(set), set.Threads > 1
		// More workers than the set has threads would only wait.
		if most := set.Processes * set.Threads; !h.probes && (p.Workers == nil || *p.Workers > most) {
			workers = most
		}
	}
	o.Positional, o.Seed, o.Copy, o.Log = p.Fields != nil, p.Seed, p.Copy || o.Copy, h.log
	if o.Kind == extern.Chain { // each of its functions says that itself
		o.Function, o.Positional = "", false
	}
	o.Exact = p.Workers != nil
	if o.Kind == extern.Iterate {
		o.Tape, o.Tried = fmt.Sprintf("%d %s", h.number, name), h.probes
	}
	o.Limit, o.Idle = core.Policies{}.Of(f, 0).Limit, h.idle
	if ofSet && !h.idle {
		o.On, o.User = h.join(p, set, o), h
	} else if o.On = h.share(p, o); o.On == nil {
		o.On = h.keepsAlone(name, o)
	}
	h.mu.Lock()
	o.Beside = slices.Contains(h.beside, name)
	h.mu.Unlock()
	pool, err := extern.Open(o)
	if err != nil {
		return nil, 0, fmt.Errorf("headrace: %s: %w", name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pools = append(h.pools, pool)
	return pool, workers, nil
}

// share are the workers that a step has together with others; nil: it has some of its
// own. A stream keeps its worker for as long as somebody reads it, who may wait for the
// same workers.
func (h *Host) share(p *recipe.Python, o extern.Options) *extern.Workers {
	switch o.Kind {
	case extern.FlatMap, extern.Aggregate, extern.Iterate:
		return nil
	}
	// Threads share generators that are seeded for each sample. A number of processes is
	// that of objects of the function's own, too.
	if o.Threads && len(o.Seed) > 0 || !o.Threads && p.Workers != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shared[place(p)] == nil {
		if h.shared == nil {
			h.shared = map[string]*extern.Workers{}
		}
		w := extern.NewWorkers(o.Interpreter, h.Heap, o.Threads, h.log)
		if o.Threads {
			w.Expect(h.Threads[place(p)])
		}
		h.shared[place(p)] = w
	}
	return h.shared[place(p)]
}

// join are the workers of the set that a step names, which other loaders may use, too.
func (h *Host) join(p *recipe.Python, set extern.Set, o extern.Options) *extern.Workers {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.joined[p.Where]
	if w == nil {
		if h.joined == nil {
			h.joined = map[string]*extern.Workers{}
		}
		w = extern.Join(set, o.Interpreter, h.Heap)
		h.joined[p.Where] = w
	}
	return w
}

// setOf is the set of workers that a step names, if it names one.
func (h *Host) setOf(p *recipe.Python) (extern.Set, bool) {
	name, named := strings.CutPrefix(p.Where, recipe.SetPrefix)
	if !named {
		return extern.Set{}, false
	}
	set := h.python.Sets[name]                                 // there is one: the recipe was checked
	set.Name = cmp.Or(set.Name, fmt.Sprintf("%p %s", h, name)) // the loader's own
	set.Processes = cmp.Or(set.Processes, h.Processes)
	set.Threads = max(1, set.Threads)
	return set, true
}

// place returns the place of a step's function. Sources have none of their own.
func place(p *recipe.Python) string { return cmp.Or(p.Where, "process") }

// keepsAlone are the workers of a step that shares none, which are those that it had
// when it was tried.
func (h *Host) keepsAlone(name string, o extern.Options) *extern.Workers {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.alone[name]
	if w == nil {
		if h.alone == nil {
			h.alone = map[string]*extern.Workers{}
		}
		w = extern.NewWorkers(o.Interpreter, h.Heap, o.Threads, h.log)
		h.alone[name] = w
	}
	return w
}

// Start starts the workers of the steps, all of which are open now.
func (h *Host) Start() {
	if h == nil || h.idle {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range slices.Concat(h.sets(), slices.Collect(maps.Values(h.joined))) {
		w.Start()
	}
}

// sets are the loader's own workers. The caller holds mu.
func (h *Host) sets() []*extern.Workers {
	return slices.Concat(slices.Collect(maps.Values(h.shared)), slices.Collect(maps.Values(h.alone)))
}

// another opens a pool of the same function, with one worker.
func (h *Host) another(like *extern.Pool) (*extern.Pool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, extern.ErrClosed
	}
	pool, err := like.Another()
	if err == nil {
		h.pools = append(h.pools, pool)
	}
	return pool, err
}

// All are the pools so far.
func (h *Host) All() []*extern.Pool {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.pools)
}

// Stats counts the work of the workers.
func (h *Host) Stats() (all []stats.Function) {
	if h == nil {
		return nil
	}
	modules, took, cpu := h.imported()
	for _, p := range h.Calls {
		s := p.Pool.Stats()
		for i, l := range p.Pool.Links() {
			f := stats.Function{Stage: l.Step, Within: p.Stage, Calls: l.Calls, Time: l.Time,
				Given: p.Pool.Given(), Packs: s.Packs, Restarts: s.Restarts, PIDs: append([]int{}, s.PIDs...), Spawned: s.Spawned}
			if i == 0 { // a chain is given samples once
				f.BytesIn, f.BytesOut = s.BytesIn, s.BytesOut
			}
			if f.Here = !p.Pool.Elsewhere(); !f.Here {
				f.Imported, f.ImportTime, f.ImportCPU = modules, took, cpu
				modules, took, cpu = nil, 0, 0
			}
			all = append(all, f)
		}
	}
	return all
}

// imported returns the modules that were imported for all workers of the loader, those
// of trials too, and how long that took.
func (h *Host) imported() (modules []string, took, cpu time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.sets() {
		more, its, itsCPU := w.Imported()
		modules, took, cpu = append(modules, more...), took+its, cpu+itsCPU
	}
	return modules, took, cpu
}

// Refuses returns an error if the function of a stage cannot have so many workers.
func (h *Host) Refuses(stage string, workers int) error {
	if h == nil || workers == 1 {
		return nil
	}
	for _, p := range h.Calls {
		if p.Stage == stage && len(p.Shared) > 0 {
			return fmt.Errorf("%s: threads share the generators of %s, which cannot be seeded for each sample then: "+
				"use processes, or the function's own rng", stage, strings.Join(p.Shared, ", "))
		}
	}
	return nil
}

// Await waits until the workers have started, from when on times are measured.
func (h *Host) Await() {
	for _, p := range h.All() {
		p.Await()
	}
}

// Close ends the workers. The heap stays until an abandoned operation has let go of it,
// too.
func (h *Host) Close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	again := h.closed // others use what is shared
	h.closed = true
	h.mu.Unlock()
	if again {
		return nil
	}
	var errs []error
	for _, p := range h.All() {
		errs = append(errs, p.Close())
	}
	h.mu.Lock()
	sets, joined := h.sets(), h.joined
	h.mu.Unlock()
	for _, w := range sets {
		errs = append(errs, w.Close())
	}
	for _, w := range joined {
		errs = append(errs, w.Leave(h))
	}
	return errors.Join(append(errs, h.Heap.Close())...)
}
