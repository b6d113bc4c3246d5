package extern

import (
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/queue"
	"github.com/headrace/headrace/extern/internal/shared"
)

// team holds the state that all processes of workers share: the functions that they load
// and the calls that wait for them.
type team struct {
	python  *Interpreter
	heap    *Heap
	spaces  shared.Spaces
	queue   queue.Queue[request]
	starter child.Starter
	server  *child.Server // forks the processes; nil: workers are the program's threads
	joined  string        // the name by which loaders share them, or empty
	resize  func()        // starts and stops processes, as the functions want; mu is held

	mu        sync.Mutex // guards the fields below
	functions []*function
	forgotten []removal // of users that have left
	log       func(Line)
	imported  child.Import // by the server, for these processes
	lost      error        // Aggregate: why the last process ended
	closed    bool
}

// tell logs a line that a process has written.
func (t *team) tell(line Line) {
	if line.Stage == "" {
		line.Stage = t.stage()
	}
	if log := t.logOf(line.Stage); log != nil {
		log(line)
	}
}

// logOf returns the log for a step's output. If several users share the workers, that is
// the log of the one with a step of that name.
func (t *team) logOf(stage string) func(Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.joined == "" || len(t.functions) == 0 {
		return t.log
	}
	i := slices.IndexFunc(t.functions, func(fn *function) bool { return fn.Stage == stage || fn.Chain.Has(stage) })
	return t.functions[max(0, i)].log
}

// loads keeps a function's pickles in the heap until loaded is called. It returns false
// if they are gone.
func (t *team) loads(fn *function) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !fn.closed {
		fn.loading++
	}
	return !fn.closed
}

func (t *team) loaded(fn *function) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fn.loading--; fn.loading == 0 && fn.closed {
		fn.unload()
	}
}

// beside has one worker run the calls of an async function beside each other, as many as
// there would have been workers.
func (t *team) beside(fn *function) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue.RunBeside(&fn.backlog) {
		t.resize()
	}
}

// imports are the modules that processes import to load the functions that there are.
func (t *team) imports() (modules []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, fn := range t.functions {
		modules = append(modules, fn.imports...)
	}
	return modules
}

// hasImported counts an import of the server.
func (t *team) hasImported(i child.Import) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.imported.Add(i)
}

// Imported returns the modules that were imported for these workers before they were
// forked, and how long that took.
func (t *team) Imported() (modules []string, took, cpu time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.imported.Modules), t.imported.Time, t.imported.CPU
}

// first returns the first function, or one that stands for all if there is none.
func (t *team) first() *function {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.functions) == 0 {
		return &function{Function: pack.Function{Stage: "workers"}}
	}
	return t.functions[0]
}

// stage returns the name to use for output that belongs to no known function.
func (t *team) stage() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.functions) == 1 {
		return t.functions[0].Stage
	}
	return "workers"
}

func (t *team) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// removal lists a function and segments that a process no longer needs.
type removal struct {
	Function int      `json:"function"`
	Segments []uint64 `json:"segments"`
}

// removals returns the number of removals so far.
func (t *team) removals() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.forgotten)
}

// since returns the removals after the first n.
func (t *team) since(n int) []removal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forgotten[n:]
}
