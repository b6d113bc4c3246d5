package pipe

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A stage is a node in a run: its counters, and what it takes to stop it.
type stage struct {
	*node
	engine       *engine
	raises       bool // the first failure is the end
	keepMembers  bool // a stage after makes several items of one, and has to know what that was put together of
	cancel       context.CancelFunc
	below        *stage           // who takes its items; nil: the consumer
	queue        untypedQueue     // what it makes
	onHalt       func()           // releases workers that wait for something else than a queue; may be nil
	up           []*stage         // those whose items it takes
	skip         skipping         // of a source
	lossesBefore failure.Counter  // of its own policy, where the run goes on in an epoch
	over         func(StageStats) // what its hook ends with; may be nil
	through      atomic.Pointer[through]
	worker.Set
}

// through says that a stage has nothing left to do: since when, and how many operations
// at once it had.
type through struct {
	since      time.Duration
	operations int64
}

// A queue is a ring without its type.
type untypedQueue interface {
	Abort()
	Drain()
	Stats() QueueStats
}

// halt stops the stage and all above it: their contexts are cancelled, and whoever waits
// at their queues is released. What operations still return is discarded.
func (s *stage) halt() {
	s.cancel()
	s.queue.Abort()
	if s.onHalt != nil {
		s.onHalt()
	}
	s.haltAbove()
}

// newBudget counts the stage's failures by its own policy; nil: it has none that
// tolerates any.
func (s *stage) newBudget() *failure.Counter {
	if s.policy == nil || !s.policy.Skip {
		return nil
	}
	t := s.lossesBefore
	return &t
}

// haltAbove stops what feeds this stage. The stage itself goes on with the items that it
// has taken.
func (s *stage) haltAbove() {
	for _, u := range s.up {
		u.halt()
	}
}

// newQueue makes the queue after a stage, of so many places.
func newQueue[T any](s *stage, places int) *queue.Ring[T] {
	o := queue.Owner{Run: s.Run, From: &s.Origin, Limit: s.buffer, InOrder: s.ordered, Raises: s.raises, Halt: s.halt, Note: s.engine.note}
	r := queue.New[T](o, places, s.newBudget())
	s.queue = r
	return r
}
