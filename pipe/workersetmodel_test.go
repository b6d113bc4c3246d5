package pipe_test

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"headrace/pipe"
)

// drawChanges draws calls of SetWorkers for a random pipeline.
func drawChanges(rt *rapid.T, s spec) (all []change) {
	for range rapid.IntRange(1, 12).Draw(rt, "changes") {
		c := change{
			before: rapid.IntRange(-12, 12).Draw(rt, "before event"),
			after:  rapid.IntRange(0, 9).Draw(rt, "milliseconds"),
			stage:  rapid.IntRange(0, len(s.stages)-1).Draw(rt, "of stage"),
			n:      rapid.IntRange(1, 6).Draw(rt, "workers"),
		}
		kind := s.stages[c.stage].kind
		c.flat = kind == "batch" || kind == "fill" && rapid.Bool().Draw(rt, "of the stage after")
		all = append(all, c)
	}
	return all
}

// Workers that come and go change nothing of what a model says that knows no workers:
// items, order, losses, states after each item, failure. No stage runs more operations
// than it may have had workers, nothing is left, and no goroutine stays.
func TestSetWorkersChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		cut := rapid.SampledFrom([]int{1, 3, 7, 1000, 1000, 1000}).Draw(rt, "cut")
		cancel := rapid.Bool().Draw(rt, "cancel")
		w := newWorld(s)
		w.changes = drawChanges(rt, s)
		var got []event
		synctest.Test(t, func(*testing.T) { got = w.run(pipe.State{}, cut, cancel) })
		report(rt, w)
		want := s.expect(pipe.SourceState{Epoch: s.first})
		compareEvents(rt, want[:min(cut, len(want))], got)
	})
}
