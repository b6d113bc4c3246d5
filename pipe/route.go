package pipe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// RouteOpts are the settings of a Route.
type RouteOpts struct {
	Name     string  // of the stage; required, and unique in its flow
	Buffer   int     // items kept ready before each branch, and after them all; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	Ordered  bool    // keep the order of the input: for branches of ordered stages; a Batch, a Fill or a Merge in a branch has none
	Failures *Policy // of pick; nil: the run's
}

// Route gives every item to one of several branches, the one whose number pick says, and
// puts together again what comes out of them. pick only looks at its item: one that it
// drops, or for which it fails, is disposed of as Discard says. A branch is any number of
// stages on the flow that it is given: none, batches, other routes. A pick of a branch
// that is not there has failed for its item. Picking goes on one item at a time, and
// waits for a branch that is full.
//
// In order, an output of a branch takes the place of the item for which it was made: the
// outputs of a FlatMap that of their item, and an output of an Aggregate that of the item
// for which it was emitted. Flushed outputs come at the end of the epoch, branch by
// branch.
//
// Where a branch fails, no more items are given out, and the others finish those that
// they have. In the order of the input the run ends at the item that failed.
func Route[In, Out any](in Flow[In], pick func(context.Context, In) (int, error), branches []func(Flow[In]) Flow[Out],
	o RouteOpts) Flow[Out] {
	d := newSplit(in, branches, kindRoute, o)
	if pick == nil {
		d.router.mistake("its function is nil")
	}
	return Flow[Out]{node: d.join, drop: dropOf(d.ends), open: func(op *opening, below *stage) *queue.Ring[Out] {
		r, m := d.open(op, below)
		pick := watched(r.stage, pick, func(In) {}, func(int) {})
		r.give = func(w *worker.Worker, v queue.Message[In]) queue.Message[In] { return r.giveOne(w, v, pick) }
		if o.Ordered {
			c := newChoices[int]()
			r.note = c.add
			j := &orderedJoin[Out]{mergeStage: m, choices: c, turns: r.turns, at: none, ending: none}
			m.onHalt = c.stop
			op.run(m.stage, j.work)
			return m.out
		}
		for _, in := range m.inputs {
			op.run(m.stage, func(w *worker.Worker) { m.forward(w, in) })
		}
		return m.out
	}}
}

// Branches lists branches for a [Route] or a [RouteBatch], whose types need not be
// written.
func Branches[In, Out any](all ...func(Flow[In]) Flow[Out]) []func(Flow[In]) Flow[Out] { return all }

// AsIs is a branch that does nothing.
func AsIs[T any](f Flow[T]) Flow[T] { return f }

// Mapped is a branch that is one [Map].
func Mapped[In, Out any](f func(context.Context, In) (Out, error), o Opts) func(Flow[In]) Flow[Out] {
	return func(in Flow[In]) Flow[Out] { return Map(in, f, o) }
}

// A division is the description of a router, its branches, and the join after them.
type split[In, Out any] struct {
	in           Flow[In]
	router, join *node
	ends         []Flow[Out]
}

func newSplit[In, Out any](in Flow[In], branches []func(Flow[In]) Flow[Out], kind string, o RouteOpts) *split[In, Out] {
	router := &node{name: o.Name, kind: kind, buffer: o.Buffer, ordered: true, oneToOne: true,
		policy: o.Failures, detail: fmt.Sprintf("to %d", len(branches)), ups: []*node{in.node}}
	router.settle()

	join := &node{name: o.Name + joinSuffix, kind: kindJoin, buffer: o.Buffer, ordered: o.Ordered, oneToOne: o.Ordered}
	if !o.Ordered {
		join.workers = len(branches)
	}
	join.settle()

	if len(branches) == 0 {
		join.mistakes = append(join.mistakes, router.wrong("it has no branches"))
	}

	d := &split[In, Out]{in: in, router: router, join: join}
	for i, branch := range branches {
		end, mistakes := joined(router, i, in.drop, branch)
		d.ends, join.mistakes = append(d.ends, end), append(join.mistakes, mistakes...)
		join.ups = append(join.ups, end.node)
		if !o.Ordered {
			continue
		}
		begins := fmt.Sprintf("%s/%d", o.Name, i)
		if bad := end.node.breaksOrder(begins, kind == kindRoute); bad != nil {
			router.mistake("branch %d cannot keep the order: stage %s %s", i, bad.label(), bad.disorder())
		}
		end.node.keepOrder(begins)
		join.oneToOne = join.oneToOne && end.node.breaksOrder(begins, false) == nil
	}

	// Only now it is known whether the join has batches, for which the queue is shorter.
	join.buffer = o.Buffer
	join.settleBuffer()
	return d
}

