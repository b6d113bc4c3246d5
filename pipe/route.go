package pipe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"headrace/pipe/internal/progress"
)

// RouteOpts are the settings of a Route.
type RouteOpts struct {
	Name     string  // of the stage; required, and unique in its flow
	Buffer   int     // items kept ready before each branch, and behind them all; 0: DefaultBuffer, or DefaultBatchBuffer after a Batch
	Ordered  bool    // keep the order of the input: for branches of ordered stages that make one item of one
	Failures *Policy // of pick; nil: the run's
}

// Route gives every item to one of several branches, the one whose number pick says, and puts together again what comes out of them.
// pick only looks at its item: one that it drops, or for which it fails, is disposed of as Discard says.
// A branch is any number of stages on the flow that it is given: none, batches, other routes. A pick of a branch that is not
// there has failed for its item. Picking goes on one item at a time, and waits for a branch that is full.
//
// Where a branch fails, no more items are given out, and the others finish those that they have. In the order of the input
// the run ends at the item that failed.
func Route[In, Out any](in Flow[In], pick func(context.Context, In) (int, error), branches []func(Flow[In]) Flow[Out], o RouteOpts) Flow[Out] {
	d := newSplit(in, branches, kindRoute, o)
	if pick == nil {
		d.router.mistake("its function is nil")
	}
	return Flow[Out]{node: d.join, drop: dropOf(d.ends), open: func(op *opening, below *stage) *ring[Out] {
		r, m := d.open(op, below)
		pick := watched(r.stage, pick, func(In) {}, func(int) {})
		r.give = func(w *worker, v msg[In]) msg[In] { return r.giveOne(w, v, pick) }
		if o.Ordered {
			c := newChoices[int]()
			r.note = c.add
			j := &orderedJoin[Out]{mergeStage: m, choices: c}
			m.onHalt = c.stop
			op.run(m.stage, j.work)
			return m.out
		}
		for _, in := range m.inputs {
			op.run(m.stage, func(w *worker) { m.forward(w, in) })
		}
		return m.out
	}}
}

// Branches lists branches for a [Route] or a [RouteBatch], whose types need not be written.
func Branches[In, Out any](all ...func(Flow[In]) Flow[Out]) []func(Flow[In]) Flow[Out] { return all }

// AsIs is a branch that does nothing.
func AsIs[T any](f Flow[T]) Flow[T] { return f }

// Mapped is a branch that is one [Map].
func Mapped[In, Out any](f func(context.Context, In) (Out, error), o Opts) func(Flow[In]) Flow[Out] {
	return func(in Flow[In]) Flow[Out] { return Map(in, f, o) }
}

// joinSuffix is what the name of a join ends with, behind that of its router.
const joinSuffix = "/join"

// A division is the description of a router, its branches, and the join behind them.
type split[In, Out any] struct {
	in           Flow[In]
	router, join *node
	ends         []Flow[Out]
}

func newSplit[In, Out any](in Flow[In], branches []func(Flow[In]) Flow[Out], kind string, o RouteOpts) *split[In, Out] {
	router := &node{name: o.Name, kind: kind, buffer: o.Buffer, ordered: true, oneToOne: true, policy: o.Failures, detail: fmt.Sprintf("to %d", len(branches)), ups: []*node{in.node}}
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
		if bad := end.node.breaksOrder(fmt.Sprintf("%s/%d", o.Name, i)); o.Ordered && bad != nil {
			router.mistake("branch %d cannot keep the order: stage %s %s", i, bad.label(), bad.disorder())
		}
		if o.Ordered {
			end.node.keepOrder(fmt.Sprintf("%s/%d", o.Name, i))
		}
	}

	// Only now it is known whether the join has batches, for which the queue is shorter.
	join.buffer = o.Buffer
	join.settleBuffer()
	return d
}

