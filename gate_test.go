package headrace_test

import (
	"testing"

	. "github.com/headrace/headrace"
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
	limit := g.Stages().Limit()
	for name, until := range map[string]*Until{"passed": until(0, 5), "never reached": until(3, 0)} {
		if err := l.Start(State{}, until); err != nil {
			t.Fatal(err)
		}
		if g.Stages().Limit() != 1 {
			t.Fatalf("%s: %d operations may run at once", name, g.Stages().Limit())
		}
		drain(t, l)
		l.Stop()
		if g.Stages().Limit() != limit {
			t.Fatalf("%s: the limit is %d afterwards, and was %d", name, g.Stages().Limit(), limit)
		}
	}
	// A run that has nothing to do must not close it.
	if err := l.Start(State{Epoch: 1}, until(5, 0)); err != nil || g.Stages().Limit() != limit {
		t.Fatalf("%v, limit %d", err, g.Stages().Limit())
	}
}
