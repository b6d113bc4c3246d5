package pipe

import (
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
)

// A Flow describes a pipeline whose last stage makes items of type T. It holds nothing of
// a run, so it can be started any number of times, also at once. The items of a flow are
// taken by one stage. The zero Flow is refused by Start.
type Flow[T any] struct {
	node *node
	open func(o *opening, below *stage) *queue.Ring[T] // prepares the stages up to here for a run; below takes the items
	drop func(T)                                       // disposes of items that nobody takes; may be nil
}

// Check returns every mistake in the description, joined, or nil. Start does the same.
func (f Flow[T]) Check() error {
	return f.node.check()
}

// Fits says why a run of this flow cannot go on from a state, or nil. Start does the
// same.
func (f Flow[T]) Fits(s State) error {
	return progress.CheckState(s, f.node.stages())
}

// String draws the description, from the last stage up to the sources.
func (f Flow[T]) String() string {
	return f.node.draw()
}

// into prepares the flow for a run in which stage below (nil: the consumer) takes its
// items.
func (f Flow[T]) into(o *opening, below *stage) *queue.Ring[T] {
	if o.isolation != nil && below != nil && o.whole == 0 {
		return replay(o, f, below)
	}
	r := f.open(o, below)
	r.Drop = f.drop
	return r
}

// Discard returns f with drop as the one who disposes of its items that were made but not
// handed on: when a run is closed, cancelled or has failed. Without it they are left to
// the garbage collector.
func Discard[T any](f Flow[T], drop func(T)) Flow[T] {
	f.drop = drop
	return f
}
