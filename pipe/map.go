package pipe

import (
	"context"
	"errors"
)

// Opts are the settings of a Map.
type Opts struct {
	Name     string  // of the stage; required, and unique in its flow
	Workers  int     // operations at once; 0: 1
	Buffer   int     // results kept ready beyond those in workers' hands; 0: DefaultBuffer
	Ordered  bool    // keep the order of the input; otherwise what is finished first goes first
	Gate     *Gate   // a limit on operations at once that is shared with other stages and runs; nil: none
	Failures *Policy // nil: the run's
}

// Map applies f to every item. When f returns an error the item has failed, and its result is ignored; the error Skip drops
// the item quietly.
func Map[In, Out any](in Flow[In], f func(context.Context, In) (Out, error), o Opts) Flow[Out] {
	n := &node{name: o.Name, kind: kindMap, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate, policy: o.Failures, up: in.node}
	n.settle()
	if f == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *ring[Out] {
		st := op.newStage(n, below)
		out := newRing[Out](st, n.workers+n.buffer)
		m := &mapStage[In, Out]{stage: st, in: in.into(op, st), out: out, f: f}
		for range n.workers {
			op.run(st, m.work)
		}
		return out
	}}
}

type mapStage[In, Out any] struct {
	*stage
	in  *ring[In]
	out *ring[Out]
	f   func(context.Context, In) (Out, error)
}

// work is the life of one worker: places, inputs, operations, results.
func (m *mapStage[In, Out]) work(w *worker) {
	most := longestRun(m.node.workers)
	inputs, results := make([]msg[In], most), make([]msg[Out], most)
	for {
		places := m.out.reserveUpTo(w, w.pace.limit(most))
		if places == 0 {
			return
		}
		h := m.in.take(w, inputs[:places], m.node.workers)
		m.out.release(places - len(h.msgs))
		if len(h.msgs) == 0 {
			return
		}
		made := m.operateAll(w, h.msgs, results)
		m.out.fill(h.at, h.segment, results[:made], w.last)
		clear(h.msgs)
		clear(results[:made])
	}
}

// operateAll works on a run of inputs. It returns how many results there are: fewer than inputs when the stage has to stop.
func (m *mapStage[In, Out]) operateAll(w *worker, inputs []msg[In], results []msg[Out]) int {
	defer w.leave()
	for i := range inputs {
		if inputs[i].kind == item && !w.enter() {
			m.in.discardAll(inputs[i:])
			return i
		}
		results[i] = m.operate(w, &inputs[i])
		if results[i].kind == failed && w.ctx.Err() != nil {
			m.in.discardAll(inputs[i+1:])
			return i // what fails because the run was stopped has not failed
		}
		if results[i].kind == failed && m.raises {
			m.haltAbove()
			m.in.discardAll(inputs[i+1:])
			return i + 1
		}
		if i == 0 && len(inputs) > 1 {
			w.timeFirst(inputs[0].kind == item)
		}
	}
	w.timeRun(len(inputs), inputs[0].kind == item)
	return len(inputs)
}

func (m *mapStage[In, Out]) operate(w *worker, in *msg[In]) msg[Out] {
	out := msg[Out]{ticket: in.ticket, kind: in.kind, last: in.last, news: in.news}
	if in.kind != item {
		return out
	}
	w.in.Add(1)
	var err error
	switch out.val, err = call(w.ctx, m.f, in.val); {
	case err == nil:
		w.out.Add(1)
	case errors.Is(err, Skip):
		w.skipped.Add(1)
		out = msg[Out]{ticket: in.ticket, kind: gone}
	default:
		out = msg[Out]{ticket: in.ticket, kind: failed, news: &news{stage: m.stage, err: err}}
	}
	return out
}
