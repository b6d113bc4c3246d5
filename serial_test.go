package headrace

import "testing"

// Two loaders that look for a crash at once must leave the gate as it was, whoever ends
// first, and a third that begins meanwhile must not open it.
func TestSerialLoadersShareAGate(t *testing.T) {
	g := NewGate()
	g.Widen(8)
	var a, b serial
	until := func(position int64) *Until { return &Until{Positions: map[string]int64{"files": position}} }
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { a.begin(g, until(10)) }, 1},
		{func() { b.begin(g, until(20)) }, 1},
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
