package pipe

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A Run is a flow that runs. It has one consumer, who calls Next or All; State, Stats and
// Close may be called by anyone at any time, except Close by an operation, which it would
// wait for.
type Run[T any] struct {
	engine   *engine
	consumer *worker.Worker
	hooks    Hooks
	given    context.Context // to Start

	mu        sync.Mutex
	busy      bool // a call of Next waits, or has come upon something else than an item
	progress  *progress.Tracker
	lookahead queue.Lookahead[T]
	yielded   int64
	loop      loop

	// What follows belongs to Next.
	losses   failure.Counter
	terminal *queue.Message[T] // what the next call fails with
	err      error             // what all further calls return
	ends     bool              // the last epoch is over, and the stages' hooks have not returned

	closed atomic.Bool
}

// Next returns the next item. It returns io.EOF at the end of each epoch, and is then
// called for the next one; after the last epoch it returns ErrDone. What stops the run is
// a *StageError, returned after all items that were made before it in order, and again by
// every further call; what has stopped other stages by then is joined to it. When ctx
// ends while Next waits, its error is returned and nothing is lost.
func (r *Run[T]) Next(ctx context.Context) (T, error) {
	r.mu.Lock()
	if r.busy {
		r.mu.Unlock()
		var zero T
		return zero, ErrBusy
	}

	if r.loop.away {
		r.loop.enter(r.engine.Elapsed())
	}

	traced := r.consumer.Traces()
	if !traced { // a hook may want the lock
		r.consumer.TimeItem()
		if v, ok := r.ready(ctx); ok {
			due := r.progress.TakePending()
			r.busy = due != nil
			r.mu.Unlock()
			if due != nil {
				defer r.idle()
				r.loseBefore(v, due)
			}
			return v, nil
		}
	}

	r.busy = true
	r.mu.Unlock()
	defer r.idle()
	if traced {
		r.consumer.TimeItem()
	}
	return r.await(ctx)
}

// ready is the next item, where one was taken and nothing to decide. The lock is held.
func (r *Run[T]) ready(ctx context.Context) (v T, ok bool) {
	m := r.lookahead.First()
	switch {
	case m == nil, m.Kind != queue.Item,
		r.terminal != nil, r.err != nil, ctx.Err() != nil, r.engine.halted.Load(): // the run has ended, or will
		return v, false
	}
	v = m.Val
	if !r.losses.Pass(r.progress.Finish(&m.Lineage)) {
		r.setTerminal()
	}
	r.lookahead.Pop()
	if r.yielded++; r.yielded == 1 {
		r.loop.begin(r.engine.Now(), r.consumer.Starved.Settled())
	}
	return v, true
}

// await deals with all messages up to the next item.
func (r *Run[T]) await(ctx context.Context) (v T, err error) {
	if r.ends {
		return v, r.end(ctx)
	}

	for r.err == nil {
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
		m, ok := r.receive(ctx)
		if !ok {
			r.consumer.TellSpans()
			return v, r.stopped(ctx)
		}

		switch m.Kind {
		case queue.Item:
			r.mu.Lock()
			v, ok := r.ready(ctx)
			due := r.progress.TakePending()
			r.mu.Unlock()
			if !ok {
				continue
			}

			r.loseBefore(v, due)
			if t := r.consumer.Tracer; t != nil {
				t.HandOver(v, &m.Lineage, r.epoch()-r.engine.Epoch)
			}
			return v, nil
		case queue.Gone:
			r.lose(&m)
		case queue.Mark:
			r.Leave()
			r.nextEpoch(m.Last)
			r.consumer.TellSpans()
			if r.ends = m.Last && r.hooks.Stage != nil; r.ends {
				return v, r.end(ctx)
			}
			return v, io.EOF
		case queue.Fatal:
			r.fail(failure.ItemFailure{Failure: m.Failure, Lineage: m.Lineage})
		}
	}

	r.Leave()
	r.consumer.TellSpans()
	return v, r.err
}

// end waits until the hooks at the stages' ends have returned. One that has panicked is
// the end of the run, in place of the epoch's.
func (r *Run[T]) end(ctx context.Context) error {
	select {
	case <-r.engine.Idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.ends = false
	r.Leave()
	if unsound := r.engine.unsound.Load(); unsound != nil {
		r.err = unsound
		return r.err
	}
	return io.EOF
}

// Leave notes that the consumer does something else until its next call of Next: what
// Stats tell of its loop does not count the time between. The end of an epoch, and of
// All, do the same.
func (r *Run[T]) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.leave(r.engine.Elapsed())
}

