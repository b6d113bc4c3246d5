// Package budget counts the bytes that a run holds, and lets its stages wait for their
// share before they take it.
//
// A stage acquires an upper estimate before it starts, in the name of the item it works
// on, and corrects it once it knows better:
//
//	g, err := b.Acquire(ctx, order, "read", size)
//	if err != nil {
//		return err // ctx ended
//	}
//	defer g.Release()
//	g.Resize(int64(len(data)))
//
// # Order
//
// Items are ordered, smallest first, by a number that their owner gives them. Anyone who
// waits is admitted in that order and in no other: a small request never overtakes an
// older, larger one, so none starves. The item at the head of the order is admitted
// even where it does not fit, because everything after it may be waiting for it to
// finish; this is why a budget cannot deadlock, and why it can be overshot. How far it
// was is part of [Stats].
//
// Orders are compared within a [Lane] alone. Items of several sources, of which a merge
// takes one when its turn has come, need a lane for each source: the oldest of every
// lane is admitted. An item that itself waits for others, in a bucket until a batch is
// full, is parked ([Grant.Park]): its bytes count, but nobody waits for it. So the sum
// exceeds the limit by the largest item of each lane and by what is parked, at most.
// Runs whose consumers wait for each other need a Budget each.
//
// Memory that is held as long as the run is not an item's. It is set aside by
// [Budget.Reserve], which refuses instead of waiting.
//
// # Not counted
//
// What nobody acquires: Go's own heap metadata, the page cache, the memory of other
// processes.
//
// # Concurrency
//
// A [Budget] is for any number of goroutines. A [Grant] is a value and belongs to one
// goroutine at a time. While the sum stays within the limit an acquisition costs one
// uncontended mutex and no allocation.
//
// # Testing
//
// A model test walks random histories beside a naive list of holders and waiters;
// blocking and cancelling run in synctest's bubble. Random runs in miniature, with
// merges, buckets, short queues and slow consumers, must come to their end with budgets
// of next to nothing.
package budget
