// Package arena keeps batches in shared memory: segments cut into slots, and the life
// of a slot from its first byte to its return.
//
// A slot lives so, and no other way:
//
//	free ──Reserve──► filling ──Seal──► sealed ──Send──► leased ──Release──► free
//	                     │                 │ └───Take──► taken ──Send──► leased
//	                     │                 │               └─────Drop──► free
//	                     └─ Drop ─► free   └─ Drop ─► free
//
// A filling slot belongs to the goroutines that write its rows; a sealed one waits for
// its consumer; a leased one is memory of a consumer in another process, who names it
// in [Arena.Release] when done. A taken slot is the same for a consumer in this
// process.
//
// # Segments
//
// A segment is a memfd, sealed against shrinking, growing, execution where the kernel
// knows that seal, and further seals, so that whoever maps it can rely on its size.
// [Options].Announce is given each segment once, before a slot in it is: that is where
// its descriptor travels to the consumer. The pool is one segment, made when the first
// slot is reserved; its pages appear when they are first written, and stay. Slots are
// taken most recently freed first, so that a pool larger than needed costs only
// addresses.
//
// # Pages
//
// A page of shared memory is zeroed and mapped when it is first written: some 3 µs each
// on the virtual machine where this was measured, 4 ms for a batch of 4.8 MB, against
// 0.05 ms to write it again (BenchmarkFirstTouch, BenchmarkWarm). That is why slots are
// used again, and why unpooled ones are the exception. Nothing is faulted in ahead:
// MADV_POPULATE_WRITE takes the same CPU time as the first writes, fallocate four
// tenths of it and the first writes the rest, at the moment when decoding the first
// batch needs the cores; and the pages of slots that are never needed would be
// resident. Huge pages are six times cheaper (0.6 ms for the same batch, on a tmpfs
// mounted with huge=always), but a memfd gets them only where
// /sys/kernel/mm/transparent_hugepage/shmem_enabled says "advise" or more; it says
// "never" unless the administrator changed it. MFD_HUGETLB needs pages that were set
// aside. So neither is asked for.
//
// # Held batches
//
// A consumer may hold as many batches as it likes. When it waits ([Arena.SetWaiting]),
// and no slot is free or on its way to it, waiting for one of its own releases would
// wait for ever: the next slot is an unpooled one, in a segment of its own that goes
// with its release. Past [Options].HoldLimit Reserve returns a [HeldError] instead.
//
// # Batches that do not fit
//
// Where nobody knows how large a batch will be, its slot may turn out too small.
// [Slot.Grow] gives it a segment of its own, which goes with it; its place in the pool
// stays taken meanwhile. Such a batch costs its page faults, so slots should be large
// enough for most.
//
// # Memory
//
// The pool is set aside in [Options].Budget for the whole life of the arena. Unpooled
// slots are not: the batches that a consumer chooses to hold are bounded by HoldLimit,
// and must not starve the stages that would bring it the next one. What slots have
// grown to is counted there, and waits for nothing. Memory that the system refuses is a
// [RefusedError], which says what to raise.
//
// # Concurrency
//
// An [Arena] is for any number of goroutines. The methods of a [Slot] may be called by
// any of them; who writes which of its bytes is theirs to agree. Nobody may touch a
// slot's bytes after giving it away: after Close or the release of an unpooled slot
// they are no memory any more.
//
// # Testing
//
// A model test walks random histories of all transitions. With the build tag
// headrace_debug every slot ends in a canary, which is checked when the slot is sealed
// and when it comes back, and a free slot is poisoned, which is checked when it is
// reserved: a write beyond the end or after a release becomes a [CorruptError]. [Live]
// counts the segments of the process; tests end at the number they began with.
package arena
