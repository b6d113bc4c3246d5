package pipe

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/rows"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// close carries out what the machine decides. It is one worker's role at a time: the one
// that has told the machine something while nobody else closes. What others tell
// meanwhile is dealt with by the role's holder, who goes on until nothing is decided. The
// lock is held, and given up meanwhile where that takes long.
func (f *filler[In, B]) close(w *worker.Worker) {
	if f.closing {
		return
	}
	f.closing = true
	for {
		d := f.rows.Decide()
		f.turn.Broadcast()
		if d == nil {
			break
		}
		switch d.Kind {
		case rows.Send:
			w.Skipped.Add(int64(d.Skipped))
			f.send(w, messageOf[B](d.Outcome))
		case rows.Seal:
			f.seal(w, d)
		case rows.Move:
			f.compact(w, d)
		case rows.Drop:
			f.dropUnlocked(d.Buffers)
		}
		f.turn.Broadcast()
	}
	f.closing = false
}

// seal makes a batch whole, and hands it on.
func (f *filler[In, B]) seal(w *worker.Worker, d *rows.Decision[B]) {
	if d.Stuck() && !f.refit(w, d) {
		f.dropUnlocked(f.rows.Forsake(d))
		return
	}
	f.mu.Unlock()
	sealed := func(err error) { f.sealed(w, d, err) }
	sealed(w.Attempt(func() error {
		f.move(w, d)
		return f.store.Seal(d.Buffer(), d.Rows())
	}, sealed))
}

// sealed hands on a batch, unless sealing it has failed. The lock is not held, and is
// afterwards.
func (f *filler[In, B]) sealed(w *worker.Worker, d *rows.Decision[B], err error) {
	b := d.Buffer()
	if w.Tracer != nil {
		w.Tracer.Seal(b, &d.Lineage, d.Epoch)
	}
	w.Tick(&w.Busy)
	w.ForgetItem()

	if err == nil {
		m := queue.Message[B]{Kind: queue.Item, Val: b, Lineage: d.Lineage}
		if f.out.Reserve(w) {
			w.Out.Add(1)
			f.out.Put(&m, w.Last)
		} else {
			f.out.DiscardMsg(m)
		}
	} else {
		f.drop(b)
	}

	f.mu.Lock()
	f.dropUnlocked(f.rows.Sealed(d))
	if err != nil {
		f.fail(w, d.Lineage, err)
	}
}

// move brings rows to where they belong.
func (f *filler[In, B]) move(w *worker.Worker, d *rows.Decision[B]) {
	d.Moves(func(to int, src B, from int) {
		f.store.Move(d.Buffer(), to, src, from)
		w.Moved.Add(1)
	})
}

// compact moves what there is of a batch to its front.
func (f *filler[In, B]) compact(w *worker.Worker, d *rows.Decision[B]) {
	f.mu.Unlock()
	err := failure.InOwnGoroutine(func() error { f.move(w, d); return nil })
	f.mu.Lock()
	if err != nil {
		f.fail(w, d.Lineage, err)
		return
	}
	f.rows.Moved(d)
}

// fail ends the run.
func (f *filler[In, B]) fail(w *worker.Worker, what progress.Lineage, err error) {
	f.haltAbove()
	f.send(w, queue.Message[B]{Kind: queue.Fatal, Lineage: what, Failure: f.NewFailure(err)})
}

// send hands a message on, without the lock. After a fatal one nothing follows.
func (f *filler[In, B]) send(w *worker.Worker, m queue.Message[B]) {
	f.mu.Unlock()
	if f.out.Reserve(w) {
		f.out.Put(&m, w.Last)
	}
	f.mu.Lock()
	if m.Kind == queue.Fatal {
		f.rows.Halt()
	}
}

// dropUnlocked gives batches back to the store. The lock is held, and given up meanwhile.
func (f *filler[In, B]) dropUnlocked(all []B) {
	if len(all) > 0 {
		f.mu.Unlock()
		f.drop(all...)
		f.mu.Lock()
	}
}

