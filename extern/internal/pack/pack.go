package pack

import (
	"fmt"
	"sync/atomic"

	"headrace/extern/internal/link"
	"headrace/extern/internal/shared"
	"headrace/wire"
)

// A Pack is what a lane has at a time, on its way there and back.
type Pack struct {
	Link   *link.Link
	Stream uint32                         // that it travels on
	PID    int                            // of the process
	Worked *atomic.Bool                   // the process has done something
	Done   func(first int, errs ...error) // calls have come back: they are not the pack's any more
	Back   func(from int)                 // calls from there on were not begun, and will not be: they are not the pack's any more

	reported atomic.Int64 // calls that have come back; very many where there is no pack
	saved    []byte       // in the heap: where the worker copies what it is about to give to a function that may change it

	of       *Function
	tasks    []*Task
	all      bool   // the worker works on all samples at once
	ints     []byte // the words of the message
	data     []byte // and what is after them
	segments []uint64
	borrowed [][]byte // copies in the heap of values that lay elsewhere
	rooms    []room   // by sample and output
	grants   []grant
	whole    []byte // memory for all arrays of a batch that the worker knows of
	filled   int64  // of that, by those arrays that were looked at
	single   bool   // it is one call, whatever the worker counts in it
	began    bool   // a stream has given something
	values   []Value
	errs     []error
	kept     []keeping // what the function may change
	safe     bool      // and what it changes can be restored
	seen     int       // samples that a stream has given, of this worker
}

// Reset makes it a pack of no calls yet, and of this function.
func (k *Pack) Reset(of *Function) {
	k.of, k.tasks, k.began, k.seen, k.kept, k.all, k.whole = of, k.tasks[:0], false, 0, k.kept[:0], false, nil
}

// Add adds a call.
func (k *Pack) Add(t *Task) {
	k.tasks = append(k.tasks, t)
	k.single = t.Yield != nil || k.of.Kind == Collate
}

// Release gives back what nobody was given. The worker must not write there any more: it
// has answered, or is dead.
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

// Open begins with a pack: none of its calls has come back.
func (k *Pack) Open() { k.reported.Store(0) }

// Close says that there is no pack until the next Open.
func (k *Pack) Close() { k.reported.Store(noPack) }

// Reported is how many calls have come back; very many where there is no pack.
func (k *Pack) Reported() int64 { return k.reported.Load() }

// Single tells whether it is one call, whatever the worker counts in it.
func (k *Pack) Single() bool { return k.single }

// Began tells whether a stream has given something.
func (k *Pack) Began() bool { return k.began }

// Forget gives back the memory that packs use again. There comes no other.
func (k *Pack) Forget(heap *shared.Heap) { heap.Give(k.saved) }

// Send sends the pack to its worker, whose function wants random numbers, or the epochs
// of samples, or works on all samples at once.
func (k *Pack) Send(number uint32, random, epochs, all bool) error {
	k.begin(number, random, epochs, all)
	if err := k.Link.Announce(k.segments, k.of.Spaces); err != nil {
		return err
	}
	return k.Link.Conn.SendParts(wire.KindPack, k.Stream, k.ints, k.data)
}

// Receive takes a message that the worker has sent for the pack. After the last one all
// calls have come back. Those that were reported have so even where there is an error.
func (k *Pack) Receive(f wire.Frame) (last bool, err error) {
	switch f.Kind {
	case wire.KindResults:
		return k.results(f.Payload)
	case wire.KindRoom:
		return false, k.grant(f.Payload)
	case wire.KindError: // of the worker itself, not of the function
		return false, fmt.Errorf("%w: %s", link.ErrGivenUp, f.Payload)
	}
	return false, fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
}
