package extern_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/extern"
)

// callAll makes calls together, and returns what became of each.
func callAll(t *testing.T, ctx context.Context, pool *extern.Pool, calls []*extern.Call) []error {
	t.Helper()
	errs, times := make([]error, len(calls)), make([]int, len(calls))
	pool.CallAll(ctx, calls, func(i int, err error) {
		errs[i] = err
		times[i]++
	})
	for i, n := range times {
		if n != 1 {
			t.Errorf("call %d is done %d times", i, n)
		}
	}
	return errs
}

// Of calls that are made together each has its own result, and a failure is of one alone:
// of the worker, of the function, and of a value that is not what it is to be.
func TestCallsThatAreMadeTogether(t *testing.T) {
	for _, threads := range []bool{false, true} {
		t.Run(fmt.Sprint("threads ", threads), func(t *testing.T) {
			pool := open(t, extern.Options{Function: "functions:trouble", In: troubled, Gives: intField, Workers: 2, Threads: threads})
			ctx := within(t, time.Minute)
			for range 3 {
				var calls []*extern.Call
				for i := range 200 {
					calls = append(calls, trouble(int64(i), map[int]string{77: "kill", 88: "raise"}[i]))
				}
				calls[99].In = calls[99].In[:1]
				for i, err := range callAll(t, ctx, pool, calls) {
					var died *extern.WorkerError
					var failed *extern.CallError
					switch {
					case i == 77 && !errors.As(err, &died), i == 88 && !errors.As(err, &failed), i == 99 && err == nil:
						t.Errorf("%d: %v", i, err)
					case i == 77 || i == 88 || i == 99:
					case err != nil:
						t.Error(i, err)
					case toInt(calls[i].Out[0]) != int64(i):
						t.Errorf("%d is %d", i, toInt(calls[i].Out[0]))
					default:
						give(pool, calls[i])
					}
				}
			}
			if got := pool.Stats().Calls; got != 3*197 {
				t.Errorf("%d calls", got)
			}
		})
	}
}

// Nobody waits for calls any longer than their context, and those that no worker has
// begun are not made.
func TestCallsTogetherThatAreCancelled(t *testing.T) {
	pool := open(t, extern.Options{Function: "functions:nap", In: intField, Gives: intField, Workers: 1})
	first := &extern.Call{In: []extern.Value{number(0)}}
	if err := pool.Call(within(t, time.Minute), first); err != nil { // the worker is there
		t.Fatal(err)
	}
	give(pool, first)

	ctx, cancel := context.WithCancel(within(t, time.Minute))
	var calls []*extern.Call
	for i := range int64(40) { // 12 s
		calls = append(calls, &extern.Call{In: []extern.Value{number(i)}})
	}
	time.AfterFunc(400*time.Millisecond, cancel)
	begun := time.Now()
	errs := callAll(t, ctx, pool, calls)
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	cancelled := 0
	for i, err := range errs {
		if errors.Is(err, context.Canceled) {
			cancelled++
		} else if err == nil {
			give(pool, calls[i])
		}
	}
	if cancelled < 30 {
		t.Errorf("%d of %d: %v", cancelled, len(calls), errs)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range callAll(t, within(t, time.Minute), pool, calls[:3]) {
		if !errors.Is(err, extern.ErrClosed) {
			t.Error(err)
		}
	}
}
