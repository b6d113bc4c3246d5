package pipe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// RoundOpts are the settings of Rounds.
type RoundOpts struct {
	Name     string // of the stage; required, and unique in its flow
	Buffer   int    // items kept ready; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	First    int    // the number of the first flow's lane, of which a state tells
	Each     int    // items of each flow in a round, at least 1; RoundGroups has none
	DropLast bool   // an epoch ends with its last round that is full, and the rest is dropped
}

// LaneOf returns the name of a lane's source, or other stage, in states.
func LaneOf(stage string, lane int) string { return fmt.Sprintf("%s@%d", stage, lane) }

// LaneIn returns the stage and the lane of a name that [LaneOf] has made; false: it has
// made none.
func LaneIn(name string) (stage string, lane int, ok bool) {
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		if lane, err := strconv.Atoi(name[at+1:]); err == nil {
			return name[:at], lane, true
		}
	}
	return name, 0, false
}

// Rounds joins flows that do the same with other items, the lanes of an order: a round
// has the next items of each, in the order of the flows. A flow at the end of its epoch
// has none for the rounds that follow, and no other flow has more for that. So a round
// depends on nothing but its number and what each flow makes, and a run of some of the
// flows has its part of the same rounds.
//
// Hold is called for each item that waits for others of its round; nil: nothing is. Last
// may change the last item of each round, before that is handed on. A run that is resumed
// begins with a round, so the items of a round have to be finished together.
//
// Stages of different flows may have the same names. [Stats] add their numbers up,
// SetWorkers divides workers among them, and a state calls each by [LaneOf].
func Rounds[T any](flows []Flow[T], hold func(T), last func(*T), o RoundOpts) Flow[T] {
	n := roundNode(flows, fmt.Sprintf("of %d lanes, %d each", len(flows), o.Each), o)
	switch {
	case o.Each < 1:
		n.mistake("Each is %d: must be at least 1", o.Each)
	case last == nil:
		n.mistake("its function is nil")
	}
	return rounds(n, flows, o, roundStage[T]{hold: hold, last: last})
}

// RoundGroups is [Rounds] for flows whose items come in groups, such as the samples of a
// batch: a round has the next group of each flow. Last tells whether an item is the last
// of its group, whose items have to be finished together, as by [FillGroups]. A state
// counts the groups of each flow, so that a run goes on within a round.
func RoundGroups[T any](flows []Flow[T], last func(T) bool, o RoundOpts) Flow[T] {
	n := roundNode(flows, fmt.Sprintf("of %d lanes, a group each", len(flows)), o)
	switch {
	case o.Each != 0:
		n.mistake("Each is %d, and a round has a group of each flow", o.Each)
	case last == nil:
		n.mistake("its function is nil")
	}
	for i := range flows {
		n.counts = append(n.counts, LaneOf("", o.First+i))
	}
	return rounds(n, flows, o, roundStage[T]{ends: last})
}

// roundNode is the face of a stage that joins lanes, whose stages are told apart by it.
func roundNode[T any](flows []Flow[T], detail string, o RoundOpts) *node {
	n := &node{name: o.Name, kind: kindRounds, buffer: o.Buffer, ordered: true, detail: detail}
	for i, f := range flows {
		n.ups = append(n.ups, f.node)
		for _, at := range f.node.walk() {
			at.lane, at.lanes, at.nth = LaneOf("", o.First+i), len(flows), i
		}
	}
	n.settle()
	if len(flows) == 0 {
		n.mistake("it puts nothing together")
	}
	if o.First < 0 {
		n.mistake("First is %d: must be at least 0", o.First)
	}
	return n
}

