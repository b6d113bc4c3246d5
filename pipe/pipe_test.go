package pipe_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"headrace/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func drawSpec(rt *rapid.T) spec {
	s := spec{
		items:  rapid.IntRange(0, 40).Draw(rt, "items"),
		first:  rapid.IntRange(0, 2).Draw(rt, "first epoch"),
		epochs: rapid.IntRange(1, 3).Draw(rt, "epochs"),
		seed:   rapid.Uint64().Draw(rt, "seed"),
		gate:   rapid.IntRange(1, 3).Draw(rt, "gate"),
	}
	if s.quick = rapid.IntRange(0, 4).Draw(rt, "quick") == 0; s.quick {
		s.items *= 8
	}
	s.failures = drawPolicy(rt, "failures")
	s.faults = drawFaults(rt, "source")
	for k := range rapid.IntRange(1, 4).Draw(rt, "stages") {
		name := fmt.Sprint("stage", k, " ")
		st := stageSpec{
			kind:     rapid.SampledFrom([]string{"map", "map", "batch", "fill", "fill"}).Draw(rt, name+"kind"),
			workers:  rapid.IntRange(1, 4).Draw(rt, name+"workers"),
			buffer:   rapid.IntRange(0, 3).Draw(rt, name+"buffer"),
			gated:    rapid.Bool().Draw(rt, name+"gated"),
			n:        rapid.IntRange(1, 5).Draw(rt, name+"n"),
			dropLast: rapid.Bool().Draw(rt, name+"drops last"),
			pool:     rapid.IntRange(1, 5).Draw(rt, name+"pool"),
			faults:   drawFaults(rt, name),
		}
		if st.kind == "batch" {
			st.workers, st.faults = 1, faults{}
		} else if rapid.IntRange(0, 3).Draw(rt, name+"has a policy") == 0 {
			p := drawPolicy(rt, name+"policy")
			st.own = &p
		}
		s.stages = append(s.stages, st)
	}
	return s
}

func drawPolicy(rt *rapid.T, name string) pipe.Policy {
	switch rapid.IntRange(0, 4).Draw(rt, name) {
	case 0:
		return pipe.Policy{}
	case 1:
		return pipe.Policy{Skip: true, Count: rapid.IntRange(1, 6).Draw(rt, name+" count")}
	case 2:
		return pipe.Policy{Skip: true, Rate: 0.2, After: rapid.IntRange(0, 12).Draw(rt, name+" after")}
	case 3:
		return pipe.Policy{Skip: true, Count: 2, Rate: 0.3}
	}
	return pipe.Policy{Skip: true, Count: -1}
}

func drawFaults(rt *rapid.T, name string) faults {
	chance := rapid.SampledFrom([]int{0, 0, 0, 1, 5, 20, 60})
	return faults{chance.Draw(rt, name+"skip"), chance.Draw(rt, name+"fail"), rapid.SampledFrom([]int{0, 0, 5}).Draw(rt, name+"panics")}
}

// Random pipelines whose stages all keep order do to the letter what the model does:
// items, losses, states, failure. They may be cut short anywhere, and leave nothing
// after.
func TestE10OrderedPipelinesAreSequential(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		defer pipe.Haste(rt)()
		s := drawSpec(rt)
		cut := rapid.SampledFrom([]int{0, 1, 3, 7, 1000}).Draw(rt, "cut")
		cancel := rapid.Bool().Draw(rt, "cancel")
		want := s.expect(pipe.SourceState{Epoch: s.first})
		w := newWorld(s)
		var got []event
		synctest.Test(t, func(*testing.T) { got = w.run(pipe.State{}, cut, cancel) })
		report(rt, w)
		compareEvents(rt, want[:min(cut, len(want))], got)
	})
}

func report(rt *rapid.T, w *world) {
	if len(w.faults) > 0 {
		rt.Fatalf("%v", slices.Compact(w.faults))
	}
}

func compareEvents(rt *rapid.T, want, got []event) {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			rt.Fatalf("event %d: %v, wanted none", i, got[i])
		case i >= len(got):
			rt.Fatalf("event %d: none, wanted %v", i, want[i])
		case want[i].String() != got[i].String():
			rt.Fatalf("event %d:\ngot    %v\nwanted %v", i, got[i], want[i])
		}
	}
}

// A run that is cut anywhere and resumed goes on as the model does from that state: the
// same items in the same batches, the same losses, the same end.
func TestResumeOfRandomPipelines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		defer pipe.Haste(rt)()
		s := drawSpec(rt)
		s.items, s.quick = min(s.items, 15), false
		for k := range s.stages {
			s.stages[k].own = nil // a policy of a stage's own counts again after a resume
		}
		whole := s.expect(pipe.SourceState{Epoch: s.first})
		for i, e := range whole {
			if e.kind == "error" || e.state.Epoch == s.first+s.epochs {
				continue
			}
			w := newWorld(s)
			var got []event
			synctest.Test(t, func(*testing.T) {
				got = w.run(pipe.State{Version: 1, Sources: map[string]pipe.SourceState{"source": e.state}}, 1000, false)
			})
			report(rt, w)
			if !sameItems(whole[i+1:], got) {
				rt.Fatalf("resumed from %+v:\ngot    %v\nwanted %v", e.state, got, whole[i+1:])
			}
		}
	})
}

// sameItems compares what a consumer is given. When which loss is reported is left out:
// after a resume, a loss may come before an item that it came after, because the item is
// made of later ones only. And a state does not say which stage lost an item, or with
// which others.
func sameItems(want, got []event) bool {
	return slices.EqualFunc(want, got, func(a, b event) bool {
		blamed := a.stage == b.stage && a.pos == b.pos || b.stage == "source"
		return a.kind == b.kind && slices.Equal(a.ids, b.ids) && a.epoch == b.epoch && blamed
	})
}
