package queue

import (
	"slices"
	"sync"
)

// A Backlog holds the waiting calls of one function. The queue's lock guards it.
type Backlog[T any] struct {
	waiting    []*Job[T] // from head on
	head       int
	wanted     int       // how many workers
	beside     bool      // one worker runs so many calls beside each other instead
	eventLoops int       // processes whose event loops have callers for it
	calls      sync.Cond // that one of those callers has something to do
	first      int       // callers that call the function, up to end
	end        int
	err        error // why no more is called; nil: the queue's
}

// Open adds a backlog whose function that many workers may call; with beside, one worker
// makes that many calls concurrently instead.
func (q *Queue[T]) Open(b *Backlog[T], wanted int, beside bool) {
	q.change(func() {
		b.calls.L = &q.mu
		b.wanted, b.beside = wanted, beside
		q.backlogs = append(q.backlogs, b)
	})
}

// Close removes a backlog. Its waiting jobs stay in it.
func (q *Queue[T]) Close(b *Backlog[T]) {
	q.change(func() {
		q.backlogs = slices.DeleteFunc(q.backlogs, func(one *Backlog[T]) bool { return one == b })
	})
}

// Want changes the number of workers that may call a backlog's function.
func (q *Queue[T]) Want(b *Backlog[T], n int) { q.change(func() { b.wanted = n }) }

// Wanted returns the number of workers that may call a backlog's function.
func (q *Queue[T]) Wanted(b *Backlog[T]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return b.wanted
}

// RunBeside makes one worker run the backlog's calls concurrently, as many as there would
// have been workers. It reports whether that is new.
func (q *Queue[T]) RunBeside(b *Backlog[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.beside {
		return false
	}
	b.beside = true
	q.wakeAll()
	return true
}

// Beside reports whether one worker runs the backlog's calls concurrently.
func (q *Queue[T]) Beside(b *Backlog[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return b.beside
}

// Abreast returns the number of a backlog's calls that run concurrently in one event
// loop.
func (q *Queue[T]) Abreast(b *Backlog[T]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.abreast(b)
}

func (q *Queue[T]) abreast(b *Backlog[T]) int {
	if b.beside {
		return b.wanted
	}
	return q.most
}

// Divide assigns callers to the backlogs and returns the number of callers needed.
// Backlogs share callers, each from the first one on; with apart each has its own. A
// fixed number above 0 is used as it is, and backlogs go round it. There are at least
// least callers.
func (q *Queue[T]) Divide(fixed int, apart bool, least int) (total int) {
	q.mu.Lock()
	defer q.mu.Unlock()

	total, next := fixed, 0
	for _, b := range q.backlogs {
		b.first = 0
		callers := b.wanted
		if b.beside {
			callers = 1
		}
		switch {
		case fixed > 0: // those that are to have fewer have different ones
			if callers = min(callers, total); next+callers > total {
				next = 0
			}
			b.first, next = next, next+callers
		case apart:
			b.first = total
			total += b.wanted // callers that nobody uses cost less than another process
		default:
			total = max(total, callers)
		}
		b.end = b.first + callers
	}

	most := max(total, least)
	q.uneven = slices.ContainsFunc(q.backlogs, func(b *Backlog[T]) bool { return b.first > 0 || b.end < most })
	q.wakeAll()
	return total
}
