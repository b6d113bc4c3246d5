package serve

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// errLate is the error of an input that took longer than the task allows.
type errLate struct{ limit time.Duration }

func (e errLate) Error() string {
	return fmt.Sprintf("serve: it took longer than %v (time_limit), and was given up", e.limit)
}

// clock is the time left for an input. Waiting for memory or a core does not count.
type clock struct{ limit, left time.Duration }

// run calls f, and gives it up when time has run out: f goes on in a goroutine of its
// own, since nothing ends a call into C or one that waits for a disk, and late is
// called when it has ended. f calls begun when its time begins.
func (c *clock) run(ctx context.Context, f func(begun func()), late func()) error {
	begun, over := make(chan struct{}), make(chan struct{})
	// The first to set it decides whether f is abandoned: then f's goroutine calls late.
	var settled atomic.Bool

	go func() {
		f(func() { close(begun) })
		if settled.CompareAndSwap(false, true) {
			close(over)
			return
		}
		late()
	}()

	select {
	case <-begun:
	case <-over: // it was not to begin
		return nil
	}

	from := time.Now()
	timer := time.NewTimer(max(c.left, 0))
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
		if settled.CompareAndSwap(false, true) {
			return errLate{c.limit}
		}
		<-over
	}

	if c.left -= time.Since(from); c.left <= 0 {
		late() // it has ended, but not in time
		return errLate{c.limit}
	}
	return nil
}
