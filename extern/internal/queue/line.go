package queue

import (
	"slices"
	"sync"
)

// A Line is where the calls of one function wait. The queue's lock guards it.
type Line[T any] struct {
	waiting []*Job[T] // from head on
	head    int
	wanted  int       // how many workers
	beside  bool      // one worker runs so many calls beside each other instead
	loops   int       // processes whose event loops have lanes for it
	calls   sync.Cond // that one of those lanes has something to do
	first   int       // lanes that call the function, up to end
	end     int
	err     error // why no more is called; nil: the queue's
}

// Open adds a line, of which so many workers are to call the function, or beside one
// worker so many calls at once.
func (q *Queue[T]) Open(l *Line[T], wanted int, beside bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.calls.L = &q.mu
	l.wanted, l.beside = wanted, beside
	q.lines = append(q.lines, l)
	q.wakeAll()
}

// Close takes a line away. What waits in it stays there.
func (q *Queue[T]) Close(l *Line[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = slices.DeleteFunc(q.lines, func(one *Line[T]) bool { return one == l })
	q.wakeAll()
}

// Want changes how many workers are to call a line's function.
func (q *Queue[T]) Want(l *Line[T], n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.wanted = n
	q.wakeAll()
}

// Wanted is how many workers are to call a line's function.
func (q *Queue[T]) Wanted(l *Line[T]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.wanted
}

// RunBeside has one worker run the line's calls beside each other, as many as there would
// have been workers. It reports whether that is new.
func (q *Queue[T]) RunBeside(l *Line[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.beside {
		return false
	}
	l.beside = true
	q.wakeAll()
	return true
}

// Beside tells whether one worker runs the line's calls beside each other.
func (q *Queue[T]) Beside(l *Line[T]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.beside
}

// Abreast is how many calls of a line run beside each other in one event loop.
func (q *Queue[T]) Abreast(l *Line[T]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.abreast(l)
}

func (q *Queue[T]) abreast(l *Line[T]) int {
	if l.beside {
		return l.wanted
	}
	return q.most
}

// Divide gives lanes to the lines, and returns how many lanes there must be. Lines use
// the same lanes, each the first ones, unless they are apart: then each has its own. If
// fixed is not 0, there are so many, which go round. There are least lanes in any case.
func (q *Queue[T]) Divide(fixed int, apart bool, least int) (total int) {
	q.mu.Lock()
	defer q.mu.Unlock()

	total, next := fixed, 0
	for _, l := range q.lines {
		l.first = 0
		lanes := l.wanted
		if l.beside {
			lanes = 1
		}
		switch {
		case fixed > 0: // those that are to have fewer have different ones
			if lanes = min(lanes, total); next+lanes > total {
				next = 0
			}
			l.first, next = next, next+lanes
		case apart:
			l.first = total
			total += l.wanted // lanes that nobody uses cost less than another process
		default:
			total = max(total, lanes)
		}
		l.end = l.first + lanes
	}

	most := max(total, least)
	q.uneven = slices.ContainsFunc(q.lines, func(l *Line[T]) bool { return l.first > 0 || l.end < most })
	q.wakeAll()
	return total
}
