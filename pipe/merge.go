package pipe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// MergeOpts are the settings of a Merge.
type MergeOpts struct {
	Name    string    // of the stage; required, and unique in its flow
	Buffer  int       // items kept ready; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	Order   Order     // who is next; zero: who has an item first
	Weights []float64 // with ByWeight: how often each input is next, as a share of their sum
	Seed    uint64    // with ByWeight
	Until   Until     // when an epoch is over; zero: when all inputs' are
	Items   int64     // or when it has had so many; 0: it has no such end. Not with Arrival, of which a state counts nothing

	// FailFast has an input that fails end the run when it would be next. Otherwise the
	// others finish the epoch before.
	FailFast bool

	// Pick says, with ByPick, which input is next; -1 ends the epoch. It has to depend on
	// nothing but its arguments.
	Pick func(epoch int, turn int64) int

	// Choose says, with ByChoice, which inputs are next. It may depend on anything.
	Choose func(ctx context.Context, at Turn) (Chosen, error)

	// Took learns of each turn which input it was; may be nil.
	Took func(input int)

	// Without is asked when so many items of an input in a row were dropped or lost
	// before they came here. An error ends the run. nil: it goes on.
	Without func(input int, items int64) error
}

// Order says which input of a Merge is next.
type Order int

// The orders of a Merge. In all but Arrival the order depends on nothing but the
// settings, and a state counts the turns. The turn of an input whose epoch is over goes
// to the next. Choices are in the state, too.
const (
	Arrival    Order = iota // who has an item
	RoundRobin              // one after the other
	ByWeight                // drawn with Weights and Seed, for each turn of each epoch again
	ByPick                  // what Pick says for each turn
	ByChoice                // what Choose says for some turns after others
)

func (o Order) String() string {
	if o < 0 || o > ByChoice {
		return fmt.Sprintf("Order(%d)", int(o))
	}
	return [...]string{"by arrival", "round robin", "by weight", "by pick", "by choice"}[o]
}

// A Turn is one without an input yet.
type Turn struct {
	Epoch int
	Turn  int64  // of the epoch, from 0
	Said  string // by Choose in this epoch, the last time, maybe in another run; "": nothing
}

// Chosen are the inputs of a turn and of those after it; none: the epoch is over. Says
// has all that Choose needs to go on after them, as JSON.
type Chosen struct {
	Inputs []int
	Says   string
}

// Until says when an epoch of a Merge is over.
type Until int

// The ends of an epoch. With Shortest, or when Pick ends it, what the other inputs still
// have of the epoch is disposed of, and their sources go on with the next one: the
// context of Items ends, and nothing more is read, however much there is. What their
// stages have taken is still worked on, so the epoch is over when that is through; it is
// no more than they hold at once. A failure of a source there fails the next epoch if the
// source had run into it by then.
const (
	Longest  Until = iota // the epochs of all inputs are over
	Shortest              // the first epoch of an input is over
)

// CountOf is the name under which the Merges of a state count the items of a Merge that
// has a number of Items.
func CountOf(merge string) string { return progress.CountOf(merge) }

// Merge puts several flows together, whose sources go through their epochs at the same
// pace. An input that fails is reported when the others have finished the epoch; they are
// not stopped before, if not asked to be.
func Merge[T any](flows []Flow[T], o MergeOpts) Flow[T] {
	n := &node{name: o.Name, kind: kindMerge, buffer: o.Buffer, ordered: true,
		detail: fmt.Sprintf("of %d, %v", len(flows), o.Order)}
	if o.Order != Arrival {
		n.counts = []string{""}
	}
	if o.Until == Shortest {
		n.detail += ", until the shortest ends"
	}
	if o.Items > 0 {
		n.detail += fmt.Sprintf(", until %d items", o.Items)
		n.counts = append(n.counts, CountOf(""))
	}
	n.remembers = o.Order == ByChoice
	if o.Order == Arrival {
		n.workers, n.ordered = len(flows), false
	}

	for _, f := range flows {
		n.ups = append(n.ups, f.node)
	}
	n.settle()
	o.mistakes(n, len(flows))

	return Flow[T]{node: n, drop: dropOf(flows), open: func(op *opening, below *stage) *queue.Ring[T] {
		st := op.newStage(n, below)
		m := newMergeStage[T](st, n.workers+n.buffer)
		m.feed(op, flows)
		m.until, m.failFast, m.without = o.Until, o.FailFast, o.Without

		if o.Order == Arrival {
			for _, in := range m.inputs {
				op.run(st, func(w *worker.Worker) { m.forward(w, in) })
			}
			return m.out
		}

		turns := func(name string) *progress.Children {
			return op.progress.AddTurns(name, op.config.Resume.Merges[name])
		}
		t := &scheduledMerge[T]{mergeStage: m, pick: o.schedule(len(flows)), custom: o.Order >= ByPick, choose: o.Choose, took: o.Took,
			finished: turns(n.key()), most: o.Items, epoch: op.firstEpoch()}
		if t.most > 0 {
			t.counted = turns(CountOf(n.key()))
		}
		if t.choose != nil {
			if t.log, t.wrong = chosenBefore(len(flows), op.config.Resume, n.key()); t.wrong == nil {
				t.finished.Keep(t.log)
			}
		}
		op.run(st, t.work)
		return m.out
	}}
}