// open prepares the stages for a run, and the router's worker.
func (d *split[In, Out]) open(op *opening, below *stage) (*routeStage[In], *mergeStage[Out]) {
	st := op.newStage(d.join, below)
	r := &routeStage[In]{branches: make([]*queue.Ring[In], len(d.ends)), begins: make([]*stage, len(d.ends))}
	op.routes[d.router] = r
	if d.join.ordered && !d.join.oneToOne {
		r.turns = int32(len(op.routes))
	}
	m := newMergeStage[Out](st, d.join.workers+d.join.buffer)
	op.whole++
	m.feed(op, d.ends)
	op.whole--
	r.open(op, d.router)
	r.in = d.in.into(op, r.stage)
	op.run(r.stage, r.work)
	return r, m
}

// joined is one branch, up to its end.
func joined[In, Out any](router *node, i int, drop func(In), branch func(Flow[In]) Flow[Out]) (end Flow[Out], mistakes []error) {
	n := &node{name: fmt.Sprintf("%s/%d", router.name, i), kind: kindBranch, workers: 1, buffer: router.buffer,
		ordered: true, oneToOne: true, policy: router.policy, at: router.at, large: router.large, ups: []*node{router}}
	if branch == nil {
		return end, []error{router.wrong("branch %d is nil", i)}
	}
	end = branch(Flow[In]{node: n, drop: drop, open: func(op *opening, below *stage) *queue.Ring[In] {
		st := op.newStage(n, below)
		out := newQueue[In](st, n.buffer)
		out.Budget = nil // the router judges
		r := op.routes[router].(*routeStage[In])
		r.branches[i], r.begins[i] = out, st
		return out
	}})
	if all := end.node.walk(); !slices.Contains(all, n) {
		mistakes = append(mistakes, router.wrong("branch %d does not use its flow", i))
	}
	return end, mistakes
}

// breaksOrder is the first stage between here and a branch's beginning that does not make
// items in the order of its input, and exactly one of each, unless turns tell which
// belong together.
func (n *node) breaksOrder(branch string, turns bool) *node {
	if n == nil || n.kind == kindBranch && n.name == branch {
		return nil
	}
	switch {
	case !n.ordered && n.several():
		return n
	case !n.oneToOne && (!turns || !n.handsOnTurns()):
		return n
	}
	for _, up := range n.ups {
		if bad := up.breaksOrder(branch, turns); bad != nil {
			return bad
		}
	}
	return nil
}

// handsOnTurns tells whether a stage that may not make one item of each hands on turns
// after its outputs.
func (n *node) handsOnTurns() bool {
	switch n.kind {
	case kindFlatMap, kindUnbatch, kindAggregate:
		return true
	}
	return n.kind == kindJoin && n.ordered
}

// disorder says why a stage breaks the order.
func (n *node) disorder() string {
	if !n.ordered && n.several() && n.kind != kindJoin {
		return fmt.Sprintf("has %d workers, and is not Ordered", n.workers)
	}
	return "may not make one item of each"
}

// keepOrder makes the stages between here and a branch's beginning keep the order, those
// with one worker too: they may be given more.
func (n *node) keepOrder(branch string) {
	if n == nil || n.kind == kindBranch && n.name == branch {
		return
	}
	switch n.kind {
	case kindMap, kindFilter, kindFlatMap, kindUnbatch:
		n.ordered = true
	}
	for _, up := range n.ups {
		up.keepOrder(branch)
	}
}

// A routeStage is a running router. It has no queue of its own: each branch has one.
type routeStage[In any] struct {
	*stage
	in       *queue.Ring[In]
	branches []*queue.Ring[In]
	begins   []*stage // those that own them
	// gives an item out; what it returns is to be sent besides, unless that is nothing
	give   func(*worker.Worker, queue.Message[In]) queue.Message[In]
	note   func(branch int) // tells the join what is sent where; nil where no order is kept
	budget *failure.Counter
	at     int   // the branch that was picked last: what is no item goes there
	turns  int32 // its number, where a turn follows each message that goes into a branch; 0: none does
}

func (r *routeStage[In]) open(op *opening, n *node) {
	r.stage = op.newStage(n, r.begins[0])
	for _, b := range r.begins[1:] {
		b.up = append(b.up, r.stage)
		r.Rank = max(r.Rank, b.Rank+1)
		r.keepMembers = r.keepMembers || b.keepMembers || b.makes
	}
	r.queue = noQueue{}
	r.budget = r.newBudget()
}

// noQueue is the queue of a stage that has none.
type noQueue struct{}

func (noQueue) Abort()            {}
func (noQueue) Drain()            {}
func (noQueue) Stats() QueueStats { return QueueStats{} }

