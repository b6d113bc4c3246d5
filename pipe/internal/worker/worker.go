package worker

import (
	"context"
	"runtime/trace"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/gate"
	"github.com/headrace/headrace/pipe/internal/progress"
)

// A worker is one goroutine of a stage, with its context and its share of the stage's
// counters. Only that goroutine changes it; anyone may read the counters.
type Worker struct {
	Set       *Set
	Ctx       context.Context
	Gate      *gate.Gate // whose permit it is: that of the stage, as a rule
	Permit    gate.Holder
	Last      time.Duration // when the clock was read last; time up to here is accounted for
	Sampler   Sampler
	Tracer    *tracer       // nil: nobody asks for spans
	Heartbeat *heartbeat    // nil: nobody watches for stalls
	waiting   *Clock        // of the wait that goes on
	region    *trace.Region // of the operation at hand, where the runtime is traced; nil: none
	Counts

	exited    bool  // a function has ended the goroutine, and that is reported in its item's place
	ExitError error // it was a hook; nil: something else

	Starved, Busy, Blocked, Gated, queued, InTurn Clock // they add up to the worker's life

	accounted time.Duration // of the operation at hand, up to where it was interrupted last

	// Where workers are elsewhere, in nanoseconds:
	Worked atomic.Int64 // one has worked so long for the operation at hand; the rest of its time is queued
	ahead  atomic.Int64 // they worked while the operation waited for something else
}

// Counts are what a worker has done.
type Counts struct {
	In, Out, Skipped, Bytes, Moved, Retried, Replaced, Abandoned atomic.Int64
}

// Tick reads the time, and adds what has passed since it was read last to one clock. It
// ends a wait that this clock counts.
func (w *Worker) Tick(c *Clock) time.Duration {
	now := w.Set.Run.Now()
	since := now - w.Last
	if c == w.waiting {
		c.ends(now)
		w.waiting = nil
		w.passes(c, since)
		return since
	}

	rest := since
	if c == &w.Busy && w.Set.Elsewhere {
		worked := time.Duration(w.Worked.Swap(0))
		rest = min(worked, since)
		w.ahead.Add(int64(worked - rest))
		w.add(&w.queued, since-rest)
	}
	w.add(c, rest)
	return since
}

func (w *Worker) add(c *Clock, d time.Duration) {
	c.add(d)
	w.passes(c, d)
}

// passes goes on by a time that a clock has counted.
func (w *Worker) passes(c *Clock, d time.Duration) {
	if w.Tracer != nil {
		w.Tracer.end(c, w.Last, d)
	}
	w.Last += d
}

// BusyTime is how long the worker was busy, or those elsewhere for it.
func (w *Worker) BusyTime() time.Duration { return w.Busy.Settled() + time.Duration(w.ahead.Load()) }

// TimeItem ends one item of a stage whose items are not timed: the source, and the
// consumer.
func (w *Worker) TimeItem() {
	if n := w.Sampler.due(); n > 0 {
		w.Sampler.took(n, w.Tick(&w.Busy))
		w.TellSpans()
	}
}

// Interrupt accounts for the operation at hand, which something comes into now that is no
// work.
func (w *Worker) Interrupt() {
	before := w.BusyTime()
	w.Tick(&w.Busy)
	w.accounted += w.BusyTime() - before
}

// TimeOp ends one input. Its time is a sample if it was an operation, and no other comes
// into it.
func (w *Worker) TimeOp(operated bool) {
	w.EndItem()
	accounted := w.accounted
	w.accounted = 0
	n := w.Sampler.due()
	if n == 0 {
		if !w.Set.sampled.Load() {
			w.Set.sampled.Store(true)
		}
		return
	}
	before := w.BusyTime()
	w.Sampler.took(n, accounted+w.Tick(&w.Busy))
	if n == 1 && operated {
		w.Set.Times.Add(accounted + w.BusyTime() - before)
	}
	w.TellSpans()
}

// NoteError notes what became of the operation at hand.
func (w *Worker) NoteError(err error) {
	if w.Tracer != nil {
		w.Tracer.failed(err)
	}
}

// ForgetItem says that no item is worked on from now on.
func (w *Worker) ForgetItem() {
	if w.Tracer != nil {
		w.Tracer.over()
	}
}

// TellSpans tells the hook what the worker has done. No lock may be held; the operation
// at hand is over.
func (w *Worker) TellSpans() {
	if w.Tracer != nil {
		w.Tracer.flush()
	}
}

// BeforeWait begins a wait, which a tick of the clock ends.
func (w *Worker) BeforeWait(c *Clock) {
	w.endRun()
	w.WaitsFor(c)
}

// WaitWithin is BeforeWait within an operation.
func (w *Worker) WaitWithin(c *Clock) {
	w.endRun()
	w.Interrupt()
	w.WaitsFor(c)
}

