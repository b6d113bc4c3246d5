package failure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is about no item, or no epoch, does not name one.
func TestStageErrorsNameWhatThereIs(t *testing.T) {
	for want, err := range map[string]*StageError{
		"pipe: stage map: epoch 2, item 3: bad":               {Stage: "map", Epoch: 2, Pos: 3, Err: errors.New("bad")},
		"pipe: stage map: epoch 2: bad":                       {Stage: "map", Epoch: 2, Pos: -1, Err: errors.New("bad")},
		"pipe: stage map: bad":                                {Stage: "map", Epoch: -1, Pos: -1, Err: errors.New("bad")},
		"pipe: stage map: epoch 0, item 3, output 4.1.0: bad": {Stage: "map", Pos: 3, Output: []int64{4, 1, 0}, Err: errors.New("bad")},
	} {
		if err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

func TestTextsOfErrors(t *testing.T) {
	for want, err := range map[string]error{
		"pipe: the run is closed, but operations still run: 2 of stage a, 1 of stage b": &BusyError{[]BusyStage{{"a", 2}, {"b", 1}}},
		"it took longer than 2s: EOF":                 &LimitError{Limit: 2 * time.Second, Err: io.EOF},
		"it took longer than 2s":                      &LimitError{Limit: 2 * time.Second},
		"it took longer than 1m0s, and was abandoned": AbandonedAfter(time.Minute, false),
		"it took longer than 1s, and was abandoned, as one more than the stage has workers": AbandonedAfter(time.Second, true),
		"a hook: EOF":                   &HookError{io.EOF},
		"a worker could not begin: EOF": &BeginError{io.EOF},
		"EOF (lost 3 of 9 items of this epoch; the policy tolerates 2)": &LossError{Policy{Skip: true,
			Count: 2}, 3, 9, io.EOF},
		"EOF (lost 3 of 9 items of this epoch; the policy tolerates a share of 0.25)": &LossError{Policy{Skip: true,
			Rate: 0.25}, 3, 9, io.EOF},
		"EOF (lost 3 of 9 items of this epoch; the policy tolerates 2 or a share of 0.25)": &LossError{Policy{Skip: true,
			Count: 2, Rate: 0.25}, 3, 9, io.EOF},
	} {
		if err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// What ends a run ends it however deep it is wrapped; everything else is an item's.
func TestWhatStopsARun(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		err   error
		stops bool
	}{
		"an error":             {bad, false},
		"skip":                 {Skip, false},
		"stop":                 {Stop(bad), true},
		"stop of a stop":       {Stop(Stop(bad)), true},
		"fatal":                {Fatal(bad), true},
		"a hook":               {&HookError{bad}, true},
		"no beginning":         {&BeginError{bad}, true},
		"too many abandoned":   {AbandonedAfter(1, true), true},
		"abandoned":            {AbandonedAfter(1, false), false},
		"too late with a stop": {&LimitError{Limit: 1, Err: Stop(bad)}, false}, // it says itself that it does not
		"goexit":               {ErrGoexit, true},
		"lost before":          {ErrLostBefore, false},
		"a panic of a stop":    {&PanicError{Value: Stop(bad)}, true},
		"a panic of text":      {&PanicError{Value: "bad"}, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("decode: %w", c.err), errors.Join(io.EOF, c.err)} {
			if Stops(err) != c.stops || Declared(err) != c.stops {
				t.Errorf("%s: %v: stops: %v, declared: %v", name, err, Stops(err), Declared(err))
			}
		}
		if f := new(Origin).NewFailure(c.err); f.Stops != c.stops || f.CountedBy() != "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if stop := Stop(bad); Stop(stop) != stop {
		t.Error("a stop is wrapped again")
	}
	if Stop(nil) != nil || !errors.Is(Stop(bad), bad) || !errors.Is(Fatal(bad), bad) || Stop(bad).Error() != "bad" {
		t.Error("Stop and Fatal hide what they are of")
	}
	if !errors.Is(&LimitError{Err: bad}, context.DeadlineExceeded) || !errors.Is(&LimitError{Err: bad}, bad) ||
		errors.Is(&LimitError{}, context.Canceled) {
		t.Error("a time limit is a deadline, and what the operation returned")
	}
}

func TestWhatIsAShortage(t *testing.T) {
	for _, err := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ENOSPC, syscall.EDQUOT, &exec.Error{Name: "python", Err: syscall.EMFILE},
		&os.PathError{Op: "fork/exec", Path: "python", Err: syscall.EAGAIN},
	} {
		if !Stops(err) || !Shortage(err) || Declared(err) {
			t.Errorf("%v is an item's", err)
		}
	}
	for _, err := range []error{syscall.ENOENT, syscall.EIO, syscall.ECONNREFUSED, syscall.EAGAIN,
		&os.PathError{Op: "fork/exec", Path: "python", Err: syscall.ENOENT}, io.EOF} {
		if Stops(err) {
			t.Errorf("%v is not an item's", err)
		}
	}
}

// A panic is an error with the stack at the panic, and the end of a goroutine is noticed.
func TestFunctionsOfWhichNothingIsKnown(t *testing.T) {
	bad := errors.New("bad")
	out, err := Call(t.Context(), func(_ context.Context, in int) (int, error) { return 2 * in, bad }, 21)
	if out != 42 || err != bad {
		t.Errorf("%d, %v", out, err)
	}
	_, err = Call(t.Context(), func(context.Context, int) (int, error) { return panicsWith(bad), nil }, 0)
	var p *PanicError
	if !errors.As(err, &p) || !errors.Is(err, bad) || !strings.Contains(string(p.Stack), "panicsWith") ||
		!strings.HasPrefix(err.Error(), "panic: bad\n\ngoroutine ") {
		t.Errorf("%v", err)
	}

	for name, run := range map[string]func(func() error) error{
		"guard":          guard,
		"InOwnGoroutine": InOwnGoroutine,
	} {
		if err := run(func() error { return bad }); err != bad {
			t.Errorf("%s: %v", name, err)
		}
		if err := run(func() error { return nil }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := run(func() error { panicsWith(17); return nil }); !errors.As(err, &p) || p.Value != 17 || errors.Unwrap(p) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := InOwnGoroutine(func() error { runtime.Goexit(); return nil }); err != ErrGoexit {
		t.Errorf("%v", err)
	}

	// The goroutine ends, and not before exit was called.
	exits, over := 0, make(chan bool)
	go func() {
		defer close(over)
		_ = Guarded(func() error { runtime.Goexit(); return nil }, func() { exits++ })
		exits = -1
	}()
	if <-over; exits != 1 {
		t.Errorf("%d", exits)
	}
	if err := Guarded(func() error { panicsWith(bad); return nil },
		func() { t.Error("a panic is no end of a goroutine") }); !errors.Is(err, bad) {
		t.Error(err)
	}
}

func panicsWith(v any) int { panic(v) }
