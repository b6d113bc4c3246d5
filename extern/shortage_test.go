package extern_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/machine"
)

// few leaves this process no descriptor more than it has, until the function that it
// returns is called.
func few(t *testing.T) (back func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	back = func() { unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }
	t.Cleanup(back)
	return back
}

// Workers are started as soon as the machine has again what that takes. Where that does
// not come, the run learns what is missing.
func TestWorkersWaitForTheMachine(t *testing.T) {
	pool := late(t, extern.Options{Function: "late:poisons", Idle: true})
	back := few(t)
	pool.SetWorkers(1)
	time.AfterFunc(200*time.Millisecond, back)
	c := &extern.Call{In: []extern.Value{number(1)}}
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	give(pool, c)

	pool = late(t, extern.Options{Function: "late:poisons", Idle: true})
	back = few(t)
	defer back()
	pool.SetWorkers(1)
	err := pool.Call(within(t, time.Minute), &extern.Call{In: []extern.Value{number(1)}})
	var short *machine.Shortage
	if !errors.As(err, &short) || !errors.Is(err, unix.EMFILE) {
		t.Fatal(err)
	}
}

// A worker that is let go of while it cannot be started does not end the pool.
func TestAWorkerThatIsNotWantedAnyMore(t *testing.T) {
	pool := late(t, extern.Options{Function: "late:poisons"})
	call := func() {
		t.Helper()
		c := &extern.Call{In: []extern.Value{number(1)}}
		if err := pool.Call(within(t, time.Minute), c); err != nil {
			t.Fatal(err)
		}
		give(pool, c)
	}
	call()
	back := few(t)
	defer back()
	pool.SetWorkers(2)
	time.Sleep(100 * time.Millisecond) // in which it is tried, or this shows nothing
	pool.SetWorkers(1)
	call()
	back()
	call()
}
