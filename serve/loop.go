package serve

import (
	"sync"
	"time"

	"github.com/headrace/headrace/stats"
)

// loopClock times the client's loop, as NEXT frames tell of it. The engine's own clock
// counts that nothing was ready to be sent, which may be while the loop has work.
type loopClock struct {
	mu      sync.Mutex
	began   time.Time     // when the first batch was taken; its zero value: none was
	start   time.Duration // the wait for that one
	waited  time.Duration // all other waits that the client has told, without main
	main    time.Duration // what its own functions of batches took, as it has told
	asked   time.Time     // when it began to wait; its zero value: it does not
	pending time.Duration // of a wait that has ended, and that it has not told yet
	batches int64         // taken

	shownWait, shownMain, shownStep time.Duration // which never fall
}

// next counts the batches of a NEXT frame, the waits, and the time that the client's own
// functions took.
func (c *loopClock) next(waited, main time.Duration, batches uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		c.start += waited + main
		if batches > 0 {
			c.began = time.Now()
		}
	} else {
		c.waited += waited
		c.main += main
	}
	c.batches += int64(batches)
	c.asked, c.pending = time.Time{}, 0
}

// waits notes that the client waits, and no batch is on its way to it.
func (c *loopClock) waits() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = time.Now()
}

// answered ends the wait: a batch is on its way to the client.
func (c *loopClock) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() {
		c.asked, c.pending = time.Time{}, time.Since(c.asked)
	}
}

// put replaces the engine's clock of the loop in statistics. A wait that goes on counts,
// or a loop that gets nothing would not seem to wait.
func (c *loopClock) put(s *stats.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := c.pending
	if !c.asked.IsZero() {
		pending = time.Since(c.asked)
	}
	s.Yielded, s.Start, s.Loop, s.Waited, s.Handed, s.Main = c.batches, c.start, 0, 0, 0, 0
	if c.began.IsZero() {
		s.Start += pending
		return
	}
	ran := time.Since(c.began)
	c.shownMain = max(c.shownMain, min(ran, c.main))
	c.shownWait = max(c.shownWait, min(ran-c.shownMain, c.waited+pending))
	c.shownStep = max(c.shownStep, ran-c.shownMain-c.shownWait)
	s.Loop, s.Waited, s.Main = c.shownWait+c.shownMain+c.shownStep, c.shownWait+c.shownMain, c.shownMain
}
