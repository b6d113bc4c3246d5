package pipe

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"headrace/pipe/internal/progress"
)

// A ring is the queue between two stages, and the one place where order is kept.
//
// A worker reserves a free place first, then takes an input, then operates, then fills a place: it never waits with a
// finished item in its hand, and the number of items in a stage is bounded by the places. Which place an item fills is
// decided by when its input was taken: inputs are numbered as they leave the ring before, every input becomes one message,
// and so an input's number is its place here. In a completion-order ring a finished item fills the first empty place of
// its epoch instead. Marks keep their own place in both, therefore epochs cannot mix although no stage waits
// for one to drain.
//
// Messages are taken from the head on, without gaps.
//
// Those who reserve and fill places take no lock, unless somebody waits for what they do: a place belongs to one of them until it is full,
// and says itself when it is. Those who take messages do it under the lock, several at a time where they may.
type ring[T any] struct {
	owner   *stage
	drop    func(T)
	inOrder bool
	budget  *lossCounter // counts the owner's failures by its own policy; nil: the consumer does, by the run's

	cells    atomic.Pointer[cells[T]]
	aborted  atomic.Bool  // nobody takes any more
	observed atomic.Int64 // nanoseconds, up to when the meter goes
	ready    waiters      // the head can be taken, or never will be
	room     waiters      // a place is free, or will not be needed
	_        [64]byte     // what follows changes all the time
	credits  atomic.Int64 // places not reserved; less than none where there were more, and all were
	tail     atomic.Int64 // the place that put fills next
	_        [64]byte

	mu           sync.Mutex
	capacity     int      // in all
	maxCapacity  int      // that there may be: more are made when the others are reserved
	head         int64    // the place that is taken next
	segment      *segment // the epoch of the head
	terminal     *msg[T]  // taken instead of the head: the end
	ended        bool     // the last message was taken
	deferRelease bool     // places stay taken until giveBack
	deferred     int64    // those that do
	seen         int64    // the first place that was empty when the meter looked
	disposed     int64    // messages that were put, and disposed of after abort
	occupancy    occupancy
}

// A board has the cells of the places. Where there have to be more, the places that are in use, and those that may be given out already, stay on the
// board where they are: a maker may be at work on them.
type cells[T any] struct {
	all   []cell[T]
	from  int64 // the first place on this board
	older *cells[T]
}

// A cell is a place with its message.
type cell[T any] struct {
	full atomic.Int64 // the number of the place, and one more, when its message is there
	msg[T]
}

// A segment is an epoch's part of the places of the next ring.
type segment struct {
	epoch int          // counted from 0
	next  atomic.Int64 // the first place that is empty, where completion order fills
}

func newSegment(epoch int, first int64) *segment {
	s := &segment{epoch: epoch}
	s.next.Store(first)
	return s
}

func newRing[T any](s *stage, places int) *ring[T] {
	r := &ring[T]{
		owner:       s,
		inOrder:     s.ordered,
		capacity:    min(places, initialCapacity),
		maxCapacity: places,
		segment:     newSegment(0, 0),
		occupancy:   occupancy{limit: s.buffer},
	}
	r.cells.Store(&cells[T]{all: makeCells[T](r.capacity)})
	r.credits.Store(int64(r.capacity))
	r.ready.cond.L, r.room.cond.L = &r.mu, &r.mu
	r.budget = s.newBudget()
	s.queue = r
	return r
}

// firstPlaces is how many places a ring begins with at most. A large Buffer costs memory only where items come that need it.
var initialCapacity = 256 // fewer in tests

// newCells makes as many cells as there are places, at least: a power of two.
func makeCells[T any](places int) []cell[T] {
	size := 1
	for size < places {
		size *= 2
	}
	return make([]cell[T], size)
}

// resize changes how many places there may be. Those that are reserved too many are gone when they are released.
func (r *ring[T]) resize(places int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.maxCapacity = places
	r.setCapacity(min(places, max(r.capacity, initialCapacity)))
	r.room.wakeAll()
}

// grow makes more places, if there may be more. The lock is held.
func (r *ring[T]) grow() (grown bool) {
	before := r.capacity
	if before < r.maxCapacity {
		r.setCapacity(min(r.maxCapacity, 2*before))
	}
	return r.capacity > before
}

// have makes places, or takes some away. The lock is held.
func (r *ring[T]) setCapacity(places int) {
	if old := r.cells.Load(); places > len(old.all) {
		r.cells.Store(&cells[T]{all: makeCells[T](places), from: r.head + int64(len(old.all)), older: old})
	}
	r.credits.Add(int64(places - r.capacity))
	r.capacity = places
}