// open prepares the stages for a run, and the router's worker.
func (d *split[In, Out]) open(op *opening, below *stage) (*routeStage[In], *mergeStage[Out]) {
	st := op.newStage(d.join, below)
	r := &routeStage[In]{branches: make([]*ring[In], len(d.ends))}
	op.routes[d.router] = r
	m := newMergeStage[Out](st, d.join.workers+d.join.buffer)
	op.whole++
	for _, end := range d.ends {
		m.inputs = append(m.inputs, &mergeInput[Out]{ring: end.into(op, st)})
	}
	op.whole--
	r.open(op, d.router)
	r.in = d.in.into(op, r.stage)
	op.run(r.stage, r.work)
	return r, m
}

// joined is one branch, up to its end.
func joined[In, Out any](router *node, i int, drop func(In), branch func(Flow[In]) Flow[Out]) (end Flow[Out], mistakes []error) {
	n := &node{name: fmt.Sprintf("%s/%d", router.name, i), kind: kindBranch, workers: 1, buffer: router.buffer, ordered: true, oneToOne: true, policy: router.policy, at: router.at, large: router.large, ups: []*node{router}}
	if branch == nil {
		return end, []error{router.wrong("branch %d is nil", i)}
	}
	end = branch(Flow[In]{node: n, drop: drop, open: func(op *opening, below *stage) *ring[In] {
		st := op.newStage(n, below)
		out := newRing[In](st, n.buffer)
		out.budget = nil // the router judges
		op.routes[router].(*routeStage[In]).branches[i] = out
		return out
	}})
	if all := end.node.walk(); !slices.Contains(all, n) {
		mistakes = append(mistakes, router.wrong("branch %d does not use its flow", i))
	}
	return end, mistakes
}

// breaksOrder is the first stage between here and a branch's beginning that may not make exactly one item of each, in order.
func (n *node) breaksOrder(branch string) *node {
	if n == nil || n.kind == kindBranch && n.name == branch {
		return nil
	}
	if !n.oneToOne || !n.ordered && n.several() {
		return n
	}
	for _, up := range n.ups {
		if bad := up.breaksOrder(branch); bad != nil {
			return bad
		}
	}
	return nil
}

// disorder says why a stage breaks the order.
func (n *node) disorder() string {
	if n.oneToOne {
		return fmt.Sprintf("has %d workers, and is not Ordered", n.workers)
	}
	return "may not make one item of each"
}

// keepOrder makes the stages between here and a branch's beginning keep the order, those with one worker too: they may be given more.
func (n *node) keepOrder(branch string) {
	if n == nil || n.kind == kindBranch && n.name == branch {
		return
	}
	if n.kind == kindMap || n.kind == kindFilter {
		n.ordered = true
	}
	for _, up := range n.ups {
		up.keepOrder(branch)
	}
}

// A routeStage is a running router. It has no queue of its own: each branch has one.
type routeStage[In any] struct {
	*stage
	in       *ring[In]
	branches []*ring[In]
	give     func(*worker, msg[In]) msg[In] // gives an item out; what it returns is to be sent besides, unless that is nothing
	note     func(branch int)               // tells the join what is sent where; nil where no order is kept
	budget   *lossCounter
	at       int // the branch that was picked last: what is no item goes there
}

func (r *routeStage[In]) open(op *opening, n *node) {
	r.stage = op.newStage(n, r.branches[0].owner)
	for _, b := range r.branches[1:] {
		b.owner.up = append(b.owner.up, r.stage)
		r.rank = max(r.rank, b.owner.rank+1)
		r.keepMembers = r.keepMembers || b.owner.keepMembers || b.owner.makes
	}
	r.queue = noQueue{}
	r.budget = r.newBudget()
}

// noQueue is the queue of a stage that has none.
type noQueue struct{}

func (noQueue) abort()            {}
func (noQueue) drain()            {}
func (noQueue) stats() QueueStats { return QueueStats{} }

// work is the life of the router's worker.
func (r *routeStage[In]) work(w *worker) {
	var buf [1]msg[In]
	for {
		h := r.in.take(w, buf[:])
		if len(h.msgs) == 0 {
			r.broadcast(w, msg[In]{kind: fatal}) // the branches finish what they have
			return
		}
		m := buf[0]
		buf[0] = msg[In]{}
		if m.kind == item {
			w.in.Add(1)
			w.takes(&m.lineage, h.segment.epoch)
			if w.tracer != nil {
				w.tracer.begin(m.val, &m.lineage, h.segment.epoch)
			}
			m = r.give(w, m)
		}
		if !r.handOn(w, m) {
			return
		}
	}
}

