package worker

import "time"

// A pace knows whether a worker's operations are fast: a streak of them took under fastOp
// each. Then the clock is read only sometimes, and a worker that has no others beside it
// takes several inputs at a time. One slow operation ends the streak.
type Sampler struct {
	streak  int
	Unread  int  // items since the clock was read
	untimed int  // and since one was timed by itself
	timing  bool // the clock was read right before this item
}

const (
	FastOp = 10 * time.Microsecond // an operation is fast if it takes less
	MaxRun = 32                    // inputs taken at a time, and items between two readings of the clock
)

// FastStreak is after how many fast operations a worker is taken to be fast.
var FastStreak = 64 // less in tests

// LongestRun is how many inputs a worker of a stage may take at once. Where there are
// several workers that is one: the value after an operation that suddenly takes long
// would wait for it, while others have nothing to do.
func LongestRun(workers int) int {
	if workers > 1 {
		return 1
	}
	return MaxRun
}

// Limit is how many items may be taken now.
func (p *Sampler) Limit(most int) int {
	if p.streak < FastStreak {
		return 1
	}
	return most
}

// took tells the pace that n operations took that long together.
func (p *Sampler) took(n int, d time.Duration) {
	if d >= FastOp*time.Duration(n) {
		p.streak = 0
	} else if p.streak < FastStreak {
		p.streak += n
	}
}

// due tells whether a clock that would be read once per item should be read now: always,
// unless items come so fast that reading it would cost more than they do. It is the
// number of items since the last reading, or 0. Of fast items, one in maxRun is timed by
// itself: one before which the clock was read anyway, because the worker had waited, or
// had read it for all before.
func (p *Sampler) due() int {
	p.Unread++
	p.untimed++
	timed := p.timing && p.untimed >= MaxRun
	p.timing = false
	if p.streak >= FastStreak && p.Unread < MaxRun && !timed {
		return 0
	}
	n := p.Unread
	p.Unread = 0
	if p.timing = n > 1; !p.timing {
		p.untimed = 0
	}
	return n
}

// time lets the clock be read after this item.
func (p *Sampler) time() { p.timing, p.untimed = true, MaxRun }
