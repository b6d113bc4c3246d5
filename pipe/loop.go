package pipe

import "time"

// A loop is what the consumer does from its first item on. Before that it waits for
// stages that have nothing yet, which says nothing about how fast they are; and between
// epochs it does what is none of a loader's business.
type loop struct {
	begun bool
	away  bool          // it has begun, and the consumer is elsewhere
	since time.Duration // when the consumer came, unless it is elsewhere
	sum   time.Duration // up to then
	start time.Duration // it waited for the first item
}

// begin notes the first item. The consumer has waited that long by now.
func (l *loop) begin(now, waited time.Duration) {
	l.begun, l.since, l.start = true, now, waited
}

func (l *loop) enter(now time.Duration) {
	l.away, l.since = false, now
}

func (l *loop) leave(now time.Duration) {
	if l.begun && !l.away {
		l.away, l.sum = true, l.sum+now-l.since
	}
}

// clocks are those of Stats. The consumer has waited that long by now, the wait that goes
// on included.
func (l *loop) clocks(now, waits time.Duration) (start, length, waited time.Duration) {
	if !l.begun {
		return waits, 0, 0
	}
	if length = l.sum; !l.away {
		length += max(0, now-l.since)
	}
	return l.start, length, waits - l.start
}
