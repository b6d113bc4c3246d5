package gate

import (
	"testing"

	"headrace/state"
)

// Two loaders that look for a crash at once must leave the gate as it was, whoever ends
// first, and a third that begins meanwhile must not open it.
func TestSerialLoadersShareAGate(t *testing.T) {
	g := New()
	g.Widen(8)
	var a, b Serial
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { a.Begin(g, before(0, 10)) }, 1},
		{func() { b.Begin(g, before(0, 20)) }, 1},
		{func() { g.Widen(4) }, 1},
		{func() { g.Widen(16) }, 1},
		{func() { a.Reached(at(0, 9)) }, 1},
		{func() { a.Reached(at(0, 10)) }, 1},
		{func() { a.End() }, 1}, // again
		{func() { b.Reached(at(1, 0)) }, 16},
		{func() { b.End() }, 16},
	} {
		if step.do(); g.gate.Limit() != step.want {
			t.Fatalf("after step %d the limit is %d, expected %d", i, g.gate.Limit(), step.want)
		}
	}
}

func before(epoch, position int64) *state.Until {
	return &state.Until{Epoch: epoch, Positions: map[string]int64{"files": position}}
}

func at(epoch int, position int64) state.State {
	return state.State{Epoch: epoch, Sources: map[string]state.Source{"files": {Position: position}}}
}