// reserve gets a buffer for a batch.
func (f *filler[In, B]) reserve(w *worker.Worker) {
	f.close(w) // drops what is done with; the store may need it
	if !f.rows.Needs() {
		return
	}
	fail := func(err error) {
		f.haltAbove()
		f.pass(w, rows.Outcome{Kind: rows.Fatal, Lineage: f.rows.Next(), Failure: f.NewFailure(err)})
	}
	err := f.ask(w, fail)
	switch {
	case err == nil || err == errReturned:
	case w.Ctx.Err() == nil && !f.rows.Over():
		fail(err)
	default:
		f.rows.Halt()
	}
}

// refit gives a batch another buffer if somebody may still write into its own. It waits
// until there is one, or the operation has returned. It returns false when the stage has
// been stopped. The lock is held, and given up meanwhile.
func (f *filler[In, B]) refit(w *worker.Worker, d *rows.Decision[B]) bool {
	f.rows.Owe(true)
	for !f.rows.Halted() && d.Stuck() && !f.rows.HasSpare() {
		if f.rows.Reserving() {
			w.BeforeWait(&w.Blocked)
			f.turn.Wait()
			w.Tick(&w.Blocked)
			continue
		}

		fail := func(err error) { f.fail(w, d.Lineage, err) }
		switch err := f.ask(w, fail); {
		case err == nil || err == errReturned:
		case w.Ctx.Err() != nil:
			f.rows.Halt()
		default:
			fail(err)
		}
	}

	f.rows.Owe(false)
	f.turn.Broadcast()
	if !f.rows.Halted() && d.Stuck() {
		f.rows.Renew(d)
	}
	return !f.rows.Halted()
}

// ask gets a buffer from the store, without the lock; where that ends the goroutine, fail
// is called with it. When an operation returns that was abandoned, it may not be needed
// any more: then it ends with errReturned.
func (f *filler[In, B]) ask(w *worker.Worker, fail func(error)) error {
	ctx := w.Ctx
	if f.limited {
		ctx, f.impatient = context.WithCancel(ctx)
		defer func() { f.impatient = nil }()
		defer f.impatient()
	}

	f.rows.BeginReserve()
	f.mu.Unlock()
	w.BeforeWait(&w.Blocked)

	var fresh B
	err := w.Attempt(func() (err error) {
		fresh, err = f.store.Reserve(ctx)
		return err
	}, func(err error) {
		f.mu.Lock()
		f.rows.EndReserve()
		fail(err)
	})

	w.Tick(&w.Blocked)
	f.mu.Lock()
	f.rows.EndReserve()
	f.turn.Broadcast()

	switch {
	case err == nil:
		f.rows.Add(fresh)
	case ctx.Err() != nil && w.Ctx.Err() == nil:
		return errReturned
	}
	return err
}

var errReturned = errors.New("pipe: an operation that was abandoned has returned")

// limit puts a time limit around the operation.
func (f *filler[In, B]) limit(op func(context.Context, In, rows.Ref[B]) error,
	most time.Duration) func(context.Context, In, rows.Ref[B]) error {
	if most <= 0 {
		return op
	}
	f.limited = true
	type task struct {
		in In
		to rows.Ref[B]
	}
	write := limited(
		func(ctx context.Context, t task) (struct{}, error) { return struct{}{}, op(ctx, t.in, t.to) }, most,
		func(t task) { f.abandon(t.to) },
		func(t task, _ struct{}, _ error) { f.returned(t.to) },
	)
	return func(ctx context.Context, in In, to rows.Ref[B]) error {
		_, err := write(ctx, task{in, to})
		return err
	}
}

// abandon notes that the operation that writes a row was abandoned.
func (f *filler[In, B]) abandon(at rows.Ref[B]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows.Abandon(at)
}

// returned notes that it has returned.
func (f *filler[In, B]) returned(at rows.Ref[B]) {
	f.mu.Lock()
	drop := f.rows.Return(at)
	if f.impatient != nil {
		f.impatient()
	}
	f.turn.Broadcast()
	f.mu.Unlock()
	if drop {
		f.drop(at.Buffer())
	}
}
