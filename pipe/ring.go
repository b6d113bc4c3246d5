package pipe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
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
type ring[T any] struct {
	owner   *stage
	drop    func(T)
	inOrder bool
	judge   *tally // counts the owner's failures by its own policy; nil: the consumer does, by the run's

	mu      sync.Mutex
	ready   sync.Cond // the head can be taken, or never will be
	room    sync.Cond // a place is free, or will not be needed
	takers  int       // who wait at ready
	makers  int       // who wait at room
	cells   []msg[T]
	free    int      // places not reserved
	filled  int      // messages not taken
	head    int64    // the place that is taken next
	tail    int64    // the place that put fills next
	segment *segment // the epoch of the head
	doom    *msg[T]  // taken instead of the head: the end
	ended   bool     // the last message was taken
	aborted bool     // nobody takes any more
	meter   meter
}

// A segment is an epoch's part of the places of the next ring.
type segment struct {
	epoch int   // counted from 0
	next  int64 // the first place that is empty, where completion order fills
}

func newRing[T any](s *stage, places int) *ring[T] {
	size := 1
	for size < places {
		size *= 2
	}
	r := &ring[T]{
		owner:   s,
		inOrder: s.ordered,
		cells:   make([]msg[T], size),
		free:    places,
		segment: new(segment),
		meter:   meter{limit: s.buffer},
	}
	r.ready.L, r.room.L = &r.mu, &r.mu
	if s.policy != nil && s.policy.Skip {
		r.judge = &tally{policy: *s.policy}
	}
	s.queue = r
	return r
}

// reserve waits for a free place. It returns false when nothing more is needed.
func (r *ring[T]) reserve(w *worker) bool { return r.reserveUpTo(w, 1) > 0 }

// reserveUpTo waits for a free place and takes up to n of them. It returns 0 when nothing more is needed.
func (r *ring[T]) reserveUpTo(w *worker, n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free == 0 && !r.aborted {
		w.beforeWait()
		for r.free == 0 && !r.aborted {
			r.makers++
			r.room.Wait()
			r.makers--
		}
		r.meter.putWait += w.tick(&w.blocked)
	}
	if r.aborted {
		return 0
	}
	n = min(n, r.free)
	r.free -= n
	if r.free > 0 && r.makers > 0 {
		r.room.Signal()
	}
	return n
}

// release gives reserved places back.
func (r *ring[T]) release(n int) {
	if n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	if r.makers > 0 {
		r.room.Signal()
	}
}

// A haul is a run of messages that were taken together. All are of one epoch.
type haul[T any] struct {
	msgs    []msg[T]
	at      int64    // the number of the first
	segment *segment // where the next ring puts this epoch
}

// take waits for a message, and takes what is ready into buf. An empty haul means that nothing more comes.
func (r *ring[T]) take(w *worker, buf []msg[T]) haul[T] {
	r.mu.Lock()
	if !r.takeable() {
		w.beforeWait()
		r.await(context.Background())
		r.meter.getWait += w.tick(&w.starved)
	}
	h, broken := r.haul(buf, w.last)
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h
}

// tryTake is take without waiting. The haul is empty also when the head is not ready.
func (r *ring[T]) tryTake(w *worker, buf []msg[T]) haul[T] {
	r.mu.Lock()
	h, broken := r.haul(buf, w.last)
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h
}

// takeWithin is take for the consumer, who may give up waiting.
func (r *ring[T]) takeWithin(ctx context.Context, w *worker, buf []msg[T]) haul[T] {
	r.mu.Lock()
	if !r.takeable() && ctx.Err() == nil {
		stop := func() bool { return true }
		if ctx.Done() != nil {
			stop = context.AfterFunc(ctx, r.rouse)
		}
		w.beforeWait()
		r.await(ctx)
		stop()
		r.meter.getWait += w.tick(&w.starved)
	}
	h, broken := r.haul(buf, w.last)
	r.mu.Unlock()
	if broken {
		r.owner.halt()
	}
	return h
}

// rouse lets all who wait look again.
func (r *ring[T]) rouse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready.Broadcast()
}

// wait waits until the head can be taken, by this worker or another. It returns false when nothing more comes.
func (r *ring[T]) wait(w *worker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.takeable() {
		w.beforeWait()
		r.await(context.Background())
		r.meter.getWait += w.tick(&w.starved)
		if r.takers > 0 && r.filled > 1 && r.takeable() {
			r.ready.Signal() // this worker takes one at most
		}
	}
	return !r.ended && !r.aborted
}

// takeable tells whether a take need not wait.
func (r *ring[T]) takeable() bool {
	return r.aborted || r.ended || r.doom != nil || r.at(r.head).kind != none
}

