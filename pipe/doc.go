// Package pipe is the engine: it runs typed stages over a source of items concurrently,
// exactly and observably.
//
// # Usage
//
// A pipeline is described first and run later. A [Flow] is a description: [From] makes
// one of a source, [Map], [FlatMap], [Batch], [Aggregate] and [Fill] extend it, [Merge]
// puts several together, [Route] and [RouteBatch] divide one among branches, and nothing
// runs until [Start].
//
//	samples := pipe.From("train", source) // or pipe.Slice(files), pipe.Count(n), pipe.Seq(lines)
//	images := pipe.Map(samples, decode, pipe.Opts{Name: "decode", Workers: 16, Ordered: true})
//	batches := pipe.Batch(images, 64, pipe.BatchOpts{Name: "batch", DropLast: true})
//	run, err := pipe.Start(ctx, batches, pipe.Config{Resume: saved})
//	if err != nil {
//		return err // every mistake in the description, joined
//	}
//	defer run.Close()
//	for b, err := range run.All() { // one epoch
//		if err != nil {
//			return err // what stopped the run, after everything that was made before it
//		}
//		step(b)
//		saved = run.State() // exact: everything yielded so far, and nothing else
//	}
//
// # Order
//
// Every stage either keeps the order of its input (Ordered) or hands on what is finished
// first. Never more than Workers operations of a stage run at once, in either order. A
// flow whose stages are all ordered yields the same items in the same order whatever the
// number of workers, and stops at the same item when it fails.
//
// A [FlatMap] hands on the outputs of an item one by one, and may begin with others
// meanwhile; a [Merge] goes by arrival, or by turns that depend on nothing but the
// settings; a [Route] puts its branches together as they finish, or in the order of its
// input. Whatever a flow is made of, a state is exact: a source item is finished when
// everything that was made of it is.
//
// A state may be inside a batch that is taken apart again. It records what the batch was
// made of, and the resumed run must make the same batch: it does where the stages before
// the batch keep order and their settings are the same. Start refuses such a state if a
// stage before the batch keeps no order. If the batch comes out differently for another
// reason, Next returns an error before any of its items: no item is lost or repeated.
//
// A [Batch] with Within hands on what it has when the time is up. Another run has other
// batches then, and a state counts items as it does where no order is kept. A [Fill] has
// no such time, and loaders of recipes have none: their batches are the same in every
// run.
//
// # Concurrency properties
//
// The queue between two stages hands out places before work begins: a worker first gets a
// place for its result, then takes an input, then operates, so that finished work never
// waits for room. A stage therefore holds at most Workers + Buffer items that the next
// stage has not taken, and a source [SourceBuffer], or [FastSourceBuffer] while it and
// the stage after are fast. With a consumer that does not read, a chain of maps pulls
// exactly the sum of these from its source; with one that has stopped reading never more.
// A batch stage holds Buffer + 1 batches, a FlatMap Buffer outputs, and where it keeps
// order as many of each item whose turn has not come.
//
// If Buffer is zero it is [DefaultBuffer], 16: with it, stages of operations that take
// less than a microsecond hardly wait for each other. For a Batch, a Fill or an
// Aggregate, and after them, it is [DefaultBatchBuffer], 2. Set it where items are large:
// each stage of decoded images of 36 MB (12 megapixels) may hold 16 of them beyond those
// in work, 576 MB. A Buffer of 2 makes that 72 MB and is as fast, because decoding takes
// far longer than handing on.
//
// Memory is for the items that come, not for those that settings allow: a large Buffer or
// batch costs nothing until it fills. Settings beyond [MaxWorkers], [MaxBuffer] and
// [MaxBatch] are mistakes in the description.
//
// [Run.SetWorkers] changes Workers while the run goes on. What is said here of Workers
// holds for the number of the moment; those that are too many finish what they have in
// hand.
//
// [Config].Epochs counts from where a run begins. Use [Config].Until instead for a run
// that is resumed: it counts from 0, so that every run ends at the same epoch, however
// often the work was interrupted.
//
// Epochs follow each other without a gap: the source goes on with the next one at once,
// as far as the queues let it. A boundary travels through the queues, no batch crosses
// it, and no stage waits for it to drain.
//
// A result is handed on at once, and an item waits only for a free worker. Where
// operations take less than 10 µs, the clock is read once for many of them, and a stage
// with one worker takes several items at a time, as many as are there. So does a fast
// consumer: these items keep their places in the queue until the last of them is read.
//
// # Failure
//
// An operation that returns an error, or panics, has failed for its item. So has one that
// ends its goroutine with runtime.Goexit, as a test's FailNow does; no policy tolerates
// that. The same holds for every function that a run is given: sources, picks, stores,
// hooks. Under the zero [Policy] the first failure stops the run; otherwise items are
// lost within the policy's limits, counted, and told to [Hooks]. The k-th item that is
// made of a batch counts, and is listed, as the batch's k-th; a batch that is lost as a
// whole counts as all of its items. Dropping an item on purpose is the error [Skip]. What
// stops a run comes out of [Run.Next] as a [*StageError], after all outputs that are
// before it, joined with what has stopped other stages by then.
//
// [Retry], [Replace], [DeadLetters] and [Limit] are operations around an operation, and
// can be put around each other. Go cannot end an operation that does not return: Limit,
// and the one of a [Fill], abandon it and go on, [Run.CloseWithin] goes without it, and
// all say which stage it is.
//
// # Numbers
//
// [Run.Stats] are always on: counts, where the workers' time goes, percentiles, and how
// full each queue is; [Stats.Minus] is an interval of them. [Hooks] see each operation
// and each stage, where that is asked for. [Profile] lets each stage work alone, with
// several numbers of workers, and [MeasureHeadspace] tells what a consumer would gain
// from a faster flow.
//
// A run that stands still can say what it waits for: [Config].Stall learns which
// operations do not return, who waits for whom, and where the goroutines are. Their
// labels in profiles are run and stage. While runtime/trace traces, a run is a task in
// it, and each operation a region.
//
// # Ownership
//
// Sending an item gives it away. An operation that makes something of an item owns it,
// even if it fails: those of [Map], [MapWith], [FlatMap] and [Fill]. A function that only
// decides about an item does not: the stage still owns the item when keep of a [Filter],
// pick of a [Route] or a [RouteBatch], last of a [FillGroups], or Add of an [Aggregator]
// has failed or dropped it. An aggregator owns what it has given to Emit or Open.
//
// Items that a stage owns and does not hand on, because they were dropped or have failed
// there, or because the run was closed, cancelled or failed, go to the function given
// with [Discard], each once; a batch that was sealed goes to [Store].Drop.
//
// # Reading the code
//
// Begin with map.go (what a stage does), then internal/queue/ring.go (the queue), then
// run.go (the consumer's end). README.md has the tree.
package pipe