func rounds[T any](n *node, flows []Flow[T], o RoundOpts, with roundStage[T]) Flow[T] {
	return Flow[T]{node: n, drop: dropOf(flows), open: func(op *opening, below *stage) *queue.Ring[T] {
		st := op.newStage(n, below)
		r := with
		r.mergeStage = newMergeStage[T](st, n.workers+n.buffer)
		r.feed(op, flows)
		r.failFast, r.each, r.dropLast = true, o.Each, o.DropLast
		for _, end := range n.counts {
			key := n.key() + end
			r.groups = append(r.groups, groupTurns{key: key, finished: op.progress.AddTurns(key, op.config.Resume.Merges[key])})
		}
		op.run(st, r.work)
		return r.out
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

	ends   func(T) bool // whether an item ends its group; nil: a round has items, and no groups
	groups []groupTurns // of each input
}

// groupTurns count the groups of an input. Each has the number of its round, so a state
// needs no more than those that are finished: after a resume they are left out, and the
// others are made of the same items, which come again, in order.
type groupTurns struct {
	key      string
	finished *progress.Children   // of this epoch
	skip     progress.PositionSet // those that were finished before the run was resumed
}

// work makes epoch after epoch. It has a free place whenever it takes an item.
func (r *roundStage[T]) work(w *worker.Worker) {
	defer func() { r.out.DiscardAll(r.held) }()
	for i := range r.groups {
		r.groups[i].skip = r.groups[i].finished.Finished()
	}
	for r.out.Reserve(w) {
		end, ok := r.takeRounds(w)
		if !ok {
			return
		}
		r.out.Put(&end, w.Last)
		if end.Kind == queue.Fatal || end.Last {
			return
		}
		for i := range r.groups {
			key := r.groups[i].key
			r.groups[i] = groupTurns{key: key, finished: progress.NewTurns(key, Progress{})}
		}
	}
}

// takeRounds hands on one epoch, and returns the message after it. A place is reserved.
func (r *roundStage[T]) takeRounds(w *worker.Worker) (end queue.Message[T], ok bool) {
	for round := r.begun(); r.arrived < len(r.inputs); round++ {
		for i, in := range r.inputs {
			if r.groups != nil && r.groups[i].skip.Has(round) {
				continue
			}
			if end, ok := r.takePart(w, i, round); !ok || end.Kind == queue.Fatal {
				return end, ok
			}
			if in.over && r.dropLast {
				w.Skipped.Add(int64(len(r.held)))
				r.out.DiscardAll(r.held)
				r.held = r.held[:0]
				return r.cutShort(w)
			}
		}
		if end, ok := r.endRound(w); !ok || end.Kind == queue.Fatal {
			return end, ok
		}
	}
	return r.endEpoch(), true
}

// begun is the first round that is not finished.
func (r *roundStage[T]) begun() (round int64) {
	for i := range r.groups {
		if low := r.groups[i].skip.Low; i == 0 || low < round {
			round = low
		}
	}
	return round
}

// takePart takes an input's part of a round: none if its epoch is over. A message that is
// fatal ends the run.
func (r *roundStage[T]) takePart(w *worker.Worker, i int, round int64) (end queue.Message[T], ok bool) {
	in := r.inputs[i]
	for n := 1; !in.over; n++ {
		m, more, ok := r.next(w, in)
		switch {
		case !ok:
			return end, false
		case m.Kind == queue.Fatal:
			r.haltAbove()
			return m, r.handOn(w)
		case !more:
			return end, true
		}

		// What was held is not the round's last.
		if !r.dropLast && !r.handOn(w) {
			r.out.DiscardMsg(m)
			return end, false
		}
		ends := n == r.each
		end, failed := r.attempt(w, m.Lineage, func() {
			if r.hold != nil {
				r.hold(m.Val)
			}
			if r.ends != nil {
				ends = r.ends(m.Val)
			}
		})
		if failed {
			r.out.DiscardMsg(m)
			return end, true
		}

		if ends && r.groups != nil {
			m.Lineage = m.Lineage.WithTurns(r.groups[i].finished, round, round+1)
		}
		r.held = append(r.held, m)
		if r.ends != nil && !r.dropLast && !r.handOn(w) {
			return end, false
		}
		if ends {
			return end, true
		}
	}
	return end, true
}

// endRound hands on the round, of which the newest item is the last.
func (r *roundStage[T]) endRound(w *worker.Worker) (end queue.Message[T], ok bool) {
	if n := len(r.held); n > 0 && r.last != nil {
		newest := &r.held[n-1]
		if end, failed := r.attempt(w, newest.Lineage, func() { r.last(&newest.Val) }); failed {
			return end, true
		}
	}
	return end, r.handOn(w)
}

// attempt calls a function for an item. If it fails, the message ends the run.
func (r *roundStage[T]) attempt(w *worker.Worker, at progress.Lineage, f func()) (end queue.Message[T], failed bool) {
	err := w.Attempt(func() error { f(); return nil }, func(err error) {
		end := r.fatal(at, err)
		r.out.Put(&end, w.Last) // a place is reserved
	})
	if err == nil {
		return end, false
	}
	return r.fatal(at, err), true
}

func (r *roundStage[T]) fatal(at progress.Lineage, err error) queue.Message[T] {
	r.haltAbove()
	return queue.Message[T]{Kind: queue.Fatal, Lineage: at, Failure: r.NewFailure(err)}
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
