package queue

import (
	"fmt"

	"github.com/headrace/headrace/pipe/internal/failure"
)

// Abort releases all who wait here: nothing is taken any more.
func (r *Ring[T]) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observeNow()
	r.aborted.Store(true)
	r.ready.wakeAll()
	r.room.wakeAll()
}

// Drain discards what was left, after abort.
func (r *Ring[T]) Drain() {
	r.mu.Lock()
	var left []Message[T]
	for i := range r.cells.Load().all {
		left = append(left, r.dispose(r.head+int64(i))...)
	}
	r.mu.Unlock()
	r.DiscardAll(left)
}

// dispose empties a place from which nothing will be taken, if there is a message.
func (r *Ring[T]) dispose(place int64) (left []Message[T]) {
	c := r.at(place)
	if place < r.head || !r.full(place) {
		return nil // it was taken, or never came
	}
	c.full.Store(0)
	left, c.Message = []Message[T]{c.Message}, Message[T]{}
	r.disposed++
	return left
}

// DiscardAll is DiscardMsg for several.
func (r *Ring[T]) DiscardAll(msgs []Message[T]) {
	for _, m := range msgs {
		r.DiscardMsg(m)
	}
}

// DiscardMsg disposes of the item of a message, if it has one.
func (r *Ring[T]) DiscardMsg(m Message[T]) {
	if m.Kind == Item {
		r.Discard(m.Val)
	}
}

// Discard disposes of an item that is not handed on.
func (r *Ring[T]) Discard(v T) { r.DiscardWith(r.Drop, v) }

// DiscardWith calls drop, whose panic must not end the process.
func (r *Ring[T]) DiscardWith(drop func(T), v T) {
	if drop == nil {
		return
	}
	if err := failure.InOwnGoroutine(func() error { drop(v); return nil }); err != nil {
		r.Run.Complain(fmt.Errorf("pipe: stage %s: discarding an item: %w", r.From.Stage, err))
	}
}
