package pipe

import "context"

// A hand is what the consumer holds of the last queue: a run of messages that were taken together, because it is fast. They keep their
// places in the queue until the last of them was read, so that nothing is pulled from the source in their stead.
type lookahead[T any] struct {
	queue *ring[T]
	buf   [maxRun]msg[T]
	run   []msg[T] // of buf, what was not read
}

func newLookahead[T any](queue *ring[T]) lookahead[T] {
	queue.deferRelease = true
	return lookahead[T]{queue: queue}
}

// await waits for a run, without the lock that guards the hand: there is nothing in it, and nobody else takes.
func (h *lookahead[T]) await(ctx context.Context, w *worker) []msg[T] {
	return h.queue.takeWithin(ctx, w, h.buf[:w.sampler.limit(maxRun)]).msgs
}

// first is the next message, or nil.
func (h *lookahead[T]) first() *msg[T] {
	if len(h.run) == 0 {
		return nil
	}
	return &h.run[0]
}

// drop puts the first message out of the hand, because it was read.
func (h *lookahead[T]) pop() {
	h.run[0] = msg[T]{}
	if h.run = h.run[1:]; len(h.run) == 0 {
		h.queue.releaseTaken()
	}
}

// empty takes everything out of the hand.
func (h *lookahead[T]) empty() (left []msg[T]) {
	for m := h.first(); m != nil; m = h.first() {
		left = append(left, *m)
		h.pop()
	}
	return left
}