func (r *ring[T]) await(ctx context.Context) {
	for !r.takeable() && ctx.Err() == nil {
		r.takers++
		r.ready.Wait()
		r.takers--
	}
}

// haul takes what is ready. It reports whether that includes the end of a failed run: all that the owner still does is in vain
// then, because what lies before was taken.
func (r *ring[T]) haul(buf []msg[T], now time.Duration) (h haul[T], broken bool) {
	if r.aborted || r.ended {
		return h, false
	}
	r.observe(now)
	h = haul[T]{at: r.head, segment: r.segment}
	n := 0
	for n < len(buf) && !r.ended {
		if r.doom != nil {
			buf[n] = *r.doom
			r.ended, broken = true, true
			n++
			break
		}
		cell := r.at(r.head)
		if cell.kind == none {
			break
		}
		buf[n], *cell = *cell, msg[T]{}
		r.head++
		broken = r.pass(&buf[n]) || broken
		n++
		if buf[n-1].kind == mark {
			r.segment = &segment{next: r.head, epoch: r.segment.epoch + 1}
			break
		}
	}
	h.msgs = buf[:n]
	taken := int(r.head - h.at)
	r.filled -= taken
	r.free += taken
	r.meter.gets += int64(taken)
	r.wake(taken)
	return h, broken
}

// pass judges a message that leaves the ring. It reports whether it is the end of a failed run.
func (r *ring[T]) pass(m *msg[T]) (broken bool) {
	switch m.kind {
	case item:
		if r.judge != nil && !r.judge.pass(1) {
			r.doom = &msg[T]{kind: fatal, ticket: r.judge.last, news: r.judge.verdict()}
		}
	case failed:
		m.kind = gone
		if r.owner.raises || m.news.stops {
			m.kind = fatal
		} else if r.judge != nil {
			m.news.final = true
			if !r.judge.lose(1, 1, m.ticket, m.news) {
				m.kind, m.news = fatal, r.judge.verdict()
			}
		}
	case mark:
		r.ended = m.last
		if r.judge != nil {
			r.judge.reset()
		}
	}
	if m.kind == fatal {
		r.ended = true
	}
	return m.kind == fatal
}

// wake signals those who wait for what has changed after n messages were taken.
func (r *ring[T]) wake(n int) {
	for range min(n, r.makers) {
		r.room.Signal()
	}
	switch {
	case r.takers == 0:
	case r.ended:
		r.ready.Broadcast()
	case r.takeable():
		r.ready.Signal()
	}
}

// fill puts a message into the place that belongs to its input, which had this number and came in this segment; now is about the
// time at which it was finished.
func (r *ring[T]) fill(number int64, seg *segment, m msg[T], now time.Duration) {
	r.mu.Lock()
	if r.aborted {
		r.mu.Unlock()
		r.discardMsg(m)
		return
	}
	place := number
	if !r.inOrder && m.kind != mark && m.kind != fatal {
		place = seg.next
		seg.next++
	}
	r.arrive(place, m, now)
	r.mu.Unlock()
}

// put fills the place after the one that was put last: for stages whose inputs are not their outputs. The place must have been reserved.
func (r *ring[T]) put(m msg[T], now time.Duration) {
	r.mu.Lock()
	if r.aborted {
		r.mu.Unlock()
		r.discardMsg(m)
		return
	}
	r.arrive(r.tail, m, now)
	r.tail++
	r.mu.Unlock()
}

func (r *ring[T]) arrive(place int64, m msg[T], now time.Duration) {
	r.observe(now)
	*r.at(place) = m
	r.filled++
	r.meter.puts++
	if m.kind == fatal || m.kind == failed && (r.owner.raises || m.news.stops) {
		r.owner.engine.note(m.news, m.ticket)
	}
	if r.takers > 0 && r.takeable() {
		r.ready.Signal()
	}
}

func (r *ring[T]) at(place int64) *msg[T] { return &r.cells[place&int64(len(r.cells)-1)] }

// abort releases all who wait here: nothing is taken any more.
func (r *ring[T]) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = true
	r.ready.Broadcast()
	r.room.Broadcast()
}

// drain discards what was left, after abort.
func (r *ring[T]) drain() {
	r.mu.Lock()
	left := slices.Clone(r.cells)
	clear(r.cells)
	r.mu.Unlock()
	r.discardAll(left)
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
	if err := guard(func() error { drop(v); return nil }); err != nil {
		r.owner.engine.complain(fmt.Errorf("pipe: stage %s: discarding an item: %w", r.owner.name, err))
	}
}

func (r *ring[T]) observe(now time.Duration) {
	r.meter.observe(now, r.filled, r.takeable())
}

func (r *ring[T]) stats() QueueStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.meter.stats(r.filled)
}