func (o MergeOpts) mistakes(n *node, inputs int) {
	if inputs == 0 {
		n.mistake("it merges nothing")
	}
	if o.Order < Arrival || o.Order > ByChoice {
		n.mistake("Order is %d", int(o.Order))
	}
	if o.Until < Longest || o.Until > Shortest {
		n.mistake("Until is %d", int(o.Until))
	}
	if o.Items < 0 || o.Items > 0 && o.Order == Arrival {
		n.mistake("Items is %d: it must be 0, or a number of items with another order than Arrival", o.Items)
	}
	if (o.Pick != nil) != (o.Order == ByPick) {
		n.mistake("Pick is for ByPick, and ByPick needs one")
	}
	if (o.Choose != nil) != (o.Order == ByChoice) {
		n.mistake("Choose is for ByChoice, and ByChoice needs one")
	}

	if o.Order != ByWeight {
		if o.Weights != nil {
			n.mistake("Weights are for ByWeight")
		}
		return
	}

	if len(o.Weights) != inputs {
		n.mistake("%d Weights for %d inputs", len(o.Weights), inputs)
	}

	sum := 0.0
	for _, w := range o.Weights {
		if sum += w; !(w > 0) || math.IsInf(w, 0) {
			n.mistake("a weight of %v", w)
			return
		}
	}
	if math.IsInf(sum, 0) {
		n.mistake("Weights are %v: their sum is too large", o.Weights)
	}
}

// dropOf disposes of items of any of the flows: as the first that says how does.
func dropOf[T any](flows []Flow[T]) func(T) {
	for _, f := range flows {
		if f.drop != nil {
			return f.drop
		}
	}
	return nil
}

// A mergeStage is a running Merge: here by arrival, with a worker for each input. At the
// end of an epoch they wait for each other.
type mergeStage[T any] struct {
	*stage
	out      *queue.Ring[T]
	inputs   []*mergeInput[T]
	until    Until
	failFast bool
	without  func(input int, items int64) error

	mu      sync.Mutex
	turn    sync.Cond
	epoch   int                // of the output, counted from 0
	arrived int                // inputs whose epoch is over
	cut     bool               // the epoch is over although some inputs' are not
	last    bool               // no epoch follows
	failed  bool               // an input has ended the run
	broken  []queue.Message[T] // the ends of inputs that failed
	late    []queue.Message[T] // and of those that failed after the end of the epoch
	stopped bool
}

// A mergeInput is one of the merged flows.
type mergeInput[T any] struct {
	ring   *queue.Ring[T]
	feeder *stage // the stage that its items come from
	over   bool   // its epoch is over
	lost   int64  // items that did not come, since the last that did
	ended  bool   // nothing more comes
}

func newMergeStage[T any](s *stage, places int) *mergeStage[T] {
	m := &mergeStage[T]{stage: s, out: newQueue[T](s, places)}
	m.turn.L = &m.mu
	s.onHalt = m.stop
	return m
}

