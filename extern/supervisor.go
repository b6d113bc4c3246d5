package extern

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/extern/internal/child"
	"github.com/headrace/headrace/extern/internal/queue"
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
			w.server.Prepare(s.stop, child.Options{Heap: w.heap.File, Tell: w.tell, Imported: w.hasImported}, w.imports())
		}
		if w.queue.Ended(&s.entry) {
			return
		}
		select {
		case starts <- struct{}{}:
		case <-s.stop:
			return
		}

		proc, err := w.start(&s.entry, s.stop)
		if err != nil {
			<-starts
			if w.queue.Ended(&s.entry) {
				return
			}
			w.queue.Fail(&StartError{Stage: w.stage(), Cause: err})
			return
		}

		s.process.Store(proc)
		proc.run(s.begun)
		s.process.Store(nil)
		proc.close()
		if w.queue.Ended(&s.entry) {
			return
		}

		fn := proc.lastFunction()
		if w.python.Own() != nil { // the program has ended, or its threads cannot work
			w.queue.Fail(&StartError{Stage: fn.Stage, Cause: cmp.Or(proc.Refusal(), errGone)})
			return
		}
		w.mu.Lock()
		w.lost = &LostError{Stage: fn.Stage, Ending: proc.Ending(), Last: proc.LastLines()}
		w.mu.Unlock()

		wait := w.died(proc, fn)
		fn.restarts.Add(1)
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
func (w *Workers) died(proc *process, fn *function) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if proc.worked.Load() {
		w.barren = 0
		return 0
	}
	w.barren++
	if w.barren >= mostBarren {
		w.queue.Fail(&StartError{Stage: fn.Stage, Cause: fmt.Errorf("%d processes in a "+
			"row have ended before their first sample; the last one %s", w.barren, proc.Ending()), Last: proc.LastLines()})
	}
	return backOff << w.barren
}
