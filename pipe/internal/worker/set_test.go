package worker

import (
	"runtime"
	"sync"
	"testing"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/observe"
)

// A set has as many workers as it is told, whose counts stay when they leave; the last
// one ends the stage, and one that ends its goroutine ends the run.
func TestSetsOfWorkers(t *testing.T) {
	ctx, run := NewRun(t.Context())
	s := NewSet(ctx, run)
	halted, over := make(chan struct{}, 1), make(chan struct{})
	run.Halt = func() { halted <- struct{}{} }
	var mu sync.Mutex
	changed, end := sync.NewCond(&mu), false
	var resized []int
	s.Stage, s.OnEnd = "map", func() { close(over) }
	s.OnResize = func(n int) { resized = append(resized, n) }
	s.Fit = func(int) { mu.Lock(); changed.Broadcast(); mu.Unlock() }
	s.Work = func(w *Worker) {
		w.In.Add(1)
		mu.Lock()
		defer mu.Unlock()
		for !end && !s.MustStop() {
			changed.Wait()
		}
	}
	workers := func(n int) {
		t.Helper()
		for len(s.Working()) != n {
			runtime.Gosched()
		}
		var all observe.StageStats
		if s.AddTo(&all); all.Workers != n {
			t.Errorf("%d workers, not %d", all.Workers, n)
		}
	}

	if s.Present.Store(1); !run.Hold() { // as a stage begins with its first
		t.Fatal("the run is over")
	}
	s.Resize(1)
	s.Begin(s.NewMember(), s.Work)
	workers(1)
	s.SetWorkers(3)
	workers(3)
	s.SetWorkers(1)
	workers(1)
	s.SetWorkers(2) // takes over the number of one that has left
	workers(2)
	if len(s.Members) != 3 || len(resized) != 4 {
		t.Errorf("%d numbers, resized to %v", len(s.Members), resized)
	}
	mu.Lock()
	end = true
	mu.Unlock()
	s.Fit(0)
	<-over
	if s.SetWorkers(5); len(s.Working()) != 0 {
		t.Error("workers come to a stage that is over")
	}
	var all observe.StageStats
	if s.AddTo(&all); all.In != 4 || run.Crashed.Load() != nil {
		t.Errorf("%d workers have begun: %v", all.In, run.Crashed.Load())
	}

	again := NewSet(ctx, run)
	again.Stage, again.OnEnd = "exits", func() {}
	again.Present.Store(1)
	if !run.Hold() {
		t.Fatal("the run is over")
	}
	again.Begin(again.NewMember(), func(*Worker) { runtime.Goexit() })
	if <-halted; run.Crashed.Load().Stage != "exits" || run.Crashed.Load().Err != failure.ErrGoexit {
		t.Errorf("%v", run.Crashed.Load())
	}
	run.Gone() // what has started the run
	if <-run.Idle; run.Hold() {
		t.Error("goroutines begin in a run that is over")
	}
}
