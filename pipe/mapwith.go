package pipe

import (
	"context"
	"errors"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// MapWith is Map for operations that need something of their own for each worker: a
// handle, a buffer, a model. Every worker calls begin once, before its first item, with a
// context that lasts as long as the worker, and end when it is through, however that came
// about; nobody else is in the worker's operation meanwhile. end may be nil. A begin that
// fails stops the run, whatever the policy.
func MapWith[In, Out any](in Flow[In], begin func(context.Context) (op func(context.Context, In) (Out, error),
	end func(), err error), o Opts) Flow[Out] {
	n := &node{name: o.Name, kind: kindMap, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate,
		policy: o.Failures, inFlight: o.InFlightPerWorker, onResize: o.OnResize, oneToOne: true, ups: []*node{in.node}}
	n.settle()
	if begin == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *queue.Ring[Out] {
		m := newMapStage[In, Out](op, n, below, in)
		op.runAll(m.stage, func(w *worker.Worker) { m.workWith(w, begin) }, m.fit)
		return m.out
	}}
}

// workWith is the life of a worker whose operation is its own.
func (m *mapStage[In, Out]) workWith(w *worker.Worker,
	begin func(context.Context) (func(context.Context, In) (Out, error), func(), error)) {
	ctx, gone := context.WithCancel(w.Ctx)
	defer gone()
	var end func()
	own := *m
	err := w.Attempt(func() (err error) {
		own.f, end, err = begin(ctx)
		return err
	}, func(err error) { m.refuse(w, err) })
	if err == nil && own.f == nil {
		err = errNoOperation
	}
	if end != nil {
		defer m.end(w, end)
	}
	if err != nil {
		m.refuse(w, err)
		return
	}
	own.f = watched(m.stage, own.f, m.in.Discard, m.out.Discard)
	w.Tick(&w.Busy)
	own.work(w)
}

// end calls what a worker ends with, whose panic must not end the process.
func (m *mapStage[In, Out]) end(w *worker.Worker, end func()) {
	complain := func(err error) { m.engine.Complain(m.wrong("the end of a worker: %w", err)) }
	if err := w.Attempt(func() error { end(); return nil }, complain); err != nil {
		complain(err)
	}
}

// refuse stops the run at the next item.
func (m *mapStage[In, Out]) refuse(w *worker.Worker, why error) {
	own := *m
	own.f = func(context.Context, In) (out Out, err error) { return out, &failure.BeginError{Err: why} }
	own.work(w)
}

var errNoOperation = errors.New("it has no operation")
