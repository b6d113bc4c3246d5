package extern

import "sync"

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