// handOn sends what is no item of a branch. It reports whether the stage goes on.
func (r *routeStage[In]) handOn(w *worker, m msg[In]) bool {
	switch m.kind {
	case none:
	case mark:
		if r.budget != nil {
			r.budget.reset()
		}
		r.broadcast(w, m)
		return !m.last
	case fatal:
		r.haltAbove()
		r.broadcast(w, m)
		return false
	default:
		r.send(w, r.at, m)
	}
	return true
}

// giveOne gives an item to the branch that is picked.
func (r *routeStage[In]) giveOne(w *worker, m msg[In], pick func(context.Context, In) (int, error)) msg[In] {
	to, err := picked(r, w, &m, m.val, pick)
	if err != nil {
		return r.unpicked(w, &m, err)
	}
	w.timeOp(true)
	if end, over := r.passed(w); over {
		r.in.discard(m.val)
		return end
	}
	r.at = to
	r.send(w, to, m)
	return msg[In]{}
}

// picked is the branch of v, which is of a message, and is disposed of with it where that fails.
func picked[M, In any](r *routeStage[M], w *worker, m *msg[M], v In, pick func(context.Context, In) (int, error)) (to int, err error) {
	choose := func() (err error) { to, err = pick(w.ctx, v); return err }
	if err = w.attempt(choose, func(err error) { r.handOn(w, r.unpicked(w, m, err)) }); err == nil {
		err = r.there(to)
	}
	return to, err
}

// unpicked disposes of an item for which no branch was picked, and tells what becomes of it.
func (r *routeStage[In]) unpicked(w *worker, m *msg[In], err error) msg[In] {
	w.failed(err)
	w.timeOp(true)
	r.in.discard(m.val)
	return r.refuse(w, m.lineage, err)
}

// there is an error for a branch that is not there.
func (r *routeStage[In]) there(branch int) error {
	if branch < 0 || branch >= len(r.branches) {
		return &BranchError{Route: r.name, Branch: branch, Branches: len(r.branches)}
	}
	return nil
}

// passed counts an item that went well. over is true when the losses before are too many now.
func (r *routeStage[In]) passed(w *worker) (end msg[In], over bool) {
	if r.budget != nil && !r.budget.pass(1) {
		return msg[In]{kind: fatal, lineage: r.budget.last, failure: r.budget.exceeded()}, true
	}
	w.out.Add(1)
	return end, false
}

// refuse is what becomes of an item that goes to no branch.
func (r *routeStage[In]) refuse(w *worker, t progress.Lineage, err error) msg[In] {
	out := msg[In]{kind: gone, lineage: t}
	if errors.Is(err, Skip) {
		w.skipped.Add(1)
		return out
	}
	out.failure = &failure{stage: r.stage, err: err, counted: r.budget != nil, stops: untolerable(err)}
	switch {
	case r.raises || out.failure.stops:
		out.kind = fatal
	case r.budget != nil && !r.budget.lose(1, 1, t, out.failure):
		out.kind, out.failure = fatal, r.budget.exceeded()
	}
	return out
}

func (r *routeStage[In]) send(w *worker, to int, m msg[In]) {
	b := r.branches[to]
	if !b.reserve(w) {
		b.discardMsg(m)
		return
	}
	if r.note != nil {
		r.note(to)
	}
	b.put(&m, w.last)
}

// broadcast sends an end to all branches.
func (r *routeStage[In]) broadcast(w *worker, m msg[In]) {
	for _, b := range r.branches {
		if b.reserve(w) {
			b.put(&m, w.last)
		}
	}
	if r.note != nil {
		r.note(allBranches)
	}
}

// A BranchError is the failure of an item for which a Route picked a branch that is not there.
type BranchError struct {
	Route    string
	Branch   int
	Branches int // how many there are
}

func (e *BranchError) Error() string {
	return fmt.Sprintf("route %s: branch %d of %d was picked", e.Route, e.Branch, e.Branches)
}
