package pipe

import (
	"context"
	"errors"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Opts are the settings of a Map.
type Opts struct {
	Name     string  // of the stage; required, and unique in its flow
	Workers  int     // operations at once; 0: 1
	Buffer   int     // results kept ready beyond those in workers' hands; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	Ordered  bool    // keep the order of the input; otherwise what is finished first goes first
	Gate     *Gate   // a limit on operations at once that is shared with other stages and runs; nil: none
	Failures *Policy // nil: the run's

	// Workers may mean workers elsewhere, such as processes, each of which has
	// several items in hand: then so many operations for each of them run at once, and
	// wait for it. OnResize is called with the number of Workers before they begin, and
	// whenever it changes. The statistics are theirs then: an operation has to tell with
	// Worked how long one of them worked for it.
	InFlightPerWorker int // 0: 1
	OnResize          func(workers int)
}

// Map applies f to every item. When f returns an error the item has failed, and its
// result is ignored; the error Skip drops the item quietly.
func Map[In, Out any](in Flow[In], f func(context.Context, In) (Out, error), o Opts) Flow[Out] {
	n := &node{name: o.Name, kind: kindMap, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate,
		policy: o.Failures, inFlight: o.InFlightPerWorker, onResize: o.OnResize, oneToOne: true, ups: []*node{in.node}}
	n.settle()
	if f == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *queue.Ring[Out] {
		m := newMapStage[In, Out](op, n, below, in)
		m.f = watched(m.stage, f, m.in.Discard, m.out.Discard)
		op.runAll(m.stage, m.work, m.fit)
		return m.out
	}}
}

func newMapStage[In, Out any](op *opening, n *node, below *stage, in Flow[In]) *mapStage[In, Out] {
	st := op.newStage(n, below)
	number := int(st.Number.Load())
	out := newQueue[Out](st, number+n.buffer)
	if n.inFlight > 1 { // they are elsewhere, and travel there together
		out.Lot = int64(number / 4)
	}
	return &mapStage[In, Out]{stage: st, in: in.into(op, st), out: out}
}

type mapStage[In, Out any] struct {
	*stage
	in  *queue.Ring[In]
	out *queue.Ring[Out]
	f   func(context.Context, In) (Out, error)
}

// fit gives each worker a place.
func (m *mapStage[In, Out]) fit(workers int) {
	m.out.Resize(workers + m.node.buffer)
	m.in.WakeTakers()
}

// inHand is the run of inputs that a worker has, and which of them its operation works
// on: -1 is none.
type inHand[In any] struct {
	queue.Run[In]
	at int
}

// work is the life of one worker: places, inputs, operations, results.
func (m *mapStage[In, Out]) work(w *worker.Worker) {
	var inputs []queue.Message[In]
	h := inHand[In]{at: -1}
	defer func() { // once for all runs, as some have few items
		if h.at >= 0 {
			m.exited(w, &h)
		}
		w.LeaveGate()
	}()

	for {
		most := worker.LongestRun(int(m.Number.Load()))
		if most > len(inputs) {
			inputs = make([]queue.Message[In], most)
		}
		// The place comes first, so that nobody waits for one with an item in hand.
		places := m.out.ReserveInput(w, w.Sampler.Limit(most))
		if places == 0 {
			return
		}
		h.Run = m.in.Take(w, inputs[:places])
		m.out.Release(places - len(h.Msgs))
		if len(h.Msgs) == 0 || !m.operateAll(w, &h) {
			return
		}
		w.LeaveGate()
		clear(h.Msgs)
	}
}

// operateAll works on a run of inputs. Each result is handed on at once: the operation
// after it may wait for what becomes of it. It reports whether the stage goes on.
func (m *mapStage[In, Out]) operateAll(w *worker.Worker, h *inHand[In]) bool {
	for i := range h.Msgs {
		in := &h.Msgs[i]
		// Only items compute: marks and failures pass by the gate.
		if in.Kind == queue.Item && !w.EnterGate() {
			m.in.DiscardAll(h.Msgs[i:])
			return false
		}

		w.BeginItem(&in.Lineage, h.Segment.Epoch)
		if w.Tracer != nil && in.Kind == queue.Item {
			w.Tracer.Begin(in.Val, &in.Lineage, h.Segment.Epoch)
		}

		var result queue.Message[Out]
		h.at = i
		m.operate(w, in, &result)
		h.at = -1

		broken := result.Kind == queue.Failed && (m.raises || result.Failure.Stops || w.Ctx.Err() != nil)
		if broken {
			m.in.DiscardAll(h.Msgs[i+1:])
			m.haltAbove()
		}
		if broken && w.Ctx.Err() != nil {
			return false // what fails because the run was stopped has not failed
		}

		w.TimeOp(in.Kind == queue.Item)
		m.out.Fill(h.At+int64(i), h.Segment, &result, w.Last)
		if broken {
			return false
		}
	}
	return true
}

// exited makes the end of a goroutine, which its operation has brought about, the failure
// of that operation's item: what was made before comes first.
func (m *mapStage[In, Out]) exited(w *worker.Worker, h *inHand[In]) {
	why := w.NoteExit()
	m.in.DiscardAll(h.Msgs[h.at+1:])
	m.haltAbove()
	if w.Ctx.Err() == nil {
		m.out.Fill(h.At+int64(h.at), h.Segment, &queue.Message[Out]{Lineage: h.Msgs[h.at].Lineage,
			Kind: queue.Failed, Failure: m.NewFailure(why)}, w.Last)
	}
}

func (m *mapStage[In, Out]) operate(w *worker.Worker, in *queue.Message[In], out *queue.Message[Out]) {
	out.Lineage, out.Kind, out.Last, out.Turn, out.Failure = in.Lineage, in.Kind, in.Last, in.Turn, in.Failure
	if in.Kind != queue.Item {
		return
	}
	w.In.Add(1)
	val, err := failure.Call(w.Ctx, m.f, in.Val)
	switch {
	case err == nil:
		out.Val = val
		w.Out.Add(1)
	case errors.Is(err, failure.Skip):
		w.Skipped.Add(1)
		w.NoteError(err)
		out.Kind, out.Failure = queue.Gone, nil
	default:
		w.NoteError(err)
		out.Kind, out.Failure = queue.Failed, m.NewFailure(err)
	}
}
