package pipe

import (
	"context"
	"errors"

	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/rows"
	"github.com/headrace/headrace/pipe/internal/worker"
	"github.com/headrace/headrace/pipe/observe"
)

// mostRun is how many items an operation is given at most.
const mostRun = 64

// abreast is how many operations of several items there are at once for each worker: one
// that it works on, and one that waits for it; the others are taking and settling items.
const abreast = 3

// runs are operations of several items.
type runs[In, B any] struct {
	several func(context.Context, []Row[In, B], func(i int, err error))
	size    func() int
}

// enough tells whether so many workers have items that the next ones are to come
// together. The lock is held.
func (f *filler[In, B]) enough() bool {
	return f.runs != nil && f.operating >= abreast*int(f.Number.Load())/f.PerWorker && f.runs.size() > 1
}

// workOnRuns is work for operations of several items.
func (f *filler[In, B]) workOnRuns(w *worker.Worker) {
	defer func() { // the others look, too
		f.mu.Lock()
		f.few.Broadcast()
		f.mu.Unlock()
	}()
	r := &fillRun[In, B]{filler: f, worker: w}
	for {
		more := r.take()
		if len(r.rows) > 0 && !r.write() || !more {
			return
		}
		r.end()
	}
}

// fillRun is what a worker has taken.
type fillRun[In, B any] struct {
	*filler[In, B]
	worker   *worker.Worker
	messages [mostRun]queue.Message[In]
	rows     []Row[In, B]
	at       []rows.Placing[B]
	settled  []bool
	first    int  // that is not settled
	stopped  bool // the stage is over, and what fails has not failed
}

// take waits for an item, and takes those that are there then. It reports whether the
// stage goes on.
func (r *fillRun[In, B]) take() bool {
	in, at, ok := r.next(r.worker, r.messages[:1])
	if !ok {
		return false
	}
	r.add(in, at)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.operating++
	m := r.filler.rows
	// The first was waited for; others are taken only if they are there.
	for size := min(r.runs.size(), mostRun); len(r.rows) < size && !m.Over() && m.Ready() == rows.Take; {
		h := r.in.TryTake(r.worker, r.messages[:min(size-len(r.rows), m.Rows())])
		if len(h.Msgs) == 0 {
			break
		}
		passed := false
		for _, in := range h.Msgs { // nobody else takes one in between
			if in.Kind == queue.Item {
				r.add(in.Val, m.Place(in.Lineage, false))
			} else {
				m.Pass(outcomeOf(in))
				passed = true
			}
		}
		clear(h.Msgs)
		if passed {
			r.turn.Broadcast()
			r.close(r.worker)
		}
	}
	return true
}

func (r *fillRun[In, B]) add(in In, at rows.Placing[B]) {
	r.rows = append(r.rows, Row[In, B]{in, at.Ref.Buffer(), at.Ref.Row()})
	r.at = append(r.at, at)
	r.settled = append(r.settled, false)
}

// end lets others take what comes, who may be waiting for that.
func (r *fillRun[In, B]) end() {
	clear(r.rows)
	clear(r.at)
	r.rows, r.at, r.settled, r.first = r.rows[:0], r.at[:0], r.settled[:0], 0
	r.mu.Lock()
	r.operating--
	switch {
	case r.runs.size() <= 1:
		r.few.Broadcast()
	case !r.enough():
		r.few.Signal()
	}
	r.mu.Unlock()
}

// write operates on the items. It reports whether the stage goes on.
func (r *fillRun[In, B]) write() bool {
	w := r.worker
	r.begin(0)
	exit := func(err error) {
		r.fail(err)
		r.end()
	}
	err := w.Attempt(func() error {
		if len(r.rows) == 1 {
			r.done(0, r.op(w.Ctx, r.rows[0].Item, r.at[0].Ref))
			return nil
		}
		r.runs.several(w.Ctx, r.rows, r.done)
		return errUnsettled
	}, exit)
	r.fail(err)
	return !r.stopped
}

// errUnsettled is a failure of items for which an operation has not said what became of
// them.
var errUnsettled = errors.New("pipe: the operation has returned without an outcome for its item")

// fail settles what is left.
func (r *fillRun[In, B]) fail(err error) {
	for i := range r.rows {
		if !r.settled[i] {
			r.done(i, err)
		}
	}
}

// begin says that an item is in work.
func (r *fillRun[In, B]) begin(i int) {
	w := r.worker
	w.BeginItem(&r.at[i].Lineage, r.at[i].Epoch)
	if w.Tracer != nil {
		w.Tracer.Begin(r.rows[i].Item, &r.at[i].Lineage, r.at[i].Epoch)
	}
}

// done settles an item.
func (r *fillRun[In, B]) done(i int, err error) {
	w := r.worker
	r.settled[i] = true
	w.In.Add(1)
	if w.Tracer != nil && i != r.first {
		w.Tracer.Of.Items-- // the first is counted, and begins once more below
		w.Tracer.About(observe.Operation, r.rows[i].Item, &r.at[i].Lineage, r.at[i].Epoch)
	}
	if err != nil && w.Ctx.Err() != nil { // what fails because the run was stopped has not failed
		r.stopped = true
		w.EndItem()
	} else {
		if err != nil {
			w.NoteError(err)
		}
		w.TimeOp(true)
		r.filler.settled(w, &r.at[i], err)
	}

	for r.first < len(r.rows) && r.settled[r.first] {
		r.first++
	}
	if r.first < len(r.rows) {
		r.begin(r.first)
	}
}
