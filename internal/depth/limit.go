// Package depth bounds how many samples are between a program's own functions and its
// loop: those that have begun, and that the loop has not taken in a batch.
//
// A [Limit] is asked for a [Ticket] before a sample begins. The ticket goes with the
// sample, and later with its batch, and is given back when the sample is dropped, or the
// loop takes the batch. Tickets may be given back by any goroutine.
package depth

import (
	"context"
	"sync"
)

// Limit is how many samples may be on their way at once. While the loop waits for a
// batch, there may be Batch more.
type Limit struct {
	Ahead int // samples, whether the loop waits or not
	Batch int // samples that a batch needs

	mu     sync.Mutex
	run    *run // the tickets of this run
	waited bool // the loop waits
}

// run counts the tickets that one run has given out. Those of an operation that the run
// has abandoned come back later, and count for no other.
type run struct {
	of   *Limit
	out  int
	free chan struct{} // closed when there may be one; nil: nobody waits
}

// Ticket is the right to be on the way. The zero Ticket is for samples that are not
// counted.
type Ticket struct {
	of *run
	n  int
}

// Begin forgets the tickets of the run before.
func (l *Limit) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run, l.waited = &run{of: l}, false
}

// Enter waits for a ticket. An error is the context's.
func (l *Limit) Enter(ctx context.Context) (Ticket, error) {
	for {
		t, wait := l.try()
		if wait == nil {
			return t, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return Ticket{}, ctx.Err()
		}
	}
}

func (l *Limit) try() (Ticket, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := l.Ahead
	if l.waited {
		most += l.Batch
	}
	if r := l.run; r.out >= most {
		if r.free == nil {
			r.free = make(chan struct{})
		}
		return Ticket{}, r.free
	}
	l.run.out++
	return Ticket{l.run, 1}, nil
}

// Wait tells whether the loop waits for a batch.
func (l *Limit) Wait(waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waited = waits; waits && l.run != nil {
		l.run.wake()
	}
}

// Leave gives back the ticket of what is dropped. Giving it back again does nothing.
func (t *Ticket) Leave() { t.giveBack(false) }

// Taken gives back the ticket of a batch that the loop takes. If it waited, it waits no
// longer: both in one step, or samples of the next batch would enter in between.
func (t *Ticket) Taken() { t.giveBack(true) }

func (t *Ticket) giveBack(taken bool) {
	if t.of == nil {
		return
	}
	l := t.of.of
	l.mu.Lock()
	defer l.mu.Unlock()
	t.of.out -= t.n
	l.waited = l.waited && !taken
	t.of.wake()
	*t = Ticket{}
}

// OnTaken returns Taken for any goroutine, and for more than one call.
func (t Ticket) OnTaken() func() {
	if t.of == nil {
		return func() {}
	}
	return sync.OnceFunc(t.Taken)
}

// Join makes another ticket part of this one, which comes from the same limit.
func (t *Ticket) Join(other *Ticket) {
	if other.of != nil {
		t.of, t.n = other.of, t.n+other.n
		*other = Ticket{}
	}
}

func (r *run) wake() {
	if r.free != nil {
		close(r.free)
		r.free = nil
	}
}
