// Package progress knows what of a run is finished, and says it as a [State]: JSON from
// which another run goes on.
//
// An item carries a [Lineage]: the source items that it was made of. A stage that makes
// several items of one numbers them with a [FanOut]; they are the [Children] of that
// item, which is finished when all of them are. When the consumer has an item, the run
// gives its lineage to the [Tracker]. The tracker keeps a [PositionSet] for each source,
// and the items that are finished in part.
//
// After a resume the sources leave out the positions that are finished. Items that were
// finished in part come again: [Unfinished] recognizes them, says which of their children
// to drop, and refuses an item that is put together of others than before.
//
// The package starts no goroutines and knows no stages: tests need neither.
package progress
