package queue

import (
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A ring is the queue between two stages, and the one place where order is kept.
//
// A worker reserves a free place first, then takes an input, then operates, then fills a
// place: it never waits with a finished item in its hand, and the number of items in a
// stage is bounded by the places. Which place an item fills is decided by when its input
// was taken: inputs are numbered as they leave the ring before, every input becomes one
// message, and so an input's number is its place here. In a completion-order ring a
// finished item fills the first empty place of its epoch instead. Marks keep their own
// place in both, therefore epochs cannot mix although no stage waits for one to drain.
//
// Messages are taken from the head on, without gaps.
//
// Those who reserve and fill places take no lock, unless somebody waits for what they do:
// a place belongs to one of them until it is full, and says itself when it is. Those who
// take messages do it under the lock, several at a time where they may.
type Ring[T any] struct {
	Owner
	Drop   func(T)
	Lot    int64            // places that are made free together while messages are ready: their maker is woken less often
	Budget *failure.Counter // counts the owner's failures by its own policy; nil: the consumer does, by the run's

	cells    atomic.Pointer[cells[T]]
	aborted  atomic.Bool  // nobody takes any more
	observed atomic.Int64 // nanoseconds, up to when occupancy goes
	ready    waiters      // the head can be taken, or never will be
	room     waiters      // a place is free, or will not be needed
	_        [64]byte     // what follows changes all the time
	credits  atomic.Int64 // places not reserved; less than none where there were more, and all were
	tail     atomic.Int64 // the place that put fills next
	_        [64]byte

	mu           sync.Mutex
	capacity     int         // in all
	maxCapacity  int         // that there may be: more are made when the others are reserved
	head         int64       // the place that is taken next
	segment      *segment    // the epoch of the head
	terminal     *Message[T] // taken instead of the head: the end
	ended        bool        // the last message was taken
	deferRelease bool        // places stay taken until giveBack
	deferred     int64       // those that do
	seen         int64       // the first place that was empty when it was looked at last
	disposed     int64       // messages that were put, and disposed of after abort
	occupancy    occupancy
}

// cells are those of the places. Where there have to be more, the places that are in use,
// and those that may be given out already, stay where they are: a maker may be at work on
// them.
type cells[T any] struct {
	all   []cell[T]
	from  int64 // the first place of these
	older *cells[T]
}

// A cell is a place with its message.
type cell[T any] struct {
	full atomic.Int64 // the number of the place, and one more, when its message is there
	Message[T]
}

// A segment is an epoch's part of the places of the next ring.
type segment struct {
	Epoch int          // counted from 0
	next  atomic.Int64 // the first place that is empty, where completion order fills
}

func newSegment(epoch int, first int64) *segment {
	s := &segment{Epoch: epoch}
	s.next.Store(first)
	return s
}

// An owner is the stage that fills a ring, as far as the ring has to know it.
type Owner struct {
	Run     *worker.Run
	From    *failure.Origin
	Limit   int  // results kept ready; what exceeds it is in workers' hands
	InOrder bool // the place of a result is that of its input
	Raises  bool // the first failure is the end

	Halt func()                                          // stops the stage and all above it
	Note func(why *failure.Failure, of progress.Lineage) // learns of a failure that stops the run
}

// New makes a ring of so many places at most. budget counts the owner's failures by
// its own policy; nil: the consumer does, by the run's.
func New[T any](o Owner, places int, budget *failure.Counter) *Ring[T] {
	r := &Ring[T]{
		Owner:       o,
		Budget:      budget,
		capacity:    min(places, InitialCapacity),
		maxCapacity: places,
		segment:     newSegment(0, 0),
		occupancy:   occupancy{limit: o.Limit},
	}
	r.cells.Store(&cells[T]{all: makeCells[T](r.capacity)})
	r.credits.Store(int64(r.capacity))
	r.ready.cond.L, r.room.cond.L = &r.mu, &r.mu
	return r
}

// InitialCapacity is how many places a ring begins with at most. A large Buffer costs
// memory only where items come that need it.
var InitialCapacity = 256 // fewer in tests

// makeCells makes as many cells as there are places, at least: a power of two.
func makeCells[T any](places int) []cell[T] {
	size := 1
	for size < places {
		size *= 2
	}
	return make([]cell[T], size)
}

func (r *Ring[T]) at(place int64) *cell[T] {
	b := r.cells.Load()
	for place < b.from {
		b = b.older
	}
	return &b.all[place&int64(len(b.all)-1)]
}

// full tells whether the message of a place is there.
func (r *Ring[T]) full(place int64) bool { return r.at(place).full.Load() == place+1 }
