package pack

import (
	"fmt"
	"sync/atomic"

	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/extern/internal/shared"
	"github.com/headrace/headrace/wire"
)

// A Pack is a caller's current message to its worker and back: one or several calls.
type Pack struct {
	Conn   *conn.Conn
	Stream uint32                         // that it travels on
	PID    int                            // of the process
	Worked *atomic.Bool                   // the process has done something
	Done   func(first int, errs ...error) // calls have come back: they are not the pack's any more
	Back   func(from int)                 // calls from there on were not begun, and will not be: they are not the pack's any more

	reported atomic.Int64 // calls that have come back; very many where there is no pack
	saved    []byte       // in the heap: where the worker copies what it is about to give to a function that may change it

	of           *Function
	tasks        []*Task
	all          bool   // the worker works on all samples at once
	ints         []byte // the words of the message
	data         []byte // and what is after them
	segments     []uint64
	borrowed     [][]byte // copies in the heap of values that lay elsewhere
	rooms        []room   // by sample and output
	grants       []grant
	whole        []byte // memory for all arrays of a batch that the worker knows of
	filled       int64  // of that, by those arrays that were looked at
	single       bool   // it is one call, whatever the worker counts in it
	many         bool   // it is Call.Run
	asked        int    // samples that the worker has been sent, and has not given back
	began        bool   // a stream has given something
	values       []Value
	errs         []error
	sharedValues []sharedValue // what the function may change
	safe         bool          // and what it changes can be restored
	seen         int           // samples that a stream has given, of this worker
}

// Reset makes k an empty pack for a function.
func (k *Pack) Reset(of *Function) {
	k.of, k.tasks, k.began, k.seen, k.sharedValues, k.all, k.whole = of, k.tasks[:0], false, 0, k.sharedValues[:0], false, nil
}

// Add adds a call.
func (k *Pack) Add(t *Task) {
	k.tasks = append(k.tasks, t)
	k.asked = len(k.tasks)
	k.many = t.Call.Run != nil
	k.single = t.Yield != nil || k.of.Kind == Collate || k.many
}

// Release gives back memory that no result uses. The worker must not write to it any
// more: it has answered, or is dead.
func (k *Pack) Release() {
	heap := k.of.Heap
	for _, b := range k.borrowed {
		heap.Give(b)
	}
	for _, r := range k.rooms {
		if r.own {
			heap.Give(r.memory)
		}
	}
	for _, g := range k.grants {
		heap.Give(g.memory)
	}
	k.borrowed, k.rooms, k.grants = k.borrowed[:0], k.rooms[:0], k.grants[:0]
}

// noPack is what has come back where there is no pack.
const noPack = int64(1) << 32

// Open begins a pack: none of its calls has come back.
func (k *Pack) Open() { k.reported.Store(0) }

// Close marks that there is no pack until the next Open.
func (k *Pack) Close() { k.reported.Store(noPack) }

// Reported returns the number of calls that have come back. It is very large if there is
// no pack.
func (k *Pack) Reported() int64 { return k.reported.Load() }

// Single reports whether the pack is one call, however many samples it has.
func (k *Pack) Single() bool { return k.single }

// Calls returns how many calls the worker has been sent, and has not given back. Of
// Call.Run each sample is one.
func (k *Pack) Calls() int { return k.asked }

// Began reports whether a stream has returned anything.
func (k *Pack) Began() bool { return k.began }

// Forget gives back the memory that packs reuse. Call it after the last pack.
func (k *Pack) Forget(heap *shared.Heap) { heap.Give(k.saved) }

// Send sends the pack to its worker. random and epochs say whether the function wants
// random numbers and the epochs of samples, all whether it works on all samples at once.
func (k *Pack) Send(number uint32, random, epochs, all bool) error {
	k.begin(number, random, epochs, all)
	if err := k.Conn.Announce(k.segments, k.of.Spaces); err != nil {
		return err
	}
	return k.Conn.SendParts(wire.KindPack, k.Stream, k.ints, k.data)
}

// Receive handles a message that the worker has sent for the pack. After the last one all
// calls have come back. Calls that were reported are complete even if Receive fails.
func (k *Pack) Receive(f wire.Frame) (last bool, err error) {
	switch f.Kind {
	case wire.KindResults:
		return k.results(f.Payload)
	case wire.KindRoom:
		return false, k.grant(f.Payload)
	case wire.KindError: // of the worker itself, not of the function
		return false, fmt.Errorf("%w: %s", conn.ErrGivenUp, f.Payload)
	}
	return false, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
}
