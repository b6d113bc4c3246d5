package queue

import (
	"context"

	"github.com/headrace/headrace/pipe/internal/worker"
)

// A Lookahead is what the consumer holds of the last queue: a run of messages that were
// taken together, because it is fast. They keep their places in the queue until the last
// of them was read, so that nothing is pulled from the source in their stead.
type Lookahead[T any] struct {
	Queue *Ring[T]
	buf   [worker.MaxRun]Message[T]
	Run   []Message[T] // of buf, what was not read
}

// NewLookahead is for the only one who takes from a queue.
func NewLookahead[T any](queue *Ring[T]) Lookahead[T] {
	queue.deferRelease = true
	return Lookahead[T]{Queue: queue}
}

// Await waits for a run, without the lock that guards the lookahead: there is nothing in
// it, and nobody else takes.
func (h *Lookahead[T]) Await(ctx context.Context, w *worker.Worker) []Message[T] {
	return h.Queue.takeWithin(ctx, w, h.buf[:w.Sampler.Limit(worker.MaxRun)]).Msgs
}

// First is the next message, or nil.
func (h *Lookahead[T]) First() *Message[T] {
	if len(h.Run) == 0 {
		return nil
	}
	return &h.Run[0]
}

// Pop removes the first message, because it was read.
func (h *Lookahead[T]) Pop() {
	h.Run[0] = Message[T]{}
	if h.Run = h.Run[1:]; len(h.Run) == 0 {
		h.Queue.releaseTaken()
	}
}

// Empty takes everything out of it.
func (h *Lookahead[T]) Empty() (left []Message[T]) {
	for m := h.First(); m != nil; m = h.First() {
		left = append(left, *m)
		h.Pop()
	}
	return left
}
