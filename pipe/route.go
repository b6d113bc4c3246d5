package pipe

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// RouteOpts are the settings of a Route.
type RouteOpts struct {
	Name     string  // of the stage; required, and unique in its flow
	Buffer   int     // items kept ready before each branch, and behind them all; 0: DefaultBuffer
	Ordered  bool    // keep the order of the input: for branches of ordered stages that make one item of one
	Failures *Policy // of pick; nil: the run's
}

// Route gives every item to one of several branches, the one whose number pick says, and puts together again what comes out of them.
// A branch is any number of stages on the flow that it is given: none, batches, other routes. A pick of a branch that is not
// there has failed for its item. Picking goes on one item at a time, and waits for a branch that is full.
//
// Where a branch fails, no more items are given out, and the others finish those that they have. In the order of the input
// the run ends at the item that failed.
func Route[In, Out any](in Flow[In], pick func(context.Context, In) (int, error), branches []func(Flow[In]) Flow[Out], o RouteOpts) Flow[Out] {
	router := &node{name: o.Name, kind: kindRoute, buffer: o.Buffer, ordered: true, strict: true, policy: o.Failures, detail: fmt.Sprintf("to %d", len(branches)), ups: []*node{in.node}}
	router.settle()
	join := &node{name: o.Name + "/join", kind: kindJoin, buffer: o.Buffer, ordered: o.Ordered, strict: o.Ordered}
	if !o.Ordered {
		join.workers = len(branches)
	}
	join.settle()
	if pick == nil {
		router.mistake("its function is nil")
	}
	if len(branches) == 0 {
		join.mistakes = append(join.mistakes, router.wrong("it has no branches"))
	}
	ends := make([]Flow[Out], len(branches))
	for i, branch := range branches {
		end, mistakes := joined(router, i, in.drop, branch)
		ends[i], join.mistakes = end, append(join.mistakes, mistakes...)
		join.ups = append(join.ups, ends[i].node)
	}
	for i, end := range ends {
		if bad := end.node.breaksOrder(fmt.Sprintf("%s/%d", o.Name, i)); o.Ordered && bad != nil {
			router.mistake("branch %d cannot keep the order: stage %s may not make one item of each, in order", i, bad.label())
		}
	}
	return Flow[Out]{node: join, drop: dropOf(ends), open: func(op *opening, below *stage) *ring[Out] {
		st := op.newStage(join, below)
		r := &routeStage[In]{pick: pick, branches: make([]*ring[In], len(branches))}
		op.routes[router] = r
		m := newMergeStage[Out](st, join.workers+join.buffer)
		for _, end := range ends {
			m.inputs = append(m.inputs, &mergeInput[Out]{ring: end.into(op, st)})
		}
		r.open(op, router)
		r.in = in.into(op, r.stage)
		op.run(r.stage, r.work)
		if o.Ordered {
			r.choices = newChoices()
			j := &orderedJoin[Out]{mergeStage: m, choices: r.choices}
			st.onHalt = r.choices.stop
			op.run(st, j.work)
			return m.out
		}
		for _, in := range m.inputs {
			op.run(st, func(w *worker) { m.forward(w, in) })
		}
		return m.out
	}}
}

// joined is one branch, up to its end.
func joined[In, Out any](router *node, i int, drop func(In), branch func(Flow[In]) Flow[Out]) (end Flow[Out], mistakes []error) {
	n := &node{name: fmt.Sprintf("%s/%d", router.name, i), kind: kindBranch, workers: 1, buffer: router.buffer, ordered: true, strict: true, policy: router.policy, at: router.at, ups: []*node{router}}
	if branch == nil {
		return end, []error{router.wrong("branch %d is nil", i)}
	}
	end = branch(Flow[In]{node: n, drop: drop, open: func(op *opening, below *stage) *ring[In] {
		st := op.newStage(n, below)
		out := newRing[In](st, n.buffer)
		out.judge = nil // the router judges
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
	if !n.strict || !n.ordered && n.workers > 1 {
		return n
	}
	for _, up := range n.ups {
		if bad := up.breaksOrder(branch); bad != nil {
			return bad
		}
	}
	return nil
}

// A routeStage is a running router. It has no queue of its own: each branch has one.
type routeStage[In any] struct {
	*stage
	in       *ring[In]
	pick     func(context.Context, In) (int, error)
	branches []*ring[In]
	choices  *choices // nil where no order is kept
	judge    *tally
	at       int // the branch that was picked last: what is no item goes there
}

func (r *routeStage[In]) open(op *opening, n *node) {
	r.stage = op.newStage(n, r.branches[0].owner)
	for _, b := range r.branches[1:] {
		b.owner.up = append(b.owner.up, r.stage)
		r.rank = max(r.rank, b.owner.rank+1)
	}
	r.queue = noQueue{}
	if n.policy != nil && n.policy.Skip {
		r.judge = &tally{policy: *n.policy}
	}
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
		to := r.at
		if m.kind == item {
			w.in.Add(1)
			to, m = r.choose(w, m)
			w.timeOp(true)
		}
		switch m.kind {
		case mark:
			if r.judge != nil {
				r.judge.reset()
			}
			r.broadcast(w, m)
			if m.last {
				return
			}
		case fatal:
			r.haltAbove()
			r.broadcast(w, m)
			return
		default:
			r.send(w, to, m)
		}
	}
}

// choose is what becomes of an item, and in which branch.
func (r *routeStage[In]) choose(w *worker, m msg[In]) (to int, _ msg[In]) {
	to, err := call(w.ctx, r.pick, m.val)
	if err == nil && (to < 0 || to >= len(r.branches)) {
		err = &BranchError{Route: r.name, Branch: to, Branches: len(r.branches)}
	}
	if err == nil {
		w.out.Add(1)
		if r.judge != nil && !r.judge.pass(1) {
			r.in.discard(m.val)
			return r.at, msg[In]{kind: fatal, ticket: r.judge.last, news: r.judge.verdict()}
		}
		r.at = to
		return to, m
	}
	r.in.discard(m.val)
	out := msg[In]{kind: gone, ticket: m.ticket}
	if errors.Is(err, Skip) {
		w.skipped.Add(1)
		return r.at, out
	}
	out.news = &news{stage: r.stage, err: err, final: r.judge != nil}
	switch {
	case r.raises:
		out.kind = fatal
	case r.judge != nil && !r.judge.lose(1, 1, m.ticket, out.news):
		out.kind, out.news = fatal, r.judge.verdict()
	}
	return r.at, out
}

func (r *routeStage[In]) send(w *worker, to int, m msg[In]) {
	b := r.branches[to]
	if !b.reserve(w) {
		b.discardMsg(m)
		return
	}
	if r.choices != nil {
		r.choices.add(to)
	}
	b.put(m, w.last)
}

// broadcast sends an end to all branches.
func (r *routeStage[In]) broadcast(w *worker, m msg[In]) {
	for _, b := range r.branches {
		if b.reserve(w) {
			b.put(m, w.last)
		}
	}
	if r.choices != nil {
		r.choices.add(allBranches)
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