// reserve waits for a free place. It returns false when nothing more is needed.
func (r *ring[T]) reserve(w *worker) bool { return r.reserveUpTo(w, 1) > 0 }

// reserveUpTo waits for a free place and takes up to n of them. It returns 0 when nothing more is needed.
func (r *ring[T]) reserveUpTo(w *worker, n int) int {
	if got := r.tryReserve(n); got > 0 && !r.aborted.Load() {
		return got
	}
	return r.awaitCredit(w, n, false)
}

// reserveInput is reserveUpTo for a worker with nothing in hand. It returns 0 also when the worker has to leave.
func (r *ring[T]) reserveInput(w *worker, n int) int {
	if got := r.tryReserve(n); got > 0 && !r.aborted.Load() {
		return got
	}
	return r.awaitCredit(w, n, true)
}

// awaitRoom waits for a free place, unless the worker may leave, and has to.
func (r *ring[T]) awaitCredit(w *worker, n int, mayLeave bool) (got int) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.aborted.Load() {
		return 0
	}

	for r.credits.Load() <= 0 && r.grow() {
	}
	if got = r.tryReserve(n); got > 0 {
		r.wakeMaker()
		return got
	}

	leaves := false
	w.beforeWait(&w.blocked)
	began := w.last
	r.occupancy.putWait.begins(began)
	r.room.wait(func() bool {
		if r.aborted.Load() {
			return true
		}
		if got = r.tryReserve(n); got == 0 && mayLeave {
			leaves = w.stage.mustStop()
		}
		return got > 0 || leaves
	})

	r.occupancy.putWait.ends(began, w.tick(&w.blocked))
	if r.aborted.Load() {
		return 0
	}
	r.wakeMaker()
	return got
}

// grab takes up to n free places.
func (r *ring[T]) tryReserve(n int) int {
	for {
		free := r.credits.Load()
		if free <= 0 {
			return 0
		}
		got := min(int64(n), free)
		if r.credits.CompareAndSwap(free, free-got) {
			return int(got)
		}
	}
}

// release gives reserved places back.
func (r *ring[T]) release(n int) {
	if n == 0 {
		return
	}
	r.credits.Add(int64(n))
	if r.room.wanted.Load() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wakeMaker()
	}
}

// callMaker wakes one who waits for room, if there is some.
func (r *ring[T]) wakeMaker() {
	if r.credits.Load() > 0 {
		r.room.wake()
	}
}

// A haul is a run of messages that were taken together. All are of one epoch.
type run[T any] struct {
	msgs    []msg[T]
	at      int64    // the number of the first
	segment *segment // where the next ring puts this epoch
}

// take waits for a message, and takes what is ready into buf. An empty haul means that nothing more comes, or that the worker has to
// leave.
func (r *ring[T]) take(w *worker, buf []msg[T]) (h run[T]) {
	r.mu.Lock()
	leaves := w.stage.mustStop()
	for !leaves && !r.takeable() {
		r.await(context.Background(), w)
		leaves = w.stage.mustStop()
	}
	broken := false
	if leaves {
		r.wakeTaker() // it may have been called in place of another
	} else {
		h, broken = r.takeReady(buf, w.last)
	}
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h
}

// takeWithin is take for the consumer, who may give up waiting.
func (r *ring[T]) takeWithin(ctx context.Context, w *worker, buf []msg[T]) run[T] {
	r.mu.Lock()
	if !r.takeable() && ctx.Err() == nil {
		r.await(ctx, w)
	}
	h, broken := r.takeReady(buf, w.last)
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h
}

// takeBefore is take for a worker that waits no longer than until it is late; rouse has it look. late is true when it is, and nothing is there.
func (r *ring[T]) takeBefore(w *worker, buf []msg[T], isLate func() bool) (h run[T], late bool) {
	r.mu.Lock()
	if !r.takeable() && !isLate() {
		w.beforeWait(&w.starved)
		began := w.last
		r.occupancy.getWait.begins(began)
		r.ready.wait(func() bool { return r.takeable() || isLate() })
		r.occupancy.getWait.ends(began, w.tick(&w.starved))
	}
	late = !r.takeable()
	h, broken := r.takeReady(buf, w.last)
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h, late
}

// tryTake is take without waiting. The haul is empty also when the head is not ready.
func (r *ring[T]) tryTake(w *worker, buf []msg[T]) run[T] {
	r.mu.Lock()
	h, broken := r.takeReady(buf, w.last)
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h
}

