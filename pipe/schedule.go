package pipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A turnMerge is a running Merge that goes by turns. Whose a turn is depends on nothing
// but its number, so a state needs only the numbers of the turns that are finished: after
// a resume these are left out, and the others find the same items, because those that are
// not finished come again, in order. Turns of an input whose epoch is over are void; the
// next turn that is not means them.
type scheduledMerge[T any] struct {
	*mergeStage[T]
	pick     func(epoch int, turn int64) int
	custom   bool                                               // it is the caller's
	choose   func(ctx context.Context, at Turn) (Chosen, error) // instead of pick; nil: it is not
	log      *progress.ChoiceLog                                // of what was chosen
	wrong    error                                              // with the log of a state
	took     func(input int)
	finished *progress.Children   // of this epoch
	skip     progress.PositionSet // turns that were finished before the run was resumed
	most     int64                // items of an epoch; 0: all
	counted  *progress.Children   // the items of this epoch, where there are most; their numbers are finished like turns
	done     progress.PositionSet // numbers of items that were finished before the run was resumed
	epoch    int                  // as the sources count them
}

func (o MergeOpts) schedule(inputs int) func(epoch int, turn int64) int {
	switch o.Order {
	case RoundRobin:
		return func(_ int, turn int64) int { return int(turn % int64(inputs)) }
	case ByPick:
		return o.Pick
	}
	sums := make([]float64, inputs)
	total := 0.0
	for i, w := range o.Weights {
		total += w
		sums[i] = total
	}
	return func(epoch int, turn int64) int {
		at := unit(o.Seed, uint64(epoch), uint64(turn)) * total
		for i, sum := range sums[:inputs-1] {
			if at < sum {
				return i
			}
		}
		return inputs - 1
	}
}

// unit is a number in [0, 1) that depends on its arguments alone.
func unit(key ...uint64) float64 {
	return float64(progress.Hash(key...)>>11) / (1 << 53)
}

// work takes turn after turn. It has a free place whenever it takes an item.
func (t *scheduledMerge[T]) work(w *worker.Worker) {
	t.skip = t.finished.Finished()
	if t.most > 0 {
		t.done = t.counted.Finished()
	}
	for t.out.Reserve(w) {
		end, ok := t.takeTurns(w)
		if !ok {
			return
		}
		t.out.Put(&end, w.Last)
		if end.Kind == queue.Fatal || end.Last {
			return
		}
		t.epoch++
		t.finished, t.skip = progress.NewTurns(t.key(), Progress{}), progress.PositionSet{}
		if t.most > 0 {
			t.counted, t.done = progress.NewTurns(progress.CountOf(t.key()), Progress{}), progress.PositionSet{}
		}
		if t.choose != nil {
			t.log, _ = progress.NewChoiceLog(len(t.inputs), 0, Memory{}) // nothing is remembered
			t.finished.Keep(t.log)
		}
	}
}

// takeTurns hands on one epoch, and returns the value after it. A place is reserved.
func (t *scheduledMerge[T]) takeTurns(w *worker.Worker) (end queue.Message[T], ok bool) {
	void := t.skip.Low // the first turn that the next item means
	idle := 0          // turns of inputs whose epoch is over, one after the other
	number := int64(0) // of the next item

	for turn := void; turn < math.MaxInt64 && t.arrived < len(t.inputs); turn++ {
		if t.done.Has(number) {
			number = t.done.End(number)
		}
		if t.most > 0 && number >= t.most {
			return t.cutShort(w)
		}
		if t.skip.Has(turn) {
			turn = t.skip.End(turn) - 1
			void = turn + 1
			continue
		}

		at, err := t.pickNext(w, turn)
		if err != nil && w.Ctx.Err() != nil {
			return end, false
		}
		if idle++; err == nil && t.custom && idle > maxIdle {
			err = fmt.Errorf("the last %d turns are of inputs whose epoch is over", idle-1)
		}
		if err != nil {
			return t.refused(err), true
		}
		if at < 0 {
			return t.cutShort(w)
		}

		in := t.inputs[at]
		if in.over {
			continue
		}
		idle = 0

		m, more, ok := t.next(w, in)
		if !ok {
			return end, false
		}

		if !more {
			if t.failFast && m.Kind == queue.Fatal {
				t.haltAbove()
				return m, true
			}
			if t.until == Shortest && m.Kind == queue.Mark {
				return t.cutShort(w)
			}
			continue
		}

		if t.most > 0 {
			m.Lineage = m.Lineage.WithCounted(t.finished, void, turn+1, t.counted, number)
			number++
		} else {
			m.Lineage = m.Lineage.WithTurns(t.finished, void, turn+1)
		}
		void = turn + 1
		if t.took != nil {
			t.took(at)
		}
		w.Out.Add(1)
		w.TimeItem()
		t.out.Put(&m, w.Last)

		if !t.out.Reserve(w) {
			return end, false
		}
	}
	return t.endEpoch(), true
}

