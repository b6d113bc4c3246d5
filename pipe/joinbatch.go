package pipe

import (
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A batchJoin puts batches together again. It knows which branches have a part of the
// next batch, and every part that goes into a branch comes out of it as one message, also
// one that is dropped or lost: so nothing can slip into another batch.
type batchJoin[T any] struct {
	*mergeStage[[]T]
	sets *choices[branchSet]
}

func (j *batchJoin[T]) work(w *worker.Worker) { j.join(w, j.next) }

func (j *batchJoin[T]) next(w *worker.Worker) (m queue.Message[[]T], ok bool) {
	set, ok := j.sets.take(w)
	if !ok {
		return m, false
	}
	switch {
	case set.split:
		w.In.Add(1)
		return j.gather(w, set)
	case set.through == allBranches:
		return j.takeEnd(w)
	}
	return j.take(w, j.inputs[set.through])
}

// A part is what a branch has made of its part of a batch.
type part[T any] struct {
	from *mergeInput[[]T]
	val  []T
}

// gather is what becomes of a batch: it is whole, or lost, or the end.
func (j *batchJoin[T]) gather(w *worker.Worker, set branchSet) (whole queue.Message[[]T], ok bool) {
	var parts []part[T]
	var members []progress.Lineage

	for i, branch := range set.parts {
		in := j.inputs[branch]
		m, ok := j.take(w, in)
		switch {
		case !ok || m.Kind == queue.Fatal:
			discardParts(parts)
			return m, ok
		case m.Kind == queue.Item:
			parts = append(parts, part[T]{in, m.Val})
			if set.members != nil && len(m.Val) != len(set.members[i]) {
				set.members = nil // who is who, nobody knows
			}
			if set.members != nil {
				members = append(members, set.members[i]...)
			}
		case m.Failure != nil && whole.Failure == nil:
			whole.Failure = m.Failure
		case m.Failure != nil:
			m.Failure.From.Lost.Add(1) // with the batch, which is lost already
		}
	}

	whole.Kind, whole.Lineage = queue.Gone, set.lineage
	switch {
	case whole.Failure != nil:
		discardParts(parts)
	case len(parts) > 0 || len(set.parts) == 0: // an empty batch is a batch
		whole.Kind, whole.Val = queue.Item, joinParts(parts)
		if set.members != nil {
			whole.Lineage = whole.Lineage.WithMembers(members)
		}
	}
	return whole, true
}

func discardParts[T any](parts []part[T]) {
	for _, p := range parts {
		p.from.ring.Discard(p.val)
	}
}

func joinParts[T any](parts []part[T]) []T {
	if len(parts) == 1 {
		return parts[0].val
	}
	n := 0
	for _, p := range parts {
		n += len(p.val)
	}
	all := make([]T, 0, n)
	for _, p := range parts {
		all = append(all, p.val...)
	}
	return all
}
