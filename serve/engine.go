package serve

import (
	"sync"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/sample"
)

// engine is the state that the sessions of one process share.
type engine struct {
	ioEngine
	parent   int    // the process that started this one; 0: nobody watches
	client   string // the client's version, if it said one
	trainer  int    // the client's process; 0: it did not say
	sessions sync.WaitGroup
	warn     sync.Once // of what concerns all sessions
}

// ioEngine is the state that sessions of tasks share with each other and with loaders.
type ioEngine struct {
	gate   *headrace.Gate
	memory inputMemory
	page   *page // nil: nothing is noted
	cpus   int
}

// inFlight records that C code works on an input, until end is called.
func (e *ioEngine) inFlight(session uint32, permit, i int, key string) (end func()) {
	if e.page == nil {
		return func() {}
	}
	w := inFlight(cellWriter{page: e.page, session: session})
	w.Begin(permit, sample.ID{Index: int64(i)}, key)
	return func() { w.End(permit) }
}