// maxIdle is how many turns in a row a Pick may give to inputs whose epoch is over, while
// another's is not.
const maxIdle = 1 << 20

// whose turn it is; -1: the epoch is over.
func (t *scheduledMerge[T]) pickNext(w *worker.Worker, turn int64) (at int, err error) {
	pick := func() error { at = t.pick(t.epoch, turn); return nil }
	if t.choose != nil {
		pick = func() (err error) { at, err = t.chosen(w.Ctx, turn); return err }
	}
	err = w.Attempt(pick, func(err error) {
		end := t.refused(err)
		t.out.Put(&end, w.Last) // a place is reserved
	})
	if err == nil && (at < -1 || at >= len(t.inputs)) {
		err = fmt.Errorf("input %d of %d was picked", at, len(t.inputs))
	}
	return at, err
}

// chosen returns the input that was chosen for a turn, or chooses it now, with those of
// the next turns.
func (t *scheduledMerge[T]) chosen(ctx context.Context, turn int64) (at int, err error) {
	if t.wrong != nil {
		return 0, t.wrong
	}
	if at, ok := t.log.At(turn); ok {
		return at, nil
	}
	next, err := t.choose(ctx, Turn{Epoch: t.epoch, Turn: turn, Said: t.log.Then()})
	if err != nil || len(next.Inputs) == 0 {
		return -1, err
	}
	for i, at := range next.Inputs {
		if at < 0 || at >= len(t.inputs) {
			return 0, fmt.Errorf("input %d of %d was chosen for turn %d", at, len(t.inputs), turn+int64(i))
		}
	}
	t.log.Add(next.Inputs, next.Says)
	return next.Inputs[0], nil
}

// chosenBefore returns the log of a merge that a run resumes. A state that counts items
// and no turns was put together of those of several ranks: each had a chooser of its own,
// and the choices of another number of ranks are unknown.
func chosenBefore(inputs int, from State, key string) (*progress.ChoiceLog, error) {
	if from.Merges[key].Low == 0 && from.Merges[CountOf(key)].Low > 0 {
		return nil, errors.New("the state is of another number of ranks, each of which chose for itself: go on with that number, " +
			"from a state that begins an epoch, or give the order lanes, with a global batch")
	}
	return progress.NewChoiceLog(inputs, from.Merges[key].Low, from.Memories[key])
}

// refused ends the run where nobody can say whose turn it is.
func (t *scheduledMerge[T]) refused(err error) queue.Message[T] {
	t.haltAbove()
	return queue.Message[T]{Kind: queue.Fatal, Failure: t.NewFailure(err)}
}

// next takes an input's next item, and hands on what comes before it. more is false when
// the input's epoch is over.
func (t *mergeStage[T]) next(w *worker.Worker, in *mergeInput[T]) (m queue.Message[T], more, ok bool) {
	var buf [1]queue.Message[T]
	for {
		h := in.ring.Take(w, buf[:])
		if len(h.Msgs) == 0 {
			return m, false, false
		}
		switch m = buf[0]; m.Kind {
		case queue.Item:
			w.In.Add(1)
			in.lost = 0
			return m, true, true
		case queue.Mark, queue.Fatal:
			t.note(in, m)
			return m, false, true
		case queue.Gone, queue.Failed:
			if end, over := t.lost(in, &m); over {
				in.ring.DiscardMsg(m)
				return end, false, true
			}
		}
		t.out.Put(&m, w.Last)
		if !t.out.Reserve(w) {
			return m, false, false
		}
	}
}

// lost counts items that did not come. It returns the end of the run where too many did
// not.
func (t *mergeStage[T]) lost(in *mergeInput[T], m *queue.Message[T]) (end queue.Message[T], over bool) {
	if in.lost += m.Lineage.Count(); t.without == nil {
		return end, false
	}
	err := t.without(slices.Index(t.inputs, in), in.lost)
	if err == nil {
		return end, false
	}
	return queue.Message[T]{Kind: queue.Fatal, Lineage: m.Lineage, Failure: t.NewFailure(err)}, true
}

// cutShort ends the epoch with its shortest input: what the others still have is disposed
// of.
func (t *mergeStage[T]) cutShort(w *worker.Worker) (end queue.Message[T], ok bool) {
	t.cut = true
	t.hurry(t.epoch)
	var buf [1]queue.Message[T]
	for _, in := range t.inputs {
		for !in.over {
			h := in.ring.Take(w, buf[:])
			if len(h.Msgs) == 0 {
				return end, false
			}
			switch buf[0].Kind {
			case queue.Item:
				w.In.Add(1)
				w.Skipped.Add(1)
			case queue.Mark, queue.Fatal:
				t.note(in, buf[0])
			}
			in.ring.DiscardMsg(buf[0])
		}
	}
	return t.endEpoch(), true
}
