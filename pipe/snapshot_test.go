package pipe_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A run of which nobody takes anything stands still: its queues are full, its workers
// blocked, and a snapshot says so as long as that goes on.
func TestSnapshotsOfARunAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 1000}), same, pipe.Opts{Name: "map", Workers: 2, Buffer: 3})
		run := start(t, f, pipe.Config{})
		synctest.Wait()
		before := run.Stats()
		<-time.After(10 * time.Second)
		for range 2 { // asking changes nothing
			s := run.Stats().Minus(before)
			last, source := s.Queues[1], s.Queues[0]
			if last.Full != 10*time.Second || last.Empty != 0 || last.Mean != 3 || last.Observed != 10*time.Second || last.PutWait != 20*time.Second {
				t.Errorf("the last queue: %+v", last)
			}
			if source.Full != 10*time.Second || source.PutWait != 10*time.Second {
				t.Errorf("the queue after the source: %+v", source)
			}
			if stage := s.Stages[1]; stage.Blocked != 20*time.Second || stage.Starved != 0 {
				t.Errorf("the map: %+v", stage)
			}
			if stage := s.Stages[0]; stage.Blocked != 10*time.Second {
				t.Errorf("the source: %+v", stage)
			}
			if s.Start != 0 || s.Waited != 0 || s.Loop != 0 {
				t.Errorf("nobody was there to wait: %+v", s)
			}
		}
		run.Close()
		closed := run.Stats().Minus(before)
		if q := closed.Queues[1]; q.Full != 10*time.Second || q.Observed != 10*time.Second {
			t.Errorf("after Close, the last queue: %+v", q)
		}
		<-time.After(time.Minute)
		if q := run.Stats().Minus(before).Queues[1]; q.Observed != 10*time.Second {
			t.Errorf("a minute after Close, the last queue: %+v", q)
		}
	})
}

// Who waits for a slow source is starved now, and not only when the wait is over: stages,
// queues and the consumer.
func TestSnapshotsCountWaitsThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := pipe.NewGate(1)
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 2, Every: time.Hour}), same, pipe.Opts{Name: "map", Workers: 3})
		f = pipe.Map(f, same, pipe.Opts{Name: "gated", Gate: gate})
		run := start(t, f, pipe.Config{})
		if _, err := run.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		held := make(chan struct{})
		go gate.Do(t.Context(), func(int) { <-held })
		go run.Next(t.Context())
		synctest.Wait()
		before := run.Stats()
		<-time.After(10 * time.Second)
		s := run.Stats().Minus(before)
		if s.Stages[1].Starved != 30*time.Second || s.Stages[2].Starved != 10*time.Second || s.Queues[0].GetWait < 10*time.Second || s.Queues[1].GetWait != 10*time.Second {
			t.Errorf("%+v", s)
		}
		if s.Waited != 10*time.Second || s.Loop != 10*time.Second || s.Start != 0 {
			t.Errorf("the consumer waited %v of %v, and %v before", s.Waited, s.Loop, s.Start)
		}
		if q := s.Queues[2]; q.GetWait != 10*time.Second || q.Empty != 10*time.Second {
			t.Errorf("the last queue: %+v", q)
		}
		<-time.After(time.Hour)
		waits := run.Stats()
		<-time.After(10 * time.Second)
		if s := run.Stats().Minus(waits).Stages[2]; s.Gated != 10*time.Second {
			t.Errorf("who waits for a gate: %+v", s)
		}
		close(held)
		synctest.Wait()
		if s := run.Stats().Stages[2]; s.Gated < 10*time.Second || s.Starved > 2*time.Hour {
			t.Errorf("%+v", s)
		}
	})
}

