package queue

import (
	"sync"
	"sync/atomic"
)

// waiters are those who wait for the same thing, and are woken one at a time: while one
// was called and has not looked yet, nobody else is. Anyone who was called, and leaves
// something after, wakes the next. So the price of waking does not grow with the number
// of those who wait, and nobody sleeps while there is something to do.
//
// The owner's lock guards them. Those who change something without that lock look at
// wanted after the change, and wake under the lock if it is set; those who wait set it
// before they look. So one of the two sees the other.
type waiters struct {
	cond    sync.Cond
	waiting int
	called  bool
	wanted  atomic.Bool // somebody waits, and nobody was called
}

// wait waits until something is so.
func (b *waiters) wait(until func() bool) {
	b.waiting++
	for b.update(); !until(); b.update() {
		b.cond.Wait()
		b.called = false
	}
	b.waiting--
	b.update()
}

// wake calls one of those who wait, unless one is called already.
func (b *waiters) wake() {
	if b.waiting > 0 && !b.called {
		b.called = true
		b.update()
		b.cond.Signal()
	}
}

// wakeAll lets everybody look.
func (b *waiters) wakeAll() { b.cond.Broadcast() }

func (b *waiters) update() { b.wanted.Store(b.waiting > 0 && !b.called) }
