package extern

import (
	"encoding/json"
	"headrace/extern/internal/link"
	"sync"

	"headrace/wire"
)

// joined are workers that several loaders of this process share, by their names.
var joined = struct {
	mu sync.Mutex
	of map[string]*Workers
}{of: map[string]*Workers{}}

// Join returns the workers of a set, which begin as the first one says who names it: the
// interpreter is as [Interpreter.Of] has made it, and the heap is the [CommonHeap].
// Who joins opens pools on them as [Options.User], and leaves.
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

// Leave says that a user has closed his pools. The processes forget his functions; where
// nobody else is left they end, as [Workers.Close] says.
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

// removal is what a process need not know any more.
type removal struct {
	Function int      `json:"function"`
	Segments []uint64 `json:"segments"`
}

// removals is how many removals there were.
func (w *Workers) removals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.forgotten)
}

// since are the removals after the first n.
func (w *Workers) since(n int) []removal {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgotten[n:]
}

// forget tells the worker of the removals that it was not told of on this lane, and on
// that of its event loop.
func (l *lane) forget() error {
	news := l.process.workers.since(l.forgot)
	l.forgot += len(news)
	for _, r := range news {
		delete(l.knows, r.Function)
	}
	if err := tellRemovals(l.link, news); err != nil {
		return err
	}
	return l.process.forget()
}

// forget does that on the lane of the event loop.
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

// tellRemovals tells a worker of removals on one of its connections.
func tellRemovals(k *link.Link, news []removal) error {
	if len(news) == 0 {
		return nil
	}
	for _, r := range news {
		k.Forget(r.Segments)
	}
	text, err := json.Marshal(news)
	if err != nil {
		return err
	}
	return k.Conn.Send(wire.KindForget, 0, text)
}
