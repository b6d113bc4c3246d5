package pipe

import (
	"context"
	"errors"
)

// Opts are the settings of a Map.
type Opts struct {
	Name     string  // of the stage; required, and unique in its flow
	Workers  int     // operations at once; 0: 1
	Buffer   int     // results kept ready beyond those in workers' hands; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	Ordered  bool    // keep the order of the input; otherwise what is finished first goes first
	Gate     *Gate   // a limit on operations at once that is shared with other stages and runs; nil: none
	Failures *Policy // nil: the run's

	// Workers may stand for workers elsewhere, such as processes, each of which has several items in hand: then so many operations for each of them run at
	// once, and wait for it. OnResize is called with the number of Workers before they begin, and whenever it changes. The statistics are theirs then: an operation has
	// to tell with Worked how long one of them worked for it.
	InFlightPerWorker int // 0: 1
	OnResize          func(workers int)
}

// Map applies f to every item. When f returns an error the item has failed, and its result is ignored; the error Skip drops
// the item quietly.
func Map[In, Out any](in Flow[In], f func(context.Context, In) (Out, error), o Opts) Flow[Out] {
	n := &node{name: o.Name, kind: kindMap, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate, policy: o.Failures, inFlight: o.InFlightPerWorker, onResize: o.OnResize, oneToOne: true, ups: []*node{in.node}}
	n.settle()
	if f == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *ring[Out] {
		m := newMapStage[In, Out](op, n, below, in)
		m.f = watched(m.stage, f, m.in.discard, m.out.discard)
		op.runAll(m.stage, m.work, m.fit)
		return m.out
	}}
}

func newMapStage[In, Out any](op *opening, n *node, below *stage, in Flow[In]) *mapStage[In, Out] {
	st := op.newStage(n, below)
	out := newRing[Out](st, int(st.number.Load())+n.buffer)
	return &mapStage[In, Out]{stage: st, in: in.into(op, st), out: out}
}

type mapStage[In, Out any] struct {
	*stage
	in  *ring[In]
	out *ring[Out]
	f   func(context.Context, In) (Out, error)
}

// fit gives each worker a place.
func (m *mapStage[In, Out]) fit(workers int) {
	m.out.resize(workers + m.node.buffer)
	m.in.wakeTakers()
}

// work is the life of one worker: places, inputs, operations, results.
func (m *mapStage[In, Out]) work(w *worker) {
	var inputs []msg[In]
	for {
		most := longestRun(int(m.number.Load()))
		if most > len(inputs) {
			inputs = make([]msg[In], most)
		}
		places := m.out.reserveInput(w, w.sampler.limit(most))
		if places == 0 {
			return
		}
		h := m.in.take(w, inputs[:places])
		m.out.release(places - len(h.msgs))
		if len(h.msgs) == 0 || !m.operateAll(w, h) {
			return
		}
		clear(h.msgs)
	}
}

// operateAll works on a run of inputs. Each result is handed on at once: the operation behind it may wait for what becomes of
// it. It reports whether the stage goes on.
func (m *mapStage[In, Out]) operateAll(w *worker, h run[In]) bool {
	at := -1 // whose operation is under way: as attempt, but once for all inputs
	defer func() {
		if at >= 0 {
			m.exited(w, h, at)
		}
		w.leave()
	}()

	for i := range h.msgs {
		in := &h.msgs[i]
		if in.kind == item && !w.enter() {
			m.in.discardAll(h.msgs[i:])
			return false
		}

		w.takes(&in.lineage, h.segment.epoch)
		if w.tracer != nil && in.kind == item {
			w.tracer.begin(in.val, &in.lineage, h.segment.epoch)
		}

		var result msg[Out]
		at = i
		m.operate(w, in, &result)
		at = -1

		broken := result.kind == failed && (m.raises || result.failure.stops || w.ctx.Err() != nil)
		if broken {
			m.in.discardAll(h.msgs[i+1:])
			m.haltAbove()
		}
		if broken && w.ctx.Err() != nil {
			return false // what fails because the run was stopped has not failed
		}

		w.timeOp(in.kind == item)
		m.out.fill(h.at+int64(i), h.segment, &result, w.last)
		if broken {
			return false
		}
	}
	return true
}

// exited makes the end of a goroutine, which its operation has brought about, the failure of that operation's item: what was made before comes first.
func (m *mapStage[In, Out]) exited(w *worker, h run[In], at int) {
	why := w.exits()
	m.in.discardAll(h.msgs[at+1:])
	m.haltAbove()
	if w.ctx.Err() == nil {
		m.out.fill(h.at+int64(at), h.segment, &msg[Out]{lineage: h.msgs[at].lineage, kind: failed, failure: &failure{stage: m.stage, err: why, stops: true}}, w.last)
	}
}

func (m *mapStage[In, Out]) operate(w *worker, in *msg[In], out *msg[Out]) {
	out.lineage, out.kind, out.last, out.failure = in.lineage, in.kind, in.last, in.failure
	if in.kind != item {
		return
	}
	w.in.Add(1)
	val, err := call(w.ctx, m.f, in.val)
	switch {
	case err == nil:
		out.val = val
		w.out.Add(1)
	case errors.Is(err, Skip):
		w.skipped.Add(1)
		w.failed(err)
		out.kind, out.failure = gone, nil
	default:
		w.failed(err)
		out.kind, out.failure = failed, &failure{stage: m.stage, err: err, stops: untolerable(err)}
	}
}