// wait waits until the head may be taken, by this worker or another, unless more workers than those kept have to leave. It returns false when
// nothing more comes.
func (r *ring[T]) wait(w *worker, kept int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.takeable() && w.stage.excess.Load() <= kept {
		w.beforeWait(&w.starved)
		began := w.last
		r.occupancy.getWait.begins(began)
		called := false // whoever is called goes to look elsewhere, too
		r.ready.wait(func() bool {
			done := called || r.takeable() || w.stage.excess.Load() > kept
			called = true
			return done
		})
		r.occupancy.getWait.ends(began, w.tick(&w.starved))
		if r.full(r.head + 1) {
			r.wakeTaker() // this worker takes one at most
		}
	}
	return !r.ended && !r.aborted.Load()
}

// await waits until the head can be taken, ctx ends, or workers have to leave.
func (r *ring[T]) await(ctx context.Context, w *worker) {
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, r.wakeTakers)
	}
	w.beforeWait(&w.starved)
	began := w.last
	r.occupancy.getWait.begins(began)
	r.ready.wait(func() bool { return r.takeable() || ctx.Err() != nil || w.stage.excess.Load() > 0 })
	stop()
	r.occupancy.getWait.ends(began, w.tick(&w.starved))
}

// rouse lets all who wait for messages look again.
func (r *ring[T]) wakeTakers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready.wakeAll()
}

// takeable tells whether a take need not wait.
func (r *ring[T]) takeable() bool {
	return r.full(r.head) || r.aborted.Load() || r.ended || r.terminal != nil
}

// callTaker wakes one who waits for a message, if there is one.
func (r *ring[T]) wakeTaker() {
	switch {
	case r.ended:
		r.ready.wakeAll()
	case r.takeable():
		r.ready.wake()
	}
}

// haul takes what is ready. It reports whether that includes the end of a failed run: all that the owner still does is in vain
// then, because what lies before was taken.
func (r *ring[T]) takeReady(buf []msg[T], now time.Duration) (h run[T], broken bool) {
	if r.aborted.Load() || r.ended {
		return h, false
	}

	r.observe(now)
	h = run[T]{at: r.head, segment: r.segment}
	n := 0

	for n < len(buf) && !r.ended {
		if r.terminal != nil {
			buf[n] = *r.terminal
			r.ended, broken = true, true
			n++
			break
		}

		cell := r.at(r.head)
		if cell.full.Load() != r.head+1 {
			break
		}

		m := &buf[n]
		*m, cell.msg = cell.msg, msg[T]{}
		n++
		r.head++
		if m.kind == item && r.budget == nil {
			continue
		}
		broken = r.pass(m) || broken
		if m.kind == mark {
			r.segment = newSegment(r.segment.epoch+1, r.head)
			break
		}
	}

	h.msgs = buf[:n]
	r.deferred += r.head - h.at
	if !r.deferRelease {
		r.releaseDeferred()
	}
	r.wakeTaker()
	return h, broken
}

// vacate makes the places free whose messages were taken.
func (r *ring[T]) releaseDeferred() {
	if r.deferred > 0 {
		r.credits.Add(r.deferred)
		r.deferred = 0
		r.wakeMaker()
	}
}

// giveBack makes the places free that the consumer has kept.
func (r *ring[T]) releaseTaken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseDeferred()
}

// pass judges a message that leaves the ring. It reports whether it is the end of a failed run.
func (r *ring[T]) pass(m *msg[T]) (broken bool) {
	if r.budget != nil {
		r.passLosses(m.lineage.Within())
	}

	switch m.kind {
	case item:
		if r.budget != nil && !r.budget.pass(1) {
			r.terminal = &msg[T]{kind: fatal, lineage: r.budget.last, failure: r.budget.exceeded()}
		}
	case failed:
		m.kind = gone
		if r.owner.raises || m.failure.stops {
			m.kind = fatal
		} else if r.budget != nil {
			m.failure.counted = true
			if !r.budget.lose(1, 1, m.lineage, m.failure) {
				m.kind, m.failure = fatal, r.budget.exceeded()
			}
		}
	case mark:
		r.ended = m.last
		if r.budget != nil {
			r.budget.reset()
		}
	}

	if m.kind == fatal {
		r.ended = true
	}
	return m.kind == fatal
}

// passLosses judges what an aggregator has lost in the making of an output.
func (r *ring[T]) passLosses(all []progress.LostInput) {
	for _, lost := range all {
		l := itemFailureOf(lost)
		if l.failure.stage != r.owner || l.failure.counted {
			continue
		}
		l.failure.counted = true
		if !r.budget.lose(1, 1, l.lineage, l.failure) {
			r.terminal = &msg[T]{kind: fatal, lineage: l.lineage, failure: r.budget.exceeded()}
		}
	}
}