// work is the life of the router's worker.
func (r *routeStage[In]) work(w *worker.Worker) {
	var buf [1]queue.Message[In]
	for {
		h := r.in.Take(w, buf[:])
		if len(h.Msgs) == 0 {
			r.broadcast(w, queue.Message[In]{Kind: queue.Fatal}) // the branches finish what they have
			return
		}
		m := buf[0]
		buf[0] = queue.Message[In]{}
		if m.Kind == queue.Item {
			w.In.Add(1)
			w.BeginItem(&m.Lineage, h.Segment.Epoch)
			if w.Tracer != nil {
				w.Tracer.Begin(m.Val, &m.Lineage, h.Segment.Epoch)
			}
			m = r.give(w, m)
		}
		if !r.handOn(w, m) {
			return
		}
	}
}

// handOn sends what is no item of a branch. It reports whether the stage goes on.
func (r *routeStage[In]) handOn(w *worker.Worker, m queue.Message[In]) bool {
	switch m.Kind {
	case queue.None:
	case queue.Mark:
		if r.budget != nil {
			r.budget.Reset()
		}
		r.broadcast(w, m)
		return !m.Last
	case queue.Fatal:
		r.haltAbove()
		r.broadcast(w, m)
		return false
	default:
		r.send(w, r.at, m)
	}
	return true
}

// giveOne gives an item to the branch that is picked.
func (r *routeStage[In]) giveOne(w *worker.Worker, m queue.Message[In], pick func(context.Context, In) (int, error)) queue.Message[In] {
	to, err := picked(r, w, &m, m.Val, pick)
	if err != nil {
		return r.unpicked(w, &m, err)
	}
	w.TimeOp(true)
	if end, over := r.passed(w); over {
		r.in.Discard(m.Val)
		return end
	}
	r.at = to
	r.send(w, to, m)
	return queue.Message[In]{}
}

// picked is the branch of v, which is of a message, and is disposed of with it where that
// fails.
func picked[M, In any](r *routeStage[M], w *worker.Worker, m *queue.Message[M], v In,
	pick func(context.Context, In) (int, error)) (to int, err error) {
	choose := func() (err error) { to, err = pick(w.Ctx, v); return err }
	if err = w.Attempt(choose, func(err error) { r.handOn(w, r.unpicked(w, m, err)) }); err == nil {
		err = r.there(to)
	}
	return to, err
}

// unpicked disposes of an item for which no branch was picked, and tells what becomes of
// it.
func (r *routeStage[In]) unpicked(w *worker.Worker, m *queue.Message[In], err error) queue.Message[In] {
	w.NoteError(err)
	w.TimeOp(true)
	r.in.Discard(m.Val)
	return r.refuse(w, m.Lineage, err)
}

// there is an error for a branch that is not there.
func (r *routeStage[In]) there(branch int) error {
	if branch < 0 || branch >= len(r.branches) {
		return &BranchError{Route: r.name, Branch: branch, Branches: len(r.branches)}
	}
	return nil
}

// passed counts an item that went well. over is true when the losses before are too many
// now.
func (r *routeStage[In]) passed(w *worker.Worker) (end queue.Message[In], over bool) {
	if r.budget != nil && !r.budget.Pass(1) {
		return queue.Message[In]{Kind: queue.Fatal, Lineage: r.budget.Last, Failure: r.budget.Exceeded()}, true
	}
	w.Out.Add(1)
	return end, false
}

// refuse is what becomes of an item that goes to no branch.
func (r *routeStage[In]) refuse(w *worker.Worker, t progress.Lineage, err error) queue.Message[In] {
	out := queue.Message[In]{Kind: queue.Gone, Lineage: t}
	if errors.Is(err, failure.Skip) {
		w.Skipped.Add(1)
		return out
	}
	out.Failure = r.NewFailure(err)
	out.Failure.Counted = r.budget != nil
	switch {
	case r.raises || out.Failure.Stops:
		out.Kind = queue.Fatal
	case r.budget != nil && !r.budget.Lose(1, 1, t, out.Failure):
		out.Kind, out.Failure = queue.Fatal, r.budget.Exceeded()
	}
	return out
}

func (r *routeStage[In]) send(w *worker.Worker, to int, m queue.Message[In]) {
	b := r.branches[to]
	if !b.Reserve(w) {
		b.DiscardMsg(m)
		return
	}
	if r.note != nil {
		r.note(to)
	}
	b.Put(&m, w.Last)
	if r.turns > 0 && b.Reserve(w) {
		b.Put(&queue.Message[In]{Kind: queue.Turn, Turn: r.turns}, w.Last)
	}
}

// broadcast sends an end to all branches.
func (r *routeStage[In]) broadcast(w *worker.Worker, m queue.Message[In]) {
	for _, b := range r.branches {
		if b.Reserve(w) {
			b.Put(&m, w.Last)
		}
	}
	if r.note != nil {
		r.note(allBranches)
	}
}

// A BranchError is the failure of an item for which a Route picked a branch that is not
// there.
type BranchError struct {
	Route    string
	Branch   int
	Branches int // how many there are
}

func (e *BranchError) Error() string {
	return fmt.Sprintf("route %s: branch %d of %d was picked", e.Route, e.Branch, e.Branches)
}
