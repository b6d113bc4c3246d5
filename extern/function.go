package extern

import (
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/message"
	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/queue"
)

// function is the part of a pool that its workers see: the code that they load, and the
// calls that wait for it.
type function struct {
	pack.Function
	setup       message.Setup // without its number, and what differs between processes
	interpreter *Interpreter
	imports     []string // modules that a process imports before it calls any user code
	pickle      []byte   // in the heap; nil: the function is imported
	keys        []byte   // the same, of what Options.Keys names
	initializer []byte   // the same, of what the interpreter has called first
	user        any      // who has joined the workers
	log         func(Line)

	backlog queue.Backlog[request]
	loading int  // processes that load the function; guarded by the team's lock
	closed  bool // likewise

	draws           atomic.Bool  // the function wants random numbers
	each            atomic.Int64 // ns that a call takes now; 0: nobody knows
	packs, restarts atomic.Int64
}

// unload gives back all heap memory of the function.
func (fn *function) unload() {
	for _, pickle := range append(fn.Chain.Pickles(), fn.pickle, fn.keys, fn.initializer) {
		fn.Heap.Give(pickle)
	}
}

// took updates the average duration of a call. Each call of a pack gets an equal share of
// the pack's time.
func (fn *function) took(each time.Duration) {
	before := time.Duration(fn.each.Load())
	if before == 0 {
		before = each
	}
	fn.each.Store(int64(max(1, (3*before+each)/4)))
}
