package extern

import (
	"encoding/json"
	"github.com/headrace/headrace/extern/internal/conn"
	"sync"

	"github.com/headrace/headrace/wire"
)

// joined are workers that several loaders of this process share, by their names.
var joined = struct {
	mu sync.Mutex
	of map[string]*Workers
}{of: map[string]*Workers{}}

// Join returns the workers of a set. The first loader to name the set decides its
// interpreter, as made by [Interpreter.Of], and the heap is the [CommonHeap]. Pools are
// opened on them with [Options.User]; when a loader is done it calls [Workers.Leave].
func Join(set Set, python *Interpreter, heap *Heap) *Workers {
	joined.mu.Lock()
	defer joined.mu.Unlock()
	w := joined.of[set.Name]
	if w == nil || w.queue.Err() != nil { // where processes could not begin, a later loader tries again
		w = NewWorkers(python, heap, set.Threads > 1, nil)
		w.Fix(set.Processes, set.Threads)
		w.joined = set.Name
		joined.of[set.Name] = w
	}
	w.users++
	return w
}

// Leave is called when a user has closed its pools. The processes forget the user's
// functions; when the last user leaves they end, as [Workers.Close] says.
func (w *Workers) Leave(user any) error {
	joined.mu.Lock()
	w.users--
	last := w.users == 0
	if last && joined.of[w.joined] == w {
		delete(joined.of, w.joined)
	}
	joined.mu.Unlock()
	if last {
		return w.Close()
	}

	w.mu.Lock()
	w.forgotten = append(w.forgotten, w.removed[user]...)
	delete(w.removed, user)
	w.mu.Unlock()
	w.queue.Call()
	return nil
}

// removal lists a function and segments that a process no longer needs.
type removal struct {
	Function int      `json:"function"`
	Segments []uint64 `json:"segments"`
}

// removals returns the number of removals so far.
func (w *Workers) removals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.forgotten)
}

// since returns the removals after the first n.
func (w *Workers) since(n int) []removal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgotten[n:]
}

// forget sends the worker the removals that this caller, and its process's event loop,
// have not sent yet.
func (c *caller) forget() error {
	news := c.process.workers.since(c.forgot)
	c.forgot += len(news)
	for _, r := range news {
		delete(c.knows, r.Function)
	}
	if err := tellRemovals(c.conn, news); err != nil {
		return err
	}
	return c.process.forget()
}

// forget sends the removals on the event loop's connection.
func (proc *process) forget() error {
	proc.installing.Lock()
	defer proc.installing.Unlock()
	news := proc.workers.since(proc.forgot)
	proc.forgot += len(news)
	for _, r := range news {
		delete(proc.has, r.Function)
	}
	return proc.loop.forget(news)
}

// tellRemovals sends removals to a worker on one of its connections.
func tellRemovals(c *conn.Conn, news []removal) error {
	if len(news) == 0 {
		return nil
	}
	for _, r := range news {
		c.Forget(r.Segments)
	}
	text, err := json.Marshal(news)
	if err != nil {
		return err
	}
	return c.Send(wire.KindForget, 0, text)
}
