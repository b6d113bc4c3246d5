package queue

import (
	"context"
	"time"

	"github.com/headrace/headrace/pipe/internal/worker"
)

// A Run is several messages that were taken together. All are of one epoch.
type Run[T any] struct {
	Msgs    []Message[T]
	At      int64    // the number of the first
	Segment *segment // where the next ring puts this epoch
}

// Take waits for a message, and takes what is ready into buf. An empty run means that
// nothing more comes, or that the worker has to leave.
func (r *Ring[T]) Take(w *worker.Worker, buf []Message[T]) (h Run[T]) {
	r.mu.Lock()
	leaves := w.Set.MustStop()
	for !leaves && !r.takeable() {
		r.await(context.Background(), w)
		leaves = w.Set.MustStop()
	}
	broken := false
	if leaves {
		r.wakeTaker() // it may have been called in place of another
	} else {
		h, broken = r.takeReady(buf, w.Last)
	}
	r.mu.Unlock()
	if broken {
		r.Halt()
	}
	return h
}

// takeWithin is take for the consumer, who may give up waiting.
func (r *Ring[T]) takeWithin(ctx context.Context, w *worker.Worker, buf []Message[T]) Run[T] {
	r.mu.Lock()
	if !r.takeable() && ctx.Err() == nil {
		r.await(ctx, w)
	}
	h, broken := r.takeReady(buf, w.Last)
	r.mu.Unlock()
	if broken {
		r.Halt()
	}
	return h
}

// TakeBefore is Take for a worker that waits no longer than until it is late; WakeTakers
// has it look. late is true when it is, and nothing is there.
func (r *Ring[T]) TakeBefore(w *worker.Worker, buf []Message[T], isLate func() bool) (h Run[T], late bool) {
	r.mu.Lock()
	if !r.takeable() && !isLate() {
		w.BeforeWait(&w.Starved)
		began := w.Last
		r.occupancy.getWait.begins(began)
		r.ready.wait(func() bool { return r.takeable() || isLate() })
		r.occupancy.getWait.ends(began, w.Tick(&w.Starved))
	}
	late = !r.takeable()
	h, broken := r.takeReady(buf, w.Last)
	r.mu.Unlock()
	if broken {
		r.Halt()
	}
	return h, late
}

// TryTake is Take without waiting. The run is empty also when the head is not ready.
func (r *Ring[T]) TryTake(w *worker.Worker, buf []Message[T]) Run[T] {
	r.mu.Lock()
	h, broken := r.takeReady(buf, w.Last)
	r.mu.Unlock()
	if broken {
		r.Halt()
	}
	return h
}

// Wait waits until the head may be taken, by this worker or another, unless more workers
// than those kept have to leave. It returns false when nothing more comes.
func (r *Ring[T]) Wait(w *worker.Worker, kept int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.takeable() && w.Set.Excess.Load() <= kept {
		w.BeforeWait(&w.Starved)
		began := w.Last
		r.occupancy.getWait.begins(began)
		called := false // whoever is called goes to look elsewhere, too
		r.ready.wait(func() bool {
			done := called || r.takeable() || w.Set.Excess.Load() > kept
			called = true
			return done
		})
		r.occupancy.getWait.ends(began, w.Tick(&w.Starved))
		if r.full(r.head + 1) {
			r.wakeTaker() // this worker takes one at most
		}
	}
	return !r.ended && !r.aborted.Load()
}

// await waits until the head can be taken, ctx ends, or workers have to leave.
func (r *Ring[T]) await(ctx context.Context, w *worker.Worker) {
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, r.WakeTakers)
	}
	w.BeforeWait(&w.Starved)
	began := w.Last
	r.occupancy.getWait.begins(began)
	r.ready.wait(func() bool { return r.takeable() || ctx.Err() != nil || w.Set.Excess.Load() > 0 })
	stop()
	r.occupancy.getWait.ends(began, w.Tick(&w.Starved))
}

// WakeTakers lets all who wait for messages look again.
func (r *Ring[T]) WakeTakers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready.wakeAll()
}

// takeable tells whether a take need not wait.
func (r *Ring[T]) takeable() bool {
	return r.full(r.head) || r.aborted.Load() || r.ended || r.terminal != nil
}

// wakeTaker wakes one who waits for a message, if there is one.
func (r *Ring[T]) wakeTaker() {
	switch {
	case r.ended:
		r.ready.wakeAll()
	case r.ready.waiting == 0: // as for most items, and there is no cell to look at
	case r.takeable():
		r.ready.wake()
	}
}

// takeReady takes what is ready. It reports whether that includes the end of a failed
// run: all that the owner still does is in vain then, because what is before was taken.
func (r *Ring[T]) takeReady(buf []Message[T], now time.Duration) (h Run[T], broken bool) {
	if r.aborted.Load() || r.ended {
		return h, false
	}

	r.observe(now)
	h = Run[T]{At: r.head, Segment: r.segment}
	n := 0

	for n < len(buf) && !r.ended {
		if r.terminal != nil {
			buf[n] = *r.terminal
			r.ended, broken = true, true
			n++
			break
		}

		cell := r.at(r.head)
		if cell.full.Load() != r.head+1 {
			break
		}

		m := &buf[n]
		*m = cell.Message
		cell.Message = Message[T]{}
		n++
		r.head++
		if m.Kind == Item && r.Budget == nil {
			continue
		}
		broken = r.pass(m) || broken
		if m.Kind == Mark {
			r.segment = newSegment(r.segment.Epoch+1, r.head)
			break
		}
	}

	h.Msgs = buf[:n]
	r.deferred += r.head - h.At
	if !r.deferRelease && (r.deferred >= r.Lot || !r.full(r.head)) {
		r.releaseDeferred()
	}
	r.wakeTaker()
	return h, broken
}

// releaseDeferred makes the places free whose messages were taken.
func (r *Ring[T]) releaseDeferred() {
	if r.deferred > 0 {
		r.credits.Add(r.deferred)
		r.deferred = 0
		r.wakeMaker()
	}
}

// releaseTaken makes the places free that the consumer has kept.
func (r *Ring[T]) releaseTaken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releaseDeferred()
}
