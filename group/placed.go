package group

import "github.com/headrace/headrace/pipe"

// Placed is a sample with its place in a batch.
type Placed[T, S any] struct {
	Item  T
	Shape S   // of the batch: what [Buckets], [Shapes] or [Budget] say it is
	Row   int // of the sample, from 0
	Rows  int // of the batch
}

// Last tells whether the batch ends after this sample.
func (p Placed[T, S]) Last() bool { return p.Row == p.Rows-1 }

// emit hands on the samples of a batch.
func emit[T, S any](e *pipe.Emitter[T, Placed[T, S]], shape S, held []pipe.Held[T]) {
	for row, h := range held {
		e.Emit(Placed[T, S]{h.Value, shape, row, len(held)}, h)
	}
	clear(held) // the values are others' now
}
