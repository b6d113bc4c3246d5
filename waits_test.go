package headrace_test

import (
	"io"
	"testing"
	"time"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/phototest"
)

// What the loader says that its consumer has waited is what a stopwatch of the consumer
// says, and what it does after a break belongs to no loop.
func TestAStopwatchAgrees(t *testing.T) {
	l, err := Open(t.Context(), augmented(t, phototest.Folder(t, 64), `{"size":4}`), Config{Epochs: new(2)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	const slack = 200 * time.Millisecond // of a busy machine; a clock of the engine's pump would be off by 30 times the sleep below
	near := func(what string, told, real time.Duration) {
		t.Helper()
		if off := (told - real).Abs(); off > real/10+slack {
			t.Errorf("%s: told as %v, the stopwatch says %v", what, told, real)
		}
	}
	var first, waited time.Duration
	var begun time.Time
	for {
		asked := time.Now()
		b, err := l.Next(t.Context())
		took := time.Since(asked)
		if first == 0 {
			first, begun = took, time.Now()
		} else {
			waited += took
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		time.Sleep(10 * time.Millisecond)
	}
	loop := time.Since(begun)
	time.Sleep(50 * time.Millisecond) // an evaluation
	s := l.Stats()
	near("the wait for the first batch", s.Start, first)
	near("the other waits", s.Waited, waited)
	near("the loop", s.Loop, loop)

	for b, err := range l.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		break
	}
	left := l.Stats().Loop
	time.Sleep(10 * time.Millisecond)
	if now := l.Stats().Loop; now != left {
		t.Errorf("after a break the loop goes on for %v", now-left)
	}
}

// A consumer that asks before the run begins is ahead of all that is done.
func TestClocksStartWithTheRunOfWhoAskedBefore(t *testing.T) {
	l, err := Open(t.Context(), augmented(t, phototest.Folder(t, 64), `{"size":4}`), Config{Epochs: new(1)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Asked()
	if err := l.Start(l.Info().State, nil); err != nil {
		t.Fatal(err)
	}
	for l.Stats().Stages[0].In == 0 {
		time.Sleep(time.Millisecond)
	}
	if s := l.Stats(); s.Elapsed <= 0 || s.Stages[0].Ahead != 0 {
		t.Errorf("%v, %+v", s.Elapsed, s.Stages[0])
	}
}

// What the loader does ahead of a program that has not asked yet is counted, and is in no
// clock: in this process, and for a consumer elsewhere that says when it asks.
func TestClocksStartWhenTheConsumerAsks(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		options := Options{}
		if elsewhere {
			options.Announce = func(arena.Segment) error { return nil }
		}
		l, err := Open(t.Context(), augmented(t, phototest.Folder(t, 64), `{"size":4}`), Config{Epochs: new(1)}, options)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := l.Start(l.Info().State, nil); err != nil {
			t.Fatal(err)
		}
		if elsewhere { // the engine takes ahead of who asks
			if b, err := l.Next(t.Context()); err != nil {
				t.Fatal(err)
			} else {
				b.Release()
			}
		}
		for l.Stats().Stages[0].In == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		s := l.Stats()
		if first := s.Stages[0]; s.Elapsed != 0 || first.Ahead != first.In || first.Busy+first.Starved+first.Blocked != 0 {
			t.Errorf("elsewhere %v: nobody has asked: %v, %+v", elsewhere, s.Elapsed, first)
		}

		asked := time.Now()
		if elsewhere {
			l.Asked()
		} else if b, err := l.Next(t.Context()); err != nil {
			t.Fatal(err)
		} else {
			b.Release()
		}
		s = l.Stats()
		if took := time.Since(asked); s.Elapsed <= 0 || s.Elapsed > took {
			t.Errorf("elsewhere %v: %v since it was asked %v ago", elsewhere, s.Elapsed, took)
		}
		if first := s.Stages[0]; first.Ahead == 0 || first.Ahead > first.In {
			t.Errorf("elsewhere %v: %+v", elsewhere, first)
		}
		l.Stop()
		if stopped := l.Stats(); stopped.Elapsed < s.Elapsed || stopped.Elapsed > time.Since(asked) || stopped.Stages[0].Ahead != s.Stages[0].Ahead {
			t.Errorf("elsewhere %v: after the run %v, %+v", elsewhere, stopped.Elapsed, stopped.Stages[0])
		}
	}
}
