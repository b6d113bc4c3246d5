package pipe

import (
	"context"
	"runtime/debug"
	"runtime/trace"
	"sync/atomic"
	"time"

	"headrace/pipe/internal/progress"
)

// A worker is one goroutine of a stage, with its context and its share of the stage's counters. Only that goroutine
// changes it; anyone may read the counters.
type worker struct {
	stage     *stage
	ctx       context.Context
	gate      *Gate         // whose permit it is: that of the stage, as a rule
	permit    int           // of the gate, while an operation runs
	turn      chan struct{} // where the gate tells of a permit that had to be waited for
	last      time.Duration // when the clock was read last; time up to here is accounted for
	sampler   clockSampler
	tracer    *tracer       // nil: nobody asks for spans
	heartbeat *heartbeat    // nil: nobody watches for stalls
	wait      wait          // that goes on
	region    *trace.Region // of the operation at hand, where the runtime is traced; nil: none
	counts

	exited          bool  // a function has ended the goroutine, and that is told in its item's place
	why             error // it was a hook; nil: something else
	abandonedPermit bool  // its permit is only a number: its operation was abandoned; guarded by the gate

	starved, busy, blocked, gated, queued, inTurn atomic.Int64 // nanoseconds; they add up to the worker's life

	accounted time.Duration // of the operation at hand, up to where it was interrupted last

	// Where workers are elsewhere:
	reported atomic.Bool  // the operation at hand has said how long one worked for it
	worked   atomic.Int64 // which is this long, in nanoseconds
	ahead    atomic.Int64 // nanoseconds that they worked while the operation waited for something else
}

type counts struct {
	in, out, skipped, bytes, moved, retried, replaced, abandoned atomic.Int64
}

// tick reads the clock, and adds the time since it was read last to one account. Unless that is busy, it ends a wait.
func (w *worker) tick(account *atomic.Int64) time.Duration {
	if account != &w.busy {
		w.wait.ends()
	}
	now := w.stage.engine.now()
	since := now - w.last
	rest := since
	if account == &w.busy && w.reported.Load() {
		w.reported.Store(false)
		worked := time.Duration(w.worked.Swap(0))
		rest = min(worked, since)
		w.ahead.Add(int64(worked - rest))
		w.accountFor(&w.queued, since-rest)
	}
	w.accountFor(account, rest)
	if account != &w.busy {
		w.wait.over()
	}
	return since
}

// busyTime is how long the worker was busy, or those elsewhere for it.
func (w *worker) busyTime() time.Duration { return time.Duration(w.busy.Load() + w.ahead.Load()) }

// accountFor adds a time that begins when the clock was read last.
func (w *worker) accountFor(account *atomic.Int64, d time.Duration) {
	account.Add(int64(d))
	if w.tracer != nil {
		w.tracer.end(account, w.last, d)
	}
	w.last += d
}

// timeItem ends one item of a stage whose items are not timed: the source, and the consumer.
func (w *worker) timeItem() {
	if n := w.sampler.due(); n > 0 {
		w.sampler.took(n, w.tick(&w.busy))
		w.tellSpans()
	}
}

// interrupt accounts for the operation at hand, which something comes into now that is no work.
func (w *worker) interrupt() {
	before := w.busyTime()
	w.tick(&w.busy)
	w.accounted += w.busyTime() - before
}

// timeOp ends one input. Its time is a sample if it was an operation, and no other comes into it.
func (w *worker) timeOp(operated bool) {
	w.has()
	accounted := w.accounted
	w.accounted = 0
	n := w.sampler.due()
	if n == 0 {
		if !w.stage.sampled.Load() {
			w.stage.sampled.Store(true)
		}
		return
	}
	before := w.busyTime()
	w.sampler.took(n, accounted+w.tick(&w.busy))
	if n == 1 && operated {
		w.stage.times.add(accounted + w.busyTime() - before)
	}
	w.tellSpans()
}

// failed notes what became of the operation at hand.
func (w *worker) failed(err error) {
	if w.tracer != nil {
		w.tracer.failed(err)
	}
}

// nothing is at hand from now on.
func (w *worker) nothing() {
	if w.tracer != nil {
		w.tracer.over()
	}
}

// tellSpans tells the hook what the worker has done. No lock may be held; the operation at hand is over.
func (w *worker) tellSpans() {
	if w.tracer != nil {
		w.tracer.flush()
	}
}

// beforeWait accounts for the items since the clock was read last, so that their time is not taken for waiting. A tick of the account
// ends the wait.
func (w *worker) beforeWait(account *atomic.Int64) {
	if w.sampler.unread > 0 {
		w.settle()
	}
	w.sampler.timing = true // the clock is read after the wait
	w.waitsFor(account)
}

