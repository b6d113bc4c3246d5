package extern_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
)

var troubled = sample.Schema{{Name: "x", Type: intType}, {Name: "what", Type: sample.TextType}}

func trouble(n int64, what string) *extern.Call {
	return &extern.Call{Key: what, In: []extern.Value{number(n), text(what)}}
}

// Whatever ends a worker is the failure of the sample that it worked on, and of no other.
func TestDeathsAreOneSamplesFailure(t *testing.T) {
	for what, check := range map[string]func(*extern.WorkerError) bool{
		"exit": func(e *extern.WorkerError) bool { return e.Exit == 7 && e.Signal == 0 },
		"kill": func(e *extern.WorkerError) bool { return e.Signal == syscall.SIGKILL },
		"segfault": func(e *extern.WorkerError) bool {
			return e.Signal == syscall.SIGSEGV && strings.Contains(e.Stack, "in trouble")
		},
		"child":  func(e *extern.WorkerError) bool { return e.Exit == 3 },
		"stderr": func(e *extern.WorkerError) bool { return e.Exit == 1 && strings.Contains(e.Last, "the last words") },
	} {
		for _, threads := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				pool := open(t, extern.Options{Function: "functions:trouble", In: troubled, Gives: intField, Workers: 2, Threads: threads})
				ctx := within(t, time.Minute)
				var all sync.WaitGroup
				for i := range 200 {
					all.Go(func() {
						c := trouble(int64(i), "")
						if i == 77 {
							c = trouble(int64(i), what)
						}
						err := pool.Call(ctx, c)
						var e *extern.WorkerError
						switch {
						case i == 77 && (!errors.As(err, &e) || e.PID == 0 || e.Stage != "step" || !check(e)):
							t.Errorf("the guilty sample: %v", err)
						case i != 77 && err != nil:
							t.Error(err)
						case i != 77:
							if got := toInt(c.Out[0]); got != int64(i) {
								t.Errorf("%d is %d", i, got)
							}
							give(pool, c)
						}
					})
				}
				all.Wait()
				for pool.Stats().Restarts == 0 { // it is counted after the calls have come back
					if ctx.Err() != nil {
						t.Fatalf("%+v", pool.Stats())
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
	}
}

// Of coroutines that ran beside each other, the one is named that ended the process.
func TestDeathsUnderCoroutines(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:async_trouble", In: troubled, Gives: intField})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			what := map[int]string{7: "kill", 9: "raise"}[i]
			c := trouble(int64(i), what)
			err := pool.Call(within(t, time.Minute), c)
			var died *extern.WorkerError
			var raised *extern.CallError
			if i == 7 && !errors.As(err, &died) || i == 9 && !errors.As(err, &raised) {
				t.Errorf("%d: %v", i, err)
			}
			if what == "" && (err != nil || toInt(c.Out[0]) != int64(i)) {
				t.Errorf("%d: %v, %v", i, c.Out, err)
			}
			give(pool, c)
		})
	}
	all.Wait()
}

func TestACallThatNobodyWaitsForIsEnded(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:trouble", In: troubled, Gives: intField})
	works(t, pool)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := pool.Call(ctx, trouble(1, "hang")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	works(t, pool)
}

// works checks that a pool of functions:trouble answers.
func works(t *testing.T, pool *extern.Pool) {
	t.Helper()
	c := trouble(5, "")
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	if got := toInt(c.Out[0]); got != 5 {
		t.Errorf("5 is %d", got)
	}
	give(pool, c)
}

func TestCloseEndsWhatHangs(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:trouble", In: troubled, Gives: intField})
	failed := make(chan error)
	go func() { failed <- pool.Call(context.Background(), trouble(1, "hang")) }()
	for pool.Stats().Packs == 0 {
		time.Sleep(time.Millisecond)
	}
	pool.Close()
	if err := <-failed; !errors.Is(err, extern.ErrClosed) {
		t.Error(err)
	}
	if err := pool.Call(t.Context(), trouble(1, "")); !errors.Is(err, extern.ErrClosed) {
		t.Error(err)
	}
}

// Nobody waits for a worker that is long in starting.
func TestCloseWhileWorkersStart(t *testing.T) {
	var n notes
	pool := open(t, extern.Options{Function: "slow:f", In: intField, Gives: intField, Workers: 3, Log: n.add})
	failed := make(chan error)
	go func() { failed <- pool.Call(context.Background(), &extern.Call{In: []extern.Value{number(1)}}) }()
	for ctx := within(t, time.Minute); len(n.all()) == 0 && ctx.Err() == nil; {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	pool.Close()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := <-failed; !errors.Is(err, extern.ErrClosed) {
		t.Error(err)
	}
}

// What cannot start says all that is to be said, once, and is not tried for ever.
func TestWorkersThatCannotStart(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*extern.Options)
		want   []string
	}{
		"import":   {func(o *extern.Options) { o.Function = "broken:f" }, []string{"ModuleNotFoundError: No module named 'a_module_that_nobody_has'", "broken.py\", line 3"}},
		"module":   {func(o *extern.Options) { o.Function = "nowhere:f" }, []string{"No module named 'nowhere'"}},
		"name":     {func(o *extern.Options) { o.Function = "functions:nothing" }, []string{"AttributeError", "nothing"}},
		"set-up":   {func(o *extern.Options) { o.Function = "functions:Broken" }, []string{"__init__ (functions.py:", "RuntimeError: no set-up"}},
		"callable": {func(o *extern.Options) { o.Function = "functions:__name__" }, []string{"cannot be called"}},
		"pickle":   {func(o *extern.Options) { o.Interpreter.Functions = map[string][]byte{o.Function: []byte("rubbish")} }, []string{"UnpicklingError"}},
		"python":   {func(o *extern.Options) { o.Interpreter.Executable = "/nowhere/python" }, []string{"/nowhere/python", "no such file"}},
		"exit":     {func(o *extern.Options) { o.Function = "exits:f" }, []string{"3 processes in a row", "status 9", "not today"}},
		"headrace": {func(o *extern.Options) { o.Interpreter.Environment = []string{"PATH=/usr/bin"} }, []string{"3 processes in a row", "No module named"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := extern.Options{Function: "functions:double", In: intField, Gives: intField, Interpreter: interpreter(t), Workers: 2}
			c.change(&o)
			pool := open(t, o)
			for range 2 {
				err := pool.Call(within(t, time.Minute), &extern.Call{In: []extern.Value{number(1)}})
				var e *extern.StartError
				if !errors.As(err, &e) {
					t.Fatal(err)
				}
				for _, want := range append(c.want, "no worker of step can start") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in: %v", want, err)
					}
				}
			}
		})
	}
}
