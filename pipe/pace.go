package pipe

import "time"

// A pace decides how many items a worker takes at a time. It starts with one, and more come only after a streak of operations
// that took under fastOp each: a run of slow operations in one hand would keep items from idle workers. One slow
// operation ends the streak.
type pace struct {
	streak int
	unread int  // items since the clock was read, where that is not done for each
	timing bool // the clock was read right before this item
}

const (
	fastOp     = 10 * time.Microsecond
	fastStreak = 64
	maxRun     = 32 // items a lone worker takes at a time
	maxShared  = 8  // and one of several: what stands behind a sudden slow operation in its run has to wait
)

// longestRun is how many items a worker of a stage may take at once.
func longestRun(workers int) int {
	if workers > 1 {
		return maxShared
	}
	return maxRun
}

// limit is how many items may be taken now.
func (p *pace) limit(most int) int {
	if p.streak < fastStreak {
		return 1
	}
	return most
}

// took tells the pace that n operations took that long together.
func (p *pace) took(n int, d time.Duration) {
	if d >= fastOp*time.Duration(n) {
		p.streak = 0
	} else if p.streak < fastStreak {
		p.streak += n
	}
}

// sometimes tells whether a clock that would be read once per item should be read now: always, unless items come so fast that
// reading it would cost more than they do. It is the number of items since the last reading, or 0. Of fast items, two
// neighbours in every maxRun are followed by a reading, so that some are timed by themselves.
func (p *pace) sometimes() int {
	p.unread++
	if p.streak >= fastStreak && p.unread < maxRun && !p.timing {
		return 0
	}
	n := p.unread
	p.unread = 0
	p.timing = n > 1
	return n
}
