package pipe

import (
	"context"
	"errors"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// RouteBatchOpts are the settings of a RouteBatch.
type RouteBatchOpts struct {
	Name     string  // of the stage; required, and unique in its flow
	Buffer   int     // batches kept ready before each branch, and after them all; 0: DefaultBatchBuffer
	Failures *Policy // of pick; nil: the run's
}

// RouteBatch divides every batch among branches, element by element as pick says, and
// puts together again what comes out of them: each batch of its own parts, in the order
// of the branches, and the batches in the order of the input. Branches work on different
// batches at once; all their stages have to make one item of each, in order. A branch of
// which a batch has no element is not asked.
//
// An element for which pick returns Skip is dropped, and a part that a branch drops is
// left out; a batch of which nothing is left is dropped. A part that is lost takes its
// batch with it: a batch comes with all of its parts or not at all. Discard disposes of
// parts as it does of batches.
func RouteBatch[In, Out any](in Flow[[]In], pick func(context.Context, In) (int, error),
	branches []func(Flow[[]In]) Flow[[]Out], o RouteBatchOpts) Flow[[]Out] {
	d := newSplit(in, branches, kindDivide, RouteOpts{Name: o.Name, Buffer: o.Buffer, Ordered: true, Failures: o.Failures})
	if pick == nil {
		d.router.mistake("its function is nil")
	}
	return Flow[[]Out]{node: d.join, drop: dropOf(d.ends), open: func(op *opening, below *stage) *queue.Ring[[]Out] {
		r, m := d.open(op, below)
		sets := newChoices[branchSet]()
		r.note = func(branch int) { sets.add(branchSet{through: branch}) }
		pick := watched(r.stage, pick, func(In) {}, func(int) {})
		r.give = func(w *worker.Worker, v queue.Message[[]In]) queue.Message[[]In] {
			return giveParts(r, w, v, pick, sets)
		}
		m.onHalt = sets.stop
		j := &batchJoin[Out]{mergeStage: m, sets: sets}
		op.run(m.stage, j.work)
		return m.out
	}}
}

// A branchSet is what the router tells the join about a message.
type branchSet struct {
	split   bool
	parts   []int                // the branches that a batch was divided among
	lineage progress.Lineage     // of that batch
	members [][]progress.Lineage // and what the parts are made of; nil: nobody needs to know, or can
	through int                  // where it went as it was, or allBranches
}

// giveParts divides a batch.
func giveParts[In any](r *routeStage[[]In], w *worker.Worker, m queue.Message[[]In],
	pick func(context.Context, In) (int, error), sets *choices[branchSet]) queue.Message[[]In] {
	parts, dropped, members, err := splitBatch(r, w, &m, pick)
	if err != nil {
		return r.unpicked(w, &m, err)
	}

	w.TimeOp(true)
	if end, over := r.passed(w); over {
		r.in.Discard(m.Val)
		return end
	}
	if len(dropped) > 0 {
		r.in.Discard(dropped)
	}

	set := branchSet{split: true, lineage: m.Lineage}
	for to, part := range parts {
		if len(part) > 0 {
			set.parts = append(set.parts, to)
			if members != nil {
				set.members = append(set.members, members[to])
			}
		}
	}

	if set.parts == nil && len(m.Val) > 0 {
		w.Skipped.Add(1)
		return queue.Message[[]In]{Kind: queue.Gone, Lineage: m.Lineage}
	}

	sets.add(set)
	for _, to := range set.parts {
		b := r.branches[to]
		part := queue.Message[[]In]{Kind: queue.Item, Val: parts[to], Lineage: m.Lineage}
		if b.Reserve(w) {
			b.Put(&part, w.Last)
		} else {
			b.DiscardMsg(part)
		}
	}
	return queue.Message[[]In]{}
}

// splitBatch picks a branch for every element, or drops it. The batch is left as it is.
func splitBatch[In any](r *routeStage[[]In], w *worker.Worker, m *queue.Message[[]In],
	pick func(context.Context, In) (int, error)) (parts [][]In, dropped []In, members [][]progress.Lineage, err error) {
	batch := m.Val
	to := make([]int, len(batch))
	sizes := make([]int, len(r.branches))

	for i, v := range batch {
		to[i], err = picked(r, w, m, v, pick)
		if errors.Is(err, failure.Skip) {
			to[i] = -1
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		sizes[to[i]]++
	}

	parts = make([][]In, len(r.branches))
	for i, n := range sizes {
		parts[i] = make([]In, 0, n)
	}
	for i, v := range batch {
		if to[i] < 0 {
			dropped = append(dropped, v)
			continue
		}
		parts[to[i]] = append(parts[to[i]], v)
	}

	if r.keepMembers && int64(len(batch)) == m.Lineage.Count() {
		members = make([][]progress.Lineage, len(r.branches))
		i := 0
		m.Lineage.All(func(t *progress.Lineage) {
			if at := to[i]; at >= 0 {
				members[at] = append(members[at], *t)
			}
			i++
		})
	}
	return parts, dropped, members, nil
}