// Start is what the consumer waits for its first item, and its loop is what comes then:
// not what it does between epochs, or after a break.
func TestTheConsumersLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 4}), takes(3*time.Second), pipe.Opts{Name: "map", Ordered: true})
		run := start(t, f, pipe.Config{Epochs: 3})
		<-time.After(time.Second) // a model is made meanwhile
		begun := time.Now()
		var waited time.Duration // by a clock of its own
		next := func() error {
			asked := time.Now()
			_, err := run.Next(t.Context())
			if run.Stats().Yielded > 1 || err != nil {
				waited += time.Since(asked)
			}
			return err
		}
		for err := next(); err == nil; err = next() {
			<-time.After(time.Second)
		}
		loop := time.Since(begun) - 2*time.Second
		check := func(what string) {
			t.Helper()
			if s := run.Stats(); s.Start != 2*time.Second || s.Waited != waited || s.Loop != loop || waited == 0 {
				t.Errorf("%s: start %v, loop %v, waited %v; should be 2s, %v, %v", what, s.Start, s.Loop, s.Waited, loop, waited)
			}
		}
		check("after an epoch")
		<-time.After(time.Minute)
		check("a minute later")
		begun, before := time.Now(), waited
		if err := next(); err != nil || waited != before {
			t.Fatal("all has been made by now", err)
		}
		<-time.After(7 * time.Second)
		loop += time.Since(begun)
		check("within the next epoch")
		for range run.All() {
			<-time.After(time.Second)
			loop += time.Second
			break
		}
		<-time.After(time.Minute)
		check("after a break")
		run.Close()
		<-time.After(time.Minute)
		if _, err := run.Next(context.Background()); err == nil || err == io.EOF {
			t.Error(err)
		}
		check("after Close")
	})
}

// Clocks never go back, however snapshots and waits meet.
func TestSnapshotsNeverGoBack(t *testing.T) {
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 300}), restless, pipe.Opts{Name: "map", Workers: 4, Buffer: 1})
	f = pipe.Map(f, restless, pipe.Opts{Name: "next", Workers: 4, Buffer: 1, Gate: pipe.NewGate(2)})
	run := start(t, f, pipe.Config{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		collect(t, run)
	}()
	for last := run.Stats(); ; {
		now := run.Stats()
		for i, s := range now.Stages {
			was := last.Stages[i]
			if s.Starved < was.Starved || s.Blocked < was.Blocked || s.Gated < was.Gated || s.Busy < was.Busy {
				t.Fatalf("%+v came after %+v", s, was)
			}
		}
		for i, q := range now.Queues {
			if was := last.Queues[i]; q.GetWait < was.GetWait || q.PutWait < was.PutWait || q.Full < was.Full || q.Empty < was.Empty || q.Observed < was.Observed {
				t.Fatalf("%+v came after %+v", q, was)
			}
		}
		if now.Waited < last.Waited || now.Loop < last.Loop || now.Start != last.Start && last.Yielded > 0 {
			t.Fatalf("%v of %v came after %v of %v; %v to start, and %v", now.Waited, now.Loop, last.Waited, last.Loop, now.Start, last.Start)
		}
		select {
		case <-over:
			return
		default:
			last = now
		}
	}
}

// Clocks that start when the consumer first asks: ten seconds in which nobody did are in
// none of them, what was done then is counted as ahead, and rates are those of the rest.
func TestClocksFromTheFirstItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), takes(time.Second), pipe.Opts{Name: "map", Workers: 2, Buffer: 3})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		<-time.After(10 * time.Second) // three are in the queue, and two workers hold one each
		ahead := run.Stats()
		if s := ahead.FromFirst(ahead); s.Elapsed != 0 || s.Stages[1].Busy+s.Stages[1].Starved+s.Stages[1].Blocked != 0 || s.Stages[1].Ahead != 5 {
			t.Errorf("nobody has asked: %+v", s)
		}

		for range 25 {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		whole := run.Stats()
		s := whole.FromFirst(ahead)
		if s.Yielded != 25 || s.Elapsed != whole.Elapsed-10*time.Second {
			t.Errorf("%d in %v, of %v", s.Yielded, s.Elapsed, whole.Elapsed)
		}
		stage := s.Stages[1]
		if stage.In != whole.Stages[1].In || stage.Out != whole.Stages[1].Out || stage.Ahead != 5 || stage.P50 != whole.Stages[1].P50 {
			t.Errorf("counts are of all: %+v, of %+v", stage, whole.Stages[1])
		}
		if stage.Busy != 20*time.Second || stage.Blocked != 0 || stage.Starved != 0 || stage.Shares().Busy != 1 {
			t.Errorf("its clocks are of the rest: %+v", stage)
		}
		q := s.Queues[1]
		if q.Observed != s.Elapsed || q.Full > time.Second || q.Puts != whole.Queues[1].Puts || q.PutWait != whole.Queues[1].PutWait-ahead.Queues[1].PutWait {
			t.Errorf("so are those of queues: %+v", q)
		}
		if got := s.Minus(ahead.FromFirst(ahead)); got.Elapsed != s.Elapsed || got.Stages[1].Ahead != 0 || got.Stages[1].Busy != stage.Busy {
			t.Errorf("since nobody had asked: %+v", got)
		}
	})
}