func (r *Run[T]) idle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}

// All yields the rest of the epoch, then ends. An error comes once, as the last; also
// ErrDone, when there is no epoch left. After a break, All or Next go on with the very
// next item.
func (r *Run[T]) All() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		defer r.Leave()
		for {
			v, err := r.Next(context.Background())
			if err == io.EOF || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// State is where the run is. After io.EOF of an epoch, that is the beginning of the
// next one.
func (r *Run[T]) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress.State()
}

// Stats are the run's numbers so far.
func (r *Run[T]) Stats() Stats {
	s := r.engine.stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Yielded = r.yielded
	s.Start, s.Loop, s.Waited = r.loop.clocks(r.engine.Elapsed(), r.consumer.Starved.Of(r.engine.Run))
	return s
}

// Queues are the numbers of the queues alone, which cost less to ask for.
func (r *Run[T]) Queues() []QueueStats {
	if s := (Stats{Queues: r.engine.queues()}); r.engine.lanes() {
		return s.Folded().Queues
	} else {
		return s.Queues
	}
}

// Close stops the run, waits until none of its goroutines is left, and disposes of all
// items that were not handed on. It cancels the context of running operations, but has to
// wait for them to return; not for those that Limit has abandoned, which the error names
// then, as a *BusyError, as long as they run. Otherwise the error says what went wrong
// with discarding; it is not the run's failure, which Next returns. Close may be called
// again.
func (r *Run[T]) Close() error { return r.CloseWithin(context.Background()) }

// CloseWithin is Close, but waits no longer than until ctx ends. If operations still run
// then, the error is a *BusyError that names their stages. What they make is disposed of
// when they return, and a later Close waits for them.
func (r *Run[T]) CloseWithin(ctx context.Context) error {
	r.closed.Store(true)
	return r.engine.close(ctx)
}