// endRun accounts for the items since the time was read last, so that their time is not
// taken for waiting.
func (w *Worker) endRun() {
	if w.Sampler.Unread > 0 {
		w.Settle()
	}
	w.Sampler.timing = true // the time is read after the wait
}

// WaitsFor begins a wait when the time was read last.
func (w *Worker) WaitsFor(c *Clock) {
	w.waiting = c
	c.begins(w.Last)
}

// Waiting is the clock of what the worker waits for; nil: it works.
func (w *Worker) Waiting() *Clock {
	for _, c := range []*Clock{&w.Starved, &w.Blocked, &w.Gated, &w.InTurn} {
		if c.waits() {
			return c
		}
	}
	return nil
}

// BeginItem notes what the worker works on from now on.
func (w *Worker) BeginItem(t *progress.Lineage, epoch int) {
	if w.Heartbeat != nil || trace.IsEnabled() {
		w.noteItem(t, epoch)
	}
}

func (w *Worker) noteItem(t *progress.Lineage, epoch int) {
	if w.Heartbeat != nil {
		w.Heartbeat.take(t, epoch)
	}
	if trace.IsEnabled() {
		w.region = trace.StartRegion(w.Ctx, w.Set.Stage)
	}
}

// EndItem ends what takes began.
func (w *Worker) EndItem() {
	if w.region != nil {
		w.endRegion()
	}
}

//go:noinline
func (w *Worker) endRegion() {
	w.region.End()
	w.region = nil
}

// Settle accounts for all work up to now.
func (w *Worker) Settle() {
	w.Sampler.Unread = 0
	w.Tick(&w.Busy)
}

// Leave accounts for all up to now, the wait included that a function may have ended the
// goroutine in.
func (w *Worker) Leave() {
	if w.waiting != nil {
		w.Tick(w.waiting)
	}
	w.Settle()
}

type workerKey struct{}

// Of is the worker that runs the operation with this context; ok is false outside
// of one.
func Of(ctx context.Context) (w *Worker, ok bool) {
	w, ok = ctx.Value(workerKey{}).(*Worker)
	return w, ok
}

// OnBehalf gives an operation a context in which this worker runs it.
func (w *Worker) OnBehalf(ctx context.Context) {
	w.Ctx = context.WithValue(ctx, workerKey{}, w)
	w.Permit.Ctx = w.Ctx
}

// NewWorker is a worker that does not count as one of the stage, as long as it has no
// number.
func (s *Set) NewWorker() *Worker {
	w := &Worker{Set: s, Gate: s.Gate, Last: s.Run.Now()}
	if s.Run.Watched {
		w.Heartbeat = new(heartbeat)
	}
	w.Ctx = context.WithValue(s.Ctx, workerKey{}, w)
	w.Permit = gate.NewHolder(w.Ctx, s.Rank)
	return w
}

// EnterGate gets a permit from the stage's gate, if it has one and the worker does not
// hold one already. It returns false when the stage was stopped meanwhile.
func (w *Worker) EnterGate() bool {
	return w.Gate == nil || w.Permit.Permit >= 0 || w.awaitGate()
}

func (w *Worker) awaitGate() bool {
	if w.Permit.Enter(w.Gate) {
		return true
	}
	w.WaitsFor(&w.Gated)
	defer w.Tick(&w.Gated)
	return w.Permit.Await(w.Gate)
}

// LeaveGate gives the permit back, if the worker holds one.
func (w *Worker) LeaveGate() {
	if w.Permit.Permit >= 0 {
		w.Permit.Leave(w.Gate)
	}
}

// Attempt is guard for what a worker calls. Where f ends the goroutine, fail is called
// with that as the error: it does what is done about one that no policy tolerates, in the
// item's place, and the stage ends with this worker's goroutine.
func (w *Worker) Attempt(f func() error, fail func(error)) error {
	return failure.Guarded(f, func() { fail(w.NoteExit()) })
}

// NoteExit notes that a function ends the goroutine, and returns the error that says so.
func (w *Worker) NoteExit() error {
	w.exited = true
	if w.ExitError != nil {
		return w.ExitError
	}
	return failure.ErrGoexit
}

// Sum is how much a worker has done.
func (c *Counts) Sum() (n int64) {
	for _, one := range []*atomic.Int64{&c.In, &c.Out, &c.Skipped, &c.Bytes, &c.Moved, &c.Retried, &c.Replaced, &c.Abandoned} {
		n += one.Load()
	}
	return n
}

// AddCounts adds what another worker has counted in place of this one.
func (w *Worker) AddCounts(from *Worker) {
	w.Bytes.Add(from.Bytes.Load())
	w.Retried.Add(from.Retried.Load())
	w.Replaced.Add(from.Replaced.Load())
}
