package worker

import (
	"sync/atomic"
	"time"
)

// A Clock adds up the time of one kind that a worker spends, the wait that goes on
// included. The worker alone changes it; anyone may read it.
//
// The number is twice the sum. While a wait goes on it is odd, and the sum lacks the time
// at which the wait began: whoever reads it adds the time that it is now. So a wait costs
// one addition when it begins and the one that counts it when it ends.
type Clock struct {
	twice atomic.Int64
	shown atomic.Int64 // the most that was ever reported
}

func (c *Clock) add(d time.Duration)     { c.twice.Add(2 * int64(d)) }
func (c *Clock) begins(at time.Duration) { c.twice.Add(1 - 2*int64(at)) }
func (c *Clock) ends(now time.Duration)  { c.twice.Add(2*int64(now) - 1) }
func (c *Clock) waits() bool             { return c.twice.Load()&1 == 1 }

// Settled is the time, for the worker itself, which does not wait now.
func (c *Clock) Settled() time.Duration { return time.Duration(c.twice.Load() >> 1) }

// Of is what the clock shows. It never goes back: a wait that is ending was counted up to
// a moment before the reader looked at the time, perhaps.
func (c *Clock) Of(r *Run) time.Duration {
	twice := c.twice.Load()
	sum := twice >> 1
	if twice&1 == 1 {
		sum += int64(r.Elapsed())
	}
	for {
		most := c.shown.Load()
		if sum <= most {
			return time.Duration(most)
		}
		if c.shown.CompareAndSwap(most, sum) {
			return time.Duration(sum)
		}
	}
}
