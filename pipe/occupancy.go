package pipe

import "time"

// A meter follows how full a queue is. The ring that it belongs to guards it.
type occupancy struct {
	limit   int           // results kept ready; what exceeds it stands in workers' hands
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

// observe accounts for the time up to now, in which the queue had n messages. Clocks are read by run of items, so now may be
// a little late, or earlier than another worker's.
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

func (m *occupancy) stats(n int, now time.Duration) QueueStats {
	q := QueueStats{
		Cap: m.limit, Len: min(n, m.limit),
		Empty: m.empty, Full: m.full, Observed: m.at,
		PutWait: m.putWait.at(now), GetWait: m.getWait.at(now),
	}
	if m.at > 0 {
		q.Mean = m.area / float64(m.at)
	}
	return q
}