// feed opens the flows that the stage takes from.
func (m *mergeStage[T]) feed(op *opening, flows []Flow[T]) {
	for _, f := range flows {
		in := f.into(op, m.stage)
		if f.node.kind == kindSource {
			in.Lot = SourceBuffer / 4
		}
		m.inputs = append(m.inputs, &mergeInput[T]{ring: in, feeder: m.up[len(m.up)-1]})
	}
}

// forward is the life of one input's worker: it hands on what comes.
func (m *mergeStage[T]) forward(w *worker.Worker, in *mergeInput[T]) {
	var buf [1]queue.Message[T]
	for m.out.Reserve(w) {
		h := in.ring.Take(w, buf[:])
		if len(h.Msgs) == 0 {
			return
		}
		v := buf[0]
		buf[0] = queue.Message[T]{}

		if v.Kind == queue.Mark || v.Kind == queue.Fatal {
			if !m.arrive(w, in, v) {
				return
			}
			continue
		}

		m.mu.Lock()
		if v.Kind == queue.Item {
			w.In.Add(1)
		}

		if m.cut {
			if v.Kind == queue.Item && !m.failed {
				w.Skipped.Add(1)
			}
			m.mu.Unlock()
			in.ring.DiscardMsg(v)
			m.out.Release(1)
			continue
		}

		// The lock keeps the end of the epoch after this item.
		m.out.Put(&v, w.Last)
		m.mu.Unlock()

		if v.Kind == queue.Item {
			w.Out.Add(1)
		}
		w.TimeItem()
	}
}

// arrive notes that an input's epoch is over, and waits for the others. The last one ends
// the epoch. It reports whether the input goes on.
func (m *mergeStage[T]) arrive(w *worker.Worker, in *mergeInput[T], v queue.Message[T]) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	if v.Kind == queue.Fatal && m.failFast && !m.failed {
		m.failed, m.cut = true, true // what the others still bring is disposed of
		m.out.Put(&v, w.Last)
		m.turn.Broadcast()
		m.haltAbove()
		return false
	}

	if m.failed {
		m.out.Release(1)
		return false
	}

	epoch := m.epoch
	m.note(in, v)
	if m.until == Shortest && v.Kind == queue.Mark && !m.cut {
		m.cut = true
		m.hurry(epoch)
	}

	if m.arrived == len(m.inputs) {
		end := m.endEpoch()
		m.out.Put(&end, w.Last) // before the others go on
		m.turn.Broadcast()
		return end.Kind == queue.Mark && !in.ended
	}

	m.mu.Unlock()
	m.out.Release(1)
	m.mu.Lock()
	if in.ended {
		return false
	}

	w.BeforeWait(&w.Blocked)
	for m.epoch == epoch && !m.stopped && !m.failed {
		m.turn.Wait()
	}
	w.Tick(&w.Blocked)
	return !m.stopped && !m.failed
}

// note records the end of an input's epoch, or of the input. A failure that comes through
// several branches is one, and what ends because another has failed has none.
func (m *mergeStage[T]) note(in *mergeInput[T], v queue.Message[T]) {
	in.over = true
	m.arrived++
	m.last = m.last || v.Last
	in.ended = v.Last || v.Kind == queue.Fatal
	switch {
	case v.Failure == nil:
	case m.cut:
		m.late = append(m.late, v)
	case !slices.ContainsFunc(m.broken, func(b queue.Message[T]) bool {
		return b.Failure.From == v.Failure.From && b.Lineage.Range == v.Lineage.Range
	}):
		m.broken = append(m.broken, v)
	}
}

// endEpoch is the message after the last item of the epoch. Those inputs that failed are
// reported now.
func (m *mergeStage[T]) endEpoch() queue.Message[T] {
	if len(m.broken) > 0 {
		return queue.JoinFailures(m.broken)
	}
	m.broken, m.late = m.late, nil
	m.epoch++
	m.arrived, m.cut = 0, false
	for _, in := range m.inputs {
		if in.over = in.ended; in.over {
			m.arrived++
		}
	}
	return queue.Message[T]{Kind: queue.Mark, Last: m.last}
}

// hurry lets the sources of the inputs whose epoch is not over go on with the next one.
func (m *mergeStage[T]) hurry(epoch int) {
	for _, in := range m.inputs {
		if !in.over {
			in.feeder.skipTo(epoch + 1)
		}
	}
}

func (m *mergeStage[T]) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.turn.Broadcast()
}
