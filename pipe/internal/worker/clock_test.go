package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A wait counts while it goes on, once, and also where its goroutine ends within it.
func TestWaitsCountWhileTheyGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, run := NewRun(context.Background())
		w := NewSet(ctx, run).NewWorker()
		shows := func(c *Clock, want time.Duration) {
			t.Helper()
			if got := c.Of(run); got != want {
				t.Errorf("%v after %v, not %v", got, run.Now(), want)
			}
		}

		time.Sleep(time.Second)
		w.Tick(&w.Busy)
		w.BeforeWait(&w.Starved)
		time.Sleep(2 * time.Second)
		shows(&w.Starved, 2*time.Second)
		if w.Waiting() != &w.Starved {
			t.Error("the wait does not go on")
		}
		w.Tick(&w.Starved)
		time.Sleep(4 * time.Second)
		shows(&w.Starved, 2*time.Second)

		w.WaitWithin(&w.Blocked)
		time.Sleep(8 * time.Second)
		w.Leave()
		time.Sleep(time.Second)
		shows(&w.Busy, 5*time.Second)
		shows(&w.Blocked, 8*time.Second)
		if w.Waiting() != nil {
			t.Error("a worker that has left waits")
		}
	})
}

// A wait that is counted up to a moment before the last reader looked: the clock stays.
func TestClocksNeverGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, run := NewRun(context.Background())
		var c Clock
		c.begins(0)
		time.Sleep(5 * time.Nanosecond)
		if got := c.Of(run); got != 5 {
			t.Errorf("%v after 5 ns", got)
		}
		c.ends(3)
		if got := c.Of(run); got != 5 {
			t.Errorf("%v after 5", got)
		}
	})
}

// Where workers are elsewhere, time of the goroutine that waits for them is no work of
// theirs: on a machine with much to do it is woken late.
func TestOnlyWhatWorkersElsewhereTellIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, run := NewRun(context.Background())
		set := NewSet(ctx, run)
		set.Elsewhere = true
		w := set.NewWorker()

		time.Sleep(time.Second)
		w.Tick(&w.Busy)
		w.Worked.Add(int64(2 * time.Second))
		time.Sleep(5 * time.Second)
		w.TimeOp(true)
		if busy, queued := w.BusyTime(), w.queued.Settled(); busy != 2*time.Second || queued != 4*time.Second {
			t.Errorf("busy %v, queued %v", busy, queued)
		}
	})
}