// fill puts a message into the place that belongs to its input, which had this number and came in this segment; now is about the
// time at which it was finished.
func (r *ring[T]) fill(number int64, seg *segment, m *msg[T], now time.Duration) {
	place := number
	if !r.inOrder && m.kind != mark && m.kind != fatal {
		place = seg.next.Add(1) - 1
	}
	r.arrive(place, m, now)
}

// put fills the place after the one that was put last: for stages whose inputs are not their outputs. The place must have been reserved.
func (r *ring[T]) put(m *msg[T], now time.Duration) {
	r.arrive(r.tail.Add(1)-1, m, now)
}

func (r *ring[T]) arrive(place int64, m *msg[T], now time.Duration) {
	if r.aborted.Load() {
		r.discardMsg(*m)
		return
	}
	if m.kind == fatal || m.kind == failed && (r.owner.raises || m.failure.stops) {
		r.owner.engine.note(m.failure, m.lineage)
	}
	if int64(now) > r.observed.Load() {
		r.mu.Lock()
		r.observe(now)
		r.mu.Unlock()
	}
	c := r.at(place)
	c.msg = *m
	c.full.Store(place + 1)
	if r.ready.wanted.Load() || r.aborted.Load() {
		r.announce(place)
	}
}

// announce tells somebody who waits that a message is there. If nobody will take it, it is disposed of, unless drain has done so.
func (r *ring[T]) announce(place int64) {
	r.mu.Lock()
	var left []msg[T]
	if r.aborted.Load() {
		left = r.dispose(place)
	} else {
		r.wakeTaker()
	}
	r.mu.Unlock()
	r.discardAll(left)
}

func (r *ring[T]) at(place int64) *cell[T] {
	b := r.cells.Load()
	for place < b.from {
		b = b.older
	}
	return &b.all[place&int64(len(b.all)-1)]
}

// full tells whether the message of a place is there.
func (r *ring[T]) full(place int64) bool { return r.at(place).full.Load() == place+1 }

// abort releases all who wait here: nothing is taken any more.
func (r *ring[T]) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observeNow()
	r.aborted.Store(true)
	r.ready.wakeAll()
	r.room.wakeAll()
}

// drain discards what was left, after abort.
func (r *ring[T]) drain() {
	r.mu.Lock()
	var left []msg[T]
	for i := range r.cells.Load().all {
		left = append(left, r.dispose(r.head+int64(i))...)
	}
	r.mu.Unlock()
	r.discardAll(left)
}

// spoil empties a place from which nothing will be taken, if there is a message.
func (r *ring[T]) dispose(place int64) (left []msg[T]) {
	c := r.at(place)
	if place < r.head || !r.full(place) {
		return nil // it was taken, or never came
	}
	c.full.Store(0)
	left, c.msg = []msg[T]{c.msg}, msg[T]{}
	r.disposed++
	return left
}

func (r *ring[T]) discardAll(msgs []msg[T]) {
	for _, m := range msgs {
		r.discardMsg(m)
	}
}

func (r *ring[T]) discardMsg(m msg[T]) {
	if m.kind == item {
		r.discard(m.val)
	}
}

func (r *ring[T]) discard(v T) { r.discardWith(r.drop, v) }

// discardWith calls drop, whose panic must not end the process.
func (r *ring[T]) discardWith(drop func(T), v T) {
	if drop == nil {
		return
	}
	if err := inOwnGoroutine(func() error { drop(v); return nil }); err != nil {
		r.owner.engine.complain(fmt.Errorf("pipe: stage %s: discarding an item: %w", r.owner.name, err))
	}
}

// observe brings the meter up to a time at which nothing has changed yet. Messages behind a gap are not ready, and not counted.
func (r *ring[T]) observe(now time.Duration) {
	if int64(now) <= r.observed.Load() {
		return
	}
	r.observed.Store(int64(now))
	r.occupancy.observe(now, r.length(), r.deferred > 0 || r.takeable())
}

// rest brings the meter up to now, where nothing has moved since. After the last message, or the end, there is nothing to follow.
func (r *ring[T]) observeNow() {
	if !r.ended && !r.aborted.Load() {
		r.observe(r.owner.engine.elapsed())
	}
}

// length is how many messages can be taken one after the other, or have been, and keep their places.
func (r *ring[T]) length() int {
	r.seen = max(r.seen, r.head)
	for r.full(r.seen) {
		r.seen++
	}
	return int(r.seen - r.head + r.deferred)
}

func (r *ring[T]) stats() QueueStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observeNow()
	q := r.occupancy.stats(r.length(), r.owner.engine.elapsed())
	q.Gets, q.Puts = r.head, r.head+r.disposed
	for i := range r.cells.Load().all {
		if r.full(r.head + int64(i)) {
			q.Puts++
		}
	}
	return q
}
