package headrace

import (
	"io"
	"testing"
	"time"

	"headrace/internal/phototest"
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
