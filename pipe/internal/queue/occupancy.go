package queue

import (
	"time"

	"github.com/headrace/headrace/pipe/observe"
)

// An occupancy follows how full a queue is. The ring that it belongs to guards it.
type occupancy struct {
	limit   int           // results kept ready; what exceeds it is in workers' hands
	at      time.Duration // up to when the sums below go
	area    float64       // messages × nanoseconds
	full    time.Duration
	empty   time.Duration
	putWait waitSum
	getWait waitSum
}

// A queueWait is what workers wait for at a queue, together.
type waitSum struct {
	sum   time.Duration // of waits that are over
	n     int64         // those that go on
	began time.Duration // when these began: the sum of it
}

func (q *waitSum) begins(at time.Duration) {
	q.n++
	q.began += at
}

func (q *waitSum) ends(at, took time.Duration) {
	q.n--
	q.began -= at
	q.sum += took
}

func (q *waitSum) at(now time.Duration) time.Duration {
	return q.sum + time.Duration(q.n)*now - q.began
}

// observe accounts for the time up to now, in which the queue had n messages. Clocks are
// read by run of items, so now may be a little late, or earlier than another worker's.
func (m *occupancy) observe(now time.Duration, n int, takeable bool) {
	since := now - m.at
	if since <= 0 {
		return
	}
	m.at = now
	m.area += float64(min(n, m.limit)) * float64(since)
	if !takeable {
		m.empty += since
	}
	if n >= m.limit {
		m.full += since
	}
}

func (m *occupancy) stats(n int, now time.Duration) observe.QueueStats {
	q := observe.QueueStats{
		Cap: m.limit, Len: min(n, m.limit),
		Empty: m.empty, Full: m.full, Observed: m.at,
		PutWait: m.putWait.at(now), GetWait: m.getWait.at(now),
	}
	if m.at > 0 {
		q.Mean = m.area / float64(m.at)
	}
	return q
}

// observe brings the figures up to a time at which nothing has changed yet. Messages
// after a gap are not ready, and not counted.
func (r *Ring[T]) observe(now time.Duration) {
	if int64(now) <= r.observed.Load() {
		return
	}
	r.observed.Store(int64(now))
	r.occupancy.observe(now, r.length(), r.lent() > 0 || r.takeable())
}

// observeNow brings the figures up to now, where nothing has moved since. After the last
// message, or the end, there is nothing to follow.
func (r *Ring[T]) observeNow() {
	if !r.ended && !r.aborted.Load() {
		r.observe(r.Run.Elapsed())
	}
}

// length is how many messages can be taken one after the other, or have been, and keep
// their places.
func (r *Ring[T]) length() int {
	r.seen = max(r.seen, r.head)
	for r.full(r.seen) {
		r.seen++
	}
	return int(r.seen - r.head + r.lent())
}

// Stats are the numbers of the queue so far.
func (r *Ring[T]) Stats() observe.QueueStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observeNow()
	q := r.occupancy.stats(r.length(), r.Run.Elapsed())
	q.Gets, q.Puts = r.head, r.head+r.disposed
	for i := range r.cells.Load().all {
		if r.full(r.head + int64(i)) {
			q.Puts++
		}
	}
	return q
}

// lent counts the consumer's messages, in whose places none can be put.
func (r *Ring[T]) lent() int64 {
	if !r.deferRelease {
		return 0
	}
	return r.deferred
}
