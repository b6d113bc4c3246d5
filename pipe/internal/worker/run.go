package worker

import (
	"context"
	"errors"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/observe"
)

// A workerRun is what the workers of all stages of a run share: a clock, the count of
// goroutines, and who learns what.
type Run struct {
	began   time.Time
	endedAt atomic.Int64 // nanoseconds from began to Close
	Epoch   int          // the first
	Origins []string     // the names of the sources, by number
	Label   string       // of its goroutines
	Watched bool         // somebody learns of stalls
	Span    func(observe.Span)
	Spans   func() bool     // whether Span is wanted now; nil: it always is
	Halt    func()          // stops all stages
	Ctx     context.Context // ends when the run is stopped
	task    *trace.Task

	Crashed atomic.Pointer[failure.StageError]

	mu         sync.Mutex
	live       int           // goroutines, and one more until all are started
	Idle       chan struct{} // closed when there are none
	complaints []error       // what went wrong where nothing could be done about it
}

// runs counts them, for their labels.
var runs atomic.Int64

// NewRun begins a run. Its context is for those of its stages.
func NewRun(ctx context.Context) (context.Context, *Run) {
	r := &Run{Label: strconv.FormatInt(runs.Add(1), 10), began: time.Now(), live: 1, Idle: make(chan struct{})}
	ctx, r.task = trace.NewTask(ctx, "pipe.Run")
	return ctx, r
}

// Now is the time since the run began.
func (r *Run) Now() time.Duration { return time.Since(r.began) }

// Elapsed is the same, up to the end of the run.
func (r *Run) Elapsed() time.Duration {
	if over := r.endedAt.Load(); over > 0 {
		return time.Duration(over)
	}
	return r.Now()
}

// Ended tells whether the clock has stopped.
func (r *Run) Ended() bool { return r.endedAt.Load() > 0 }

// End stops the clock.
func (r *Run) End() { r.endedAt.CompareAndSwap(0, int64(r.Now())) }

// Hold counts a goroutine that is to begin. It returns false when the run is over.
func (r *Run) Hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == 0 {
		return false
	}
	r.live++
	return true
}

// Gone counts a goroutine that ends.
func (r *Run) Gone() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live--; r.live == 0 {
		r.task.End()
		close(r.Idle)
	}
}

// Crash ends the run at once, for what has no place among the items.
func (r *Run) Crash(s *failure.Origin, why error) {
	r.Crashed.CompareAndSwap(nil, &failure.StageError{Stage: s.Stage, Epoch: -1, Pos: -1, Err: why})
	r.Halt()
}

// Complain notes what went wrong where nothing could be done about it.
func (r *Run) Complain(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, err)
}

// Complained is all of that.
func (r *Run) Complained() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.complaints...)
}
