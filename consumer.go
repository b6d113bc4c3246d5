package headrace

import (
	"context"
	"sync"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/extern"
)

// consumer is told of the memory of batches.
type consumer struct {
	announcing func(arena.Segment) error // nil: the consumer is in this process
	holding    func(*arena.HeldError)
	writers    *extern.Pool // whose workers write into batches; nil: none do

	mu     sync.Mutex
	giveUp context.CancelCauseFunc // guarded by mu: ends the wait of a consumer in this process
}

// announce tells of the memory of batches: a consumer in another process, and workers
// that write into it. These learn of the pool alone. A segment of one batch comes and
// goes while a consumer holds many, and each worker would have to map it; rows that are
// there are copied.
func (c *consumer) announce(s arena.Segment) error {
	if c.announcing != nil {
		if err := c.announcing(s); err != nil {
			return err
		}
	}
	if c.writers == nil || !s.Pooled {
		return nil
	}
	return c.writers.Segment(s.FD, s.ID, s.Memory)
}

// waits notes that a consumer in this process waits, and how to end that; nil: it waits
// no longer.
func (c *consumer) waits(giveUp context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.giveUp = giveUp
}

// held tells the consumer that it holds all that it may.
func (c *consumer) held(err *arena.HeldError) {
	c.holding(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.giveUp != nil {
		c.giveUp(err)
	}
}
