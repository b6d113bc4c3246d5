package pipe

import (
	"context"
	"sync/atomic"
	"time"
)

// A stage is a node in a run: its counters, and what it takes to stop it.
type stage struct {
	*node
	engine       *engine
	rank         int  // steps from the consumer: the gate prefers those that are near
	raises       bool // the first failure is the end
	keepMembers  bool // a stage behind makes several items of one, and has to know what that was put together of
	ctx          context.Context
	cancel       context.CancelFunc
	below        *stage       // who takes its items; nil: the consumer
	queue        queue        // what it makes
	onHalt       func()       // releases workers that wait for something else than a queue; may be nil
	resizes      func(int)    // is called in the place of staff, and calls it; may be nil
	up           []*stage     // those whose items it takes
	abandoned    atomic.Int64 // operations that were abandoned, and still run
	lost         atomic.Int64 // counted when the consumer learns of them, as the state does
	times        histogram
	sampled      atomic.Bool      // times holds only some of the operations
	skip         skipping         // of a source
	lossesBefore lossCounter      // of its own policy, where the run goes on in an epoch
	over         func(StageStats) // what its hook ends with; may be nil
	through      atomic.Pointer[through]
	workerSet
}

// through says that a stage has nothing left to do: since when, and how many operations at once it had.
type through struct {
	since      time.Duration
	operations int64
}

// A queue is a ring without its type.
type queue interface {
	abort()
	drain()
	stats() QueueStats
}

// halt stops the stage and all above it: their contexts are cancelled, and whoever waits at their queues is released.
// What operations still return is discarded.
func (s *stage) halt() {
	s.cancel()
	s.queue.abort()
	if s.onHalt != nil {
		s.onHalt()
	}
	s.haltAbove()
}

// newJudge counts the stage's failures by its own policy; nil: it has none that tolerates any.
func (s *stage) newBudget() *lossCounter {
	if s.policy == nil || !s.policy.Skip {
		return nil
	}
	t := s.lossesBefore
	return &t
}

// haltAbove stops what feeds this stage. The stage itself goes on with the items that it has taken.
func (s *stage) haltAbove() {
	for _, u := range s.up {
		u.halt()
	}
}
