// Package queue is where calls wait for workers.
//
// It decides which worker takes which of them, how many at once, and which are tried
// again alone after a process has died. It starts no process and sends no message.
package queue

import "context"

// A Job is a call that waits, or that a worker has. T is the call itself.
type Job[T any] struct {
	Of      T
	Backlog *Backlog[T]     // where it waits
	Ctx     context.Context // ends when nobody waits for the call any more
	Group   *Group[T]       // of which it is one; nil: it is waited for by itself
	At      int             // among those
	Alone   bool            // it goes to a worker without others
	Bytes   int             // that travel with its message
	Err     error           // once it is done

	Suspect bool // it was in work when a process died: it is done again alone
	First   bool // its process has done nothing before

	done    chan struct{} // has room for one
	number  uint64        // counts all that came to the queue
	place   place         // guarded by the queue's lock, as process is
	process *Process[T]   // that works on it
}

// place is a job's state.
type place uint8

const (
	waiting place = iota
	running
	finished
)

// NewJob returns a job without a call.
func NewJob[T any]() *Job[T] { return &Job[T]{done: make(chan struct{}, 1)} }

// Reset prepares the job for another call. It must not be in use.
func (j *Job[T]) Reset() { *j = Job[T]{done: j.done} }

// Done receives once when the job is done, unless it is one of a group.
func (j *Job[T]) Done() <-chan struct{} { return j.done }

func (j *Job[T]) finish(err error) {
	j.place, j.Err = finished, err
	if g := j.Group; g != nil {
		g.ready = append(g.ready, j)
		select {
		case g.news <- struct{}{}:
		default:
		}
		return
	}
	j.done <- struct{}{}
}

// A Group collects jobs that are waited for together.
type Group[T any] struct {
	news  chan struct{} // has room for one: some are ready
	ready []*Job[T]     // that nobody was told of yet; guarded by the queue's lock
}

// NewGroup returns an empty group.
func NewGroup[T any]() *Group[T] { return &Group[T]{news: make(chan struct{}, 1)} }

// News receives when there is something to collect.
func (g *Group[T]) News() <-chan struct{} { return g.news }

// Collect returns a group's finished jobs that it has not returned before. It reuses the
// memory of into.
func (q *Queue[T]) Collect(g *Group[T], into []*Job[T]) (ready []*Job[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ready, g.ready = g.ready, into[:0]
	return ready
}
