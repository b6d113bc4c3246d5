// Package extern runs functions of Python in processes of its own: it starts workers,
// hands them samples, takes their results, and replaces those that die or hang.
//
//	heap, err := extern.NewHeap()
//	pool, err := extern.Open(extern.Options{
//		Stage: "augment", Function: "train:augment", Kind: extern.Map,
//		Interpreter: python, Heap: heap, Workers: 4, In: in, Gives: gives,
//	})
//	call := &extern.Call{ID: id, Key: key, In: values}
//	err = pool.Call(ctx, call) // call.Out
//
// The other end is python/src/headrace/worker.py; docs/protocol.md, section "Workers",
// says what the two tell each other.
//
// # Memory
//
// Arrays that are in the [Heap] reach the function without a copy, and what it returns is
// copied once: into a piece of the heap, or into the memory that [Call.Room] names, such
// as a row of a batch. Small values travel with the message. Who calls owns what he
// passes, and what comes out.
//
// # Failures
//
// A call whose function raises fails with a [*CallError], one whose worker dies under it
// with a [*WorkerError], one that takes too long with a [*LimitError]; nothing else is
// lost: other samples that the worker had are done again by another one. Where no worker
// can start, every call fails with a [*StartError].
//
// # Concurrency
//
// Many goroutines call a pool at once, and their calls travel in packs: a worker that is
// free takes those that wait, and never waits for more.
package extern
