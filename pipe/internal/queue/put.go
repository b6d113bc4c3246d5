package queue

import (
	"time"
)

// Fill puts a message into the place that belongs to its input, which had this number and
// came in this segment; now is about the time at which it was finished.
func (r *Ring[T]) Fill(number int64, seg *segment, m *Message[T], now time.Duration) {
	place := number
	if !r.InOrder && m.Kind != Mark && m.Kind != Fatal {
		place = seg.next.Add(1) - 1
	}
	r.arrive(place, m, now)
}

// Put fills the place after the one that was put last: for stages whose inputs are not
// their outputs. The place must have been reserved.
func (r *Ring[T]) Put(m *Message[T], now time.Duration) {
	r.arrive(r.tail.Add(1)-1, m, now)
}

func (r *Ring[T]) arrive(place int64, m *Message[T], now time.Duration) {
	if r.aborted.Load() {
		r.DiscardMsg(*m)
		return
	}
	if m.Kind == Fatal || m.Kind == Failed && (r.Raises || m.Failure.Stops) {
		r.Note(m.Failure, m.Lineage)
	}
	if int64(now) > r.observed.Load() {
		r.mu.Lock()
		r.observe(now)
		r.mu.Unlock()
	}
	c := r.at(place)
	c.Message = *m
	c.full.Store(place + 1)
	if r.ready.wanted.Load() || r.aborted.Load() {
		r.announce(place)
	}
}

// announce tells somebody who waits that a message is there. If nobody will take it, it
// is disposed of, unless drain has done so.
func (r *Ring[T]) announce(place int64) {
	r.mu.Lock()
	var left []Message[T]
	if r.aborted.Load() {
		left = r.dispose(place)
	} else {
		r.wakeTaker()
	}
	r.mu.Unlock()
	r.DiscardAll(left)
}