// receive waits for a message. An item stays in the lookahead.
func (r *Run[T]) receive(ctx context.Context) (m queue.Message[T], ok bool) {
	if r.terminal != nil {
		return *r.terminal, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lookahead.First() == nil {
		r.mu.Unlock()
		run := r.lookahead.Await(ctx, r.consumer)
		r.mu.Lock()
		r.lookahead.Run = run
	}
	first := r.lookahead.First()
	if first == nil || r.engine.halted.Load() {
		return m, false
	}
	if m = *first; m.Kind != queue.Item {
		r.lookahead.Pop()
	}
	return m, true
}

// discard disposes of what was taken, after the run was halted.
func (r *Run[T]) discard() {
	r.mu.Lock()
	left := r.lookahead.Empty()
	r.mu.Unlock()
	r.lookahead.Queue.DiscardAll(left)
}

// stopped tells why nothing came. All reasons but the caller's own context are for good.
func (r *Run[T]) stopped(ctx context.Context) error {
	if r.engine.halted.Load() {
		r.discard() // what came at the same moment
	}
	if crashed := r.engine.Crashed.Load(); crashed != nil {
		r.err = crashed
	} else if r.closed.Load() {
		r.err = ErrClosed
	} else if r.given.Err() != nil {
		r.err = context.Cause(r.given)
	}
	if r.err == nil {
		return context.Cause(ctx)
	}
	return r.err
}

// finish records that what a message means is finished, and deals with what was lost
// of it.
func (r *Run[T]) finish(m *queue.Message[T]) {
	finished, within := r.record(m)
	if !r.losses.Pass(finished) {
		r.setTerminal()
	}
	r.loseWithin(within)
}

// loseWithin deals with what was lost of something that is finished. One loss too many is
// the end, but after what it was a part of.
func (r *Run[T]) loseWithin(all []progress.PendingLoss) {
	for _, l := range all {
		lost := failure.Part(l.LostInput)
		if !lost.Failure.Counted && !r.losses.Lose(l.Newly, 0, lost.Lineage, lost.Failure) {
			r.setTerminal()
		}
		r.tellLoss(lost)
	}
}

// loseBefore is loseWithin before an item is handed on, which is disposed of where the
// hook ends the consumer's goroutine.
func (r *Run[T]) loseBefore(v T, all []progress.PendingLoss) {
	told := false
	defer func() {
		if !told {
			r.lookahead.Queue.Discard(v)
		}
	}()
	r.loseWithin(all)
	told = true
}

func (r *Run[T]) record(m *queue.Message[T]) (finished int64, within []progress.PendingLoss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress.Finish(&m.Lineage), r.progress.TakePending()
}

func (r *Run[T]) setTerminal() {
	r.terminal = &queue.Message[T]{Kind: queue.Fatal, Lineage: r.losses.Last, Failure: r.losses.Exceeded()}
}

// lose deals with items that were dropped or lost.
func (r *Run[T]) lose(m *queue.Message[T]) {
	if m.Failure == nil {
		r.finish(m)
		return
	}
	whole := m.Lineage.Size()
	if !m.Failure.Counted && !r.losses.Lose(r.progress.NewlyLost(&m.Lineage), whole, m.Lineage, m.Failure) {
		m.Failure = r.losses.Exceeded()
		r.fail(failure.ItemFailure{Failure: m.Failure, Lineage: m.Lineage})
		return
	}
	finished, within := r.recordLost(m)
	if !m.Failure.Counted {
		finished -= whole // they are counted
		for i := range within {
			within[i].Newly = 0 // and so are these
		}
	}
	r.loseWithin(within)
	if !r.losses.Pass(finished) {
		r.setTerminal()
	}
	r.tellLoss(failure.ItemFailure{Failure: m.Failure, Lineage: m.Lineage})
}

// tellLoss tells the hook of every source item of a loss, or output of one, but for those
// that were lost in the making of what is lost now.
func (r *Run[T]) tellLoss(l failure.ItemFailure) {
	l.Failure.From.Lost.Add(1)
	if r.hooks.Lost == nil {
		return
	}
	known := l.Lineage.Lost()
	l.Lineage.Outputs(func(s progress.Range, numbers []int64) {
		for at := s.Lo; at < s.Hi && r.err == nil; at++ {
			if !slices.ContainsFunc(known, func(s progress.Range) bool { return s.Lo <= at && at < s.Hi }) {
				r.tell(l, Loss{
					Stage: l.Failure.From.Stage, Source: r.progress.Source(at), Epoch: r.epoch(), Pos: progress.PositionOf(at),
					Output: slices.Clone(numbers), Err: l.Failure.Err,
				})
			}
		}
	})
}

func (r *Run[T]) tell(of failure.ItemFailure, l Loss) {
	fail := func(err error) {
		r.fail(failure.ItemFailure{Failure: of.Failure.From.NewFailure(&HookError{Err: err}), Lineage: of.Lineage})
	}
	if err := r.consumer.Attempt(func() error { r.hooks.Lost(l); return nil }, fail); err != nil {
		fail(err)
	}
}

func (r *Run[T]) recordLost(m *queue.Message[T]) (finished int64, within []progress.PendingLoss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	finished, within = r.progress.Finish(&m.Lineage), r.progress.TakePending()
	r.progress.Lose(progress.LostInput{Of: m.Lineage, Why: m.Failure})
	return finished, within
}

// epoch is the one that is being read. All sources are in the same.
func (r *Run[T]) epoch() int { return r.progress.Epoch() }

func (r *Run[T]) nextEpoch(last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.NextEpoch()
	r.losses.Reset()
	if last {
		r.err = ErrDone
	}
}

func (r *Run[T]) fail(t failure.ItemFailure) {
	all := append([]failure.ItemFailure{t}, t.Failure.Others...)
	all = append(all, r.engine.others(all)...)
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = r.failure(all[i].Failure, &all[i].Lineage)
	}
	if r.err = errs[0]; len(errs) > 1 {
		r.err = errors.Join(errs...)
	}
	r.engine.halt()
}

func (r *Run[T]) failure(why *failure.Failure, what *progress.Lineage) error {
	e := &StageError{Stage: why.From.Stage, Epoch: r.epoch(), Pos: -1, Err: why.Err}
	what.Outputs(func(s progress.Range, numbers []int64) {
		if e.Pos < 0 {
			e.Source, e.Pos, e.Output = r.progress.Source(s.Lo), progress.PositionOf(s.Lo)+failure.PlaceOf(why.Err), slices.Clone(numbers)
		}
	})
	return e
}
