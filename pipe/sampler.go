package pipe

import "time"

// A pace knows whether a worker's operations are fast: a streak of them took under fastOp each. Then the clock is read only
// sometimes, and a worker that has no others beside it takes several inputs at a time. One slow operation ends the streak.
type clockSampler struct {
	streak  int
	unread  int  // items since the clock was read
	untimed int  // and since one was timed by itself
	timing  bool // the clock was read right before this item
}

const (
	fastOp = 10 * time.Microsecond
	maxRun = 32 // inputs taken at a time, and items between two readings of the clock
)

var fastStreak = 64 // less in tests

// longestRun is how many inputs a worker of a stage may take at once. Where there are several workers that is one: what stands
// behind an operation that suddenly takes long would wait for it, while others have nothing to do.
func longestRun(workers int) int {
	if workers > 1 {
		return 1
	}
	return maxRun
}

// limit is how many items may be taken now.
func (p *clockSampler) limit(most int) int {
	if p.streak < fastStreak {
		return 1
	}
	return most
}

// took tells the pace that n operations took that long together.
func (p *clockSampler) took(n int, d time.Duration) {
	if d >= fastOp*time.Duration(n) {
		p.streak = 0
	} else if p.streak < fastStreak {
		p.streak += n
	}
}

// sometimes tells whether a clock that would be read once per item should be read now: always, unless items come so fast that
// reading it would cost more than they do. It is the number of items since the last reading, or 0. Of fast items, one in maxRun is
// timed by itself: one before which the clock was read anyway, because the worker had waited, or had read it for all before.
func (p *clockSampler) due() int {
	p.unread++
	p.untimed++
	timed := p.timing && p.untimed >= maxRun
	p.timing = false
	if p.streak >= fastStreak && p.unread < maxRun && !timed {
		return 0
	}
	n := p.unread
	p.unread = 0
	if p.timing = n > 1; !p.timing {
		p.untimed = 0
	}
	return n
}

// time lets the clock be read behind this item.
func (p *clockSampler) time() { p.timing, p.untimed = true, maxRun }
