package extern_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"headrace/extern"
	"headrace/sample"
)

var troubled = sample.Schema{{Name: "x", Type: intType}, {Name: "what", Type: sample.TextType}}

func trouble(n int64, what string) *extern.Call {
	return &extern.Call{Key: what, In: []extern.Value{number(n), text(what)}}
}

func TestExceptionsNameTheUsersLine(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:trouble", In: troubled, Gives: intField})
	for _, c := range []struct{ what, where, kind, message string }{
		{"raise", "trouble (functions.py:", "ValueError", "no such crop"},
		{"library", "trouble (functions.py:", "ValueError", "need at least one array"},
		{"sys.exit", "trouble (functions.py:", "SystemExit", "no more"},
	} {
		err := pool.Call(within(t, time.Minute), trouble(1, c.what))
		var e *extern.CallError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", c.what, err)
		}
		if !strings.HasPrefix(err.Error(), c.where) || e.Type != c.kind || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: %v", c.what, err)
		}
		first := strings.SplitN(e.Traceback, "\n", 3)
		if len(first) < 3 || !strings.Contains(first[1], "functions.py") || !strings.Contains(e.Traceback, c.message) {
			t.Errorf("%s: the traceback is %q", c.what, e.Traceback)
		}
	}
	if s := pool.Stats(); s.Restarts != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTheInnermostLineOfTheUserIsNamed(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:nested", In: intField, Gives: intField})
	err := pool.Call(within(t, time.Minute), &extern.Call{In: []extern.Value{number(1)}})
	if err == nil || !strings.HasPrefix(err.Error(), "inner (functions.py:") || !strings.Contains(err.Error(), "NameError: name 'undefined_name'") {
		t.Error(err)
	}
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

func TestAHungCallIsEnded(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:trouble", In: troubled, Gives: intField, Limit: 300 * time.Millisecond})
	ctx := within(t, time.Minute)
	works(t, pool) // it has started
	began := time.Now()
	c := trouble(2, "hang")
	err := pool.Call(ctx, c)
	var e *extern.LimitError
	if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(e.Stack, "functions.py\", line") || !strings.Contains(e.Stack, "in trouble") {
		t.Errorf("%v", err)
	}
	if strings.Contains(e.Stack, "/_worker/") {
		t.Errorf("the worker's own frames are in the stack:\n%s", e.Stack)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	works(t, pool)
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

func TestMisfitsNameTheField(t *testing.T) {
	gives := sample.Schema{{Name: "a", Type: sample.TensorType(6+6, 2, 3)}, {Name: "b", Type: intType}, {Name: "c", Type: sample.TextType}}
	pool := open(t, extern.Options{Function: "functions:misfit", In: troubled[1:], Gives: gives})
	for _, c := range []struct{ what, field, want string }{
		{"dtype", "a", `field 'a' is float64 [2, 3]; the step gives float32 [2, 3]`},
		{"shape", "a", `field 'a' is float32 [3, 2]; the step gives float32 [2, 3]`},
		{"list", "a", `field 'a' is a list of 2 (make it an array)`},
		{"object", "a", `field 'a' is an object`},
		{"float", "b", `field 'b' is float 1.5; the step gives int64`},
		{"large", "b", `which int64 cannot hold`},
		{"none", "c", `field 'c' is None; the step gives text`},
		{"surrogate", "c", `UTF-8`},
		{"missing", "b", `field 'b' is missing`},
		{"more", "d", `a field 'd' that the step does not give`},
		{"nothing", "", `returned None, not a sample (a dict of fields); did it forget to return?`},
	} {
		err := pool.Call(within(t, time.Minute), &extern.Call{In: []extern.Value{text(c.what)}})
		var e *extern.CallError
		if !errors.As(err, &e) || e.Field != c.field || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "misfit (functions.py:") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	c := &extern.Call{In: []extern.Value{text("good")}}
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	give(pool, c)
}

// What workers say arrives with the stage's name, in its kind.
func TestWhatWorkersSay(t *testing.T) {
	var n notes
	pool := open(t, extern.Options{Stage: "talk", Function: "functions:talk", In: intField, Gives: intField, Log: n.add})
	c := &extern.Call{In: []extern.Value{number(1)}}
	if err := pool.Call(within(t, time.Minute), c); err != nil {
		t.Fatal(err)
	}
	give(pool, c)
	pool.Close()
	want := []extern.Line{
		{Stage: "talk", Level: "INFO", Logger: "stdout", Message: "printed"},
		{Stage: "talk", Level: "WARNING", Logger: "stderr", Message: "written"},
		{Stage: "talk", Level: "INFO", Logger: "stdout", Message: "from a child"},
		{Stage: "talk", Level: "WARNING", Logger: "augment", Message: "logged 7"},
	}
	said := n.all()
	for _, w := range want {
		found := false
		for _, l := range said {
			found = found || l == w
		}
		if !found {
			t.Errorf("%+v is missing in %+v", w, said)
		}
	}
	warned := false
	for _, l := range said {
		warned = warned || l.Logger == "py.warnings" && strings.Contains(l.Message, "UserWarning: take care") && l.Level == "WARNING"
		if strings.Contains(l.Message, "not asked for") {
			t.Errorf("%+v", l)
		}
	}
	if !warned {
		t.Errorf("the warning is missing in %+v", said)
	}
}

func TestAnObjectIsClosed(t *testing.T) {
	var n notes
	pool := open(t, extern.Options{Function: "functions:Counting", In: intField, Gives: intField, Log: n.add})
	for i := range 3 {
		c := &extern.Call{In: []extern.Value{number(1)}}
		if err := pool.Call(within(t, time.Minute), c); err != nil {
			t.Fatal(err)
		}
		if got := toInt(c.Out[0]); got != int64(i+1) {
			t.Errorf("call %d is the %d-th", i, got)
		}
		give(pool, c)
	}
	pool.Close()
	if said := n.all(); len(said) != 1 || said[0].Message != "closed after 3" {
		t.Errorf("%+v", said)
	}
}

// A process that ends takes its workers along, also where it had no time for it.
func TestWorkersEndWithTheEngine(t *testing.T) {
	if os.Getenv("EXTERN_TEST_ENGINE") != "" {
		return
	}
	pids := startEngine(t)
	for _, pid := range pids {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			status, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
			if err != nil || strings.Contains(string(status), ") Z ") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("worker %s has outlived its engine", pid)
			}
		}
	}
}
