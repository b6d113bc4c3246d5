package headrace

import (
	"testing"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
)

func until(epoch, position int64) *Until {
	return &Until{Epoch: epoch, Positions: map[string]int64{"files": position}}
}

func TestAGateIsOpenAgainAfterSerialRuns(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 12)
	g := NewGate()
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(1), Workers: new(7)}, Options{Gate: g})
	limit := g.stages().Limit()
	for name, until := range map[string]*Until{"passed": until(0, 5), "never reached": until(3, 0)} {
		if err := l.Start(State{}, until); err != nil {
			t.Fatal(err)
		}
		if g.stages().Limit() != 1 {
			t.Fatalf("%s: %d operations may run at once", name, g.stages().Limit())
		}
		drain(t, l)
		l.Stop()
		if g.stages().Limit() != limit {
			t.Fatalf("%s: the limit is %d afterwards, and was %d", name, g.stages().Limit(), limit)
		}
	}
	// A run that has nothing to do must not close it.
	if err := l.Start(State{Epoch: 1}, until(5, 0)); err != nil || g.stages().Limit() != limit {
		t.Fatalf("%v, limit %d", err, g.stages().Limit())
	}
}

// Two loaders that look for a crash at once must leave the gate as it was, whoever ends
// first, and a third that begins meanwhile must not open it.
func TestSerialLoadersShareAGate(t *testing.T) {
	g := NewGate()
	g.Widen(8)
	var a, b serial
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { a.begin(g, until(0, 10)) }, 1},
		{func() { b.begin(g, until(0, 20)) }, 1},
		{func() { g.Widen(4) }, 1},
		{func() { g.Widen(16) }, 1},
		{func() { a.reached(standing(0, 9)) }, 1},
		{func() { a.reached(standing(0, 10)) }, 1},
		{func() { a.end() }, 1}, // again
		{func() { b.reached(standing(1, 0)) }, 16},
		{func() { b.end() }, 16},
	} {
		if step.do(); g.gate.Limit() != step.want {
			t.Fatalf("after step %d the limit is %d, expected %d", i, g.gate.Limit(), step.want)
		}
	}
}

func standing(epoch int, position int64) State {
	return State{Epoch: epoch, Sources: map[string]SourceState{"files": {Position: position}}}
}
