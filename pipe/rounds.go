package pipe

import (
	"fmt"

	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// RoundOpts are the settings of Rounds.
type RoundOpts struct {
	Name     string // of the stage; required, and unique in its flow
	Buffer   int    // items kept ready; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	First    int    // the number of the first flow's lane, of which a state tells
	Each     int    // items of each flow in a round, at least 1
	DropLast bool   // an epoch ends with its last round that is full, and the rest is dropped
}

// LaneOf returns the name of a lane's source, or other stage, in states.
func LaneOf(stage string, lane int) string { return fmt.Sprintf("%s@%d", stage, lane) }

// Rounds joins flows that do the same with other items, the lanes of an order: a round
// has the next items of each, in the order of the flows. A flow at the end of its epoch
// has none for the rounds that follow, and no other flow has more for that. So a round
// depends on nothing but its number and what each flow makes, and a run of some of the
// flows has its part of the same rounds.
//
// Hold is called for each item that waits for others of its round; nil: nothing is. Last
// may change the last item of each round, before that is handed on.
//
// Stages of different flows may have the same names. [Stats] add their numbers up,
// SetWorkers divides workers among them, and a state calls each by [LaneOf].
func Rounds[T any](flows []Flow[T], hold func(T), last func(*T), o RoundOpts) Flow[T] {
	n := &node{name: o.Name, kind: kindRounds, buffer: o.Buffer, ordered: true,
		detail: fmt.Sprintf("of %d lanes, %d each", len(flows), o.Each)}
	for i, f := range flows {
		n.ups = append(n.ups, f.node)
		for _, at := range f.node.walk() {
			at.lane, at.lanes, at.nth = LaneOf("", o.First+i), len(flows), i
		}
	}
	n.settle()
	switch {
	case len(flows) == 0:
		n.mistake("it puts nothing together")
	case o.Each < 1 || o.First < 0:
		n.mistake("Each is %d and First %d: must be at least 1 and 0", o.Each, o.First)
	case last == nil:
		n.mistake("its function is nil")
	}

	return Flow[T]{node: n, drop: dropOf(flows), open: func(op *opening, below *stage) *queue.Ring[T] {
		st := op.newStage(n, below)
		m := newMergeStage[T](st, n.workers+n.buffer)
		m.failFast = true
		for _, f := range flows {
			in := f.into(op, st)
			m.inputs = append(m.inputs, &mergeInput[T]{ring: in, feeder: st.up[len(st.up)-1]})
		}
		r := &roundStage[T]{mergeStage: m, each: o.Each, dropLast: o.DropLast, hold: hold, last: last}
		op.run(st, r.work)
		return m.out
	}}
}

// A roundStage has the items of a round that it may not hand on yet: the newest, which
// may be the last; or all of them, if only full rounds count.
type roundStage[T any] struct {
	*mergeStage[T]
	each     int
	dropLast bool
	hold     func(T)
	last     func(*T)
	held     []queue.Message[T]
}

// work makes epoch after epoch. It has a free place whenever it takes an item.
func (r *roundStage[T]) work(w *worker.Worker) {
	defer func() { r.out.DiscardAll(r.held) }()
	for r.out.Reserve(w) {
		end, ok := r.takeRounds(w)
		if !ok {
			return
		}
		r.out.Put(&end, w.Last)
		if end.Kind == queue.Fatal || end.Last {
			return
		}
	}
}

// takeRounds hands on one epoch, and returns the message after it. A place is reserved.
func (r *roundStage[T]) takeRounds(w *worker.Worker) (end queue.Message[T], ok bool) {
	for r.arrived < len(r.inputs) {
		// An input that is over has no part in this round, nor in those that follow.
		for _, in := range r.inputs {
			for range r.each {
				if in.over {
					break
				}
				m, more, ok := r.next(w, in)
				switch {
				case !ok:
					return end, false
				case more:
					if !r.dropLast && !r.handOn(w) {
						r.out.DiscardMsg(m)
						return end, false
					}
					if r.hold != nil {
						r.hold(m.Val)
					}
					r.held = append(r.held, m)
				case m.Kind == queue.Fatal:
					r.haltAbove()
					return m, r.handOn(w)
				}
			}

			if in.over && r.dropLast {
				w.Skipped.Add(int64(len(r.held)))
				r.out.DiscardAll(r.held)
				r.held = r.held[:0]
				return r.cutShort(w)
			}
		}

		if !r.endRound(w) {
			return end, false
		}
	}
	return r.endEpoch(), true
}

// endRound hands on the round, of which the newest item is the last.
func (r *roundStage[T]) endRound(w *worker.Worker) bool {
	if n := len(r.held); n > 0 {
		end := &r.held[n-1].Val
		if err := w.Attempt(func() error { r.last(end); return nil }, func(error) {}); err != nil {
			m := queue.Message[T]{Kind: queue.Fatal, Lineage: r.held[n-1].Lineage, Failure: r.NewFailure(err)}
			r.haltAbove()
			r.out.Put(&m, w.Last)
			return false
		}
	}
	return r.handOn(w)
}

// handOn hands on the items that it holds. It returns false when nothing more is needed.
func (r *roundStage[T]) handOn(w *worker.Worker) bool {
	for i := range r.held {
		w.Out.Add(1)
		w.TimeItem()
		r.out.Put(&r.held[i], w.Last)
		if !r.out.Reserve(w) {
			r.out.DiscardAll(r.held[i+1:])
			r.held = nil
			return false
		}
	}
	r.held = r.held[:0]
	return true
}