// waitsFor tells snapshots, and those who watch for stalls, of a wait that begins. The clock was read, or is taken to have been.
func (w *worker) waitsFor(account *atomic.Int64) { w.wait.begins(account, w.last) }

// clock returns what an account says, with the wait that goes on.
func (w *worker) clock(account *atomic.Int64) time.Duration {
	for {
		of, since := w.wait.now()
		sum, now := time.Duration(account.Load()), w.stage.engine.elapsed()
		if again, same := w.wait.now(); again != of || same != since {
			continue
		}
		if of == account {
			sum += max(0, now-since)
		}
		return sum
	}
}

// takes notes what the worker works on from now on.
func (w *worker) takes(t *progress.Lineage, epoch int) {
	if w.heartbeat != nil {
		w.heartbeat.take(t, epoch)
	}
	if trace.IsEnabled() {
		w.region = trace.StartRegion(w.ctx, w.stage.name)
	}
}

// has ends what takes began.
func (w *worker) has() {
	if w.region != nil {
		w.region.End()
		w.region = nil
	}
}

// settle accounts for all work up to now.
func (w *worker) settle() {
	w.sampler.unread = 0
	w.tick(&w.busy)
}

type workerKey struct{}

func (s *stage) newWorker() *worker {
	w := &worker{stage: s, gate: s.gate, permit: -1, turn: make(chan struct{}, 1), last: s.engine.now()}
	if s.engine.watched {
		w.heartbeat = new(heartbeat)
	}
	w.ctx = context.WithValue(s.ctx, workerKey{}, w)
	return w
}

// Permit returns the number of the permit that the operation with this context holds: from 0 up to the limit of the stage's
// Gate, and nobody else's meanwhile. It is -1 for a stage without a gate, and beyond the limit only while an operation that Limit has
// abandoned keeps a number.
func Permit(ctx context.Context) int {
	if w, ok := ctx.Value(workerKey{}).(*worker); ok {
		return w.permit
	}
	return -1
}

// AddBytes lets an operation report how many bytes it read or made; the sum is in its stage's statistics. Outside of an
// operation it does nothing.
func AddBytes(ctx context.Context, n int64) {
	if w, ok := ctx.Value(workerKey{}).(*worker); ok {
		w.bytes.Add(n)
	}
}

// Worked lets an operation of a stage whose workers are elsewhere (OnResize) report for how long one of them worked for it. The rest of its time it waited for
// one. Outside of such an operation it does nothing.
func Worked(ctx context.Context, d time.Duration) {
	if w, ok := ctx.Value(workerKey{}).(*worker); ok && w.stage.onResize != nil {
		w.worked.Add(int64(d))
		w.reported.Store(true)
	}
}

// enter gets a permit from the stage's gate, if it has one and the worker does not hold one already. It returns false when the
// stage was stopped meanwhile.
func (w *worker) enter() bool {
	if w.gate == nil || w.permit >= 0 {
		return true
	}
	return w.gate.enter(w)
}

func (w *worker) leave() {
	if w.permit >= 0 {
		w.gate.leave(w)
	}
}

// call runs an operation on an item. A panic is its error.
func call[In, Out any](ctx context.Context, f func(context.Context, In) (Out, error), in In) (out Out, err error) {
	defer func() {
		if p := recovered(recover()); p != nil {
			err = p
		}
	}()
	return f(ctx, in)
}

// guard is call for the functions that a stage calls besides its operation.
func guard(f func() error) error { return guarded(f, func() {}) }

// guarded is guard with something to do before f ends the goroutine, as runtime.Goexit and
// a test's FailNow do. Nothing can keep it from ending.
func guarded(f func() error, exit func()) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if err = recovered(recover()); err == nil {
			exit()
		}
	}()
	err = f()
	returned = true
	return err
}

// attempt is guard for what a worker calls. Where f ends the goroutine, fail is called with that
// as the error: it does what is done about one that no policy tolerates, in the item's place, and
// the stage ends with this worker's goroutine.
func (w *worker) attempt(f func() error, fail func(error)) error {
	return guarded(f, func() { fail(w.exits()) })
}

// exits notes that a function ends the goroutine, and returns the error that says so.
func (w *worker) exits() error {
	w.exited = true
	if w.why != nil {
		return w.why
	}
	return errGoexit
}

// apart is guard in a goroutine of its own, for functions whose caller has to go on even where
// they end their goroutine. It is too slow for every item.
func inOwnGoroutine(f func() error) error {
	over := make(chan error, 1)
	go func() {
		err := error(errGoexit)
		defer func() { over <- err }()
		err = guard(f)
	}()
	return <-over
}

// recovered makes an error of what recover returned. It is called in the deferred function itself, so that the stack still shows
// where the panic began.
func recovered(value any) error {
	if value == nil {
		return nil
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}
