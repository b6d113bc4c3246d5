package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Each worker begins once and ends once, its operation is nobody else's, and all have
// ended when Close returns.
func TestE15EveryWorkerHasItsOwn(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for cut := range 12 {
			synctest.Test(t, func(t *testing.T) {
				var began, ended pipetest.Gauge
				begin := func(context.Context) (func(context.Context, int) (int, error), func(), error) {
					began.Enter()
					var alone sync.Mutex
					op := func(ctx context.Context, v int) (int, error) {
						if !alone.TryLock() {
							t.Error("two items in one worker")
						}
						defer alone.Unlock()
						return restless(ctx, v)
					}
					return op, func() { ended.Enter() }, nil
				}
				f := pipe.MapWith(pipe.From("numbers", pipetest.Numbers{N: 10}), begin, pipe.Opts{Name: "map", Workers: 3, Ordered: ordered})
				run := start(t, f, pipe.Config{})
				var got []int
				for range cut {
					if v, err := run.Next(context.Background()); err == nil {
						got = append(got, v)
					}
				}
				run.Close()
				if ordered && !slices.Equal(got, upTo(min(cut, 10))) || began.Now() != 3 || ended.Now() != 3 {
					t.Errorf("cut %d: %v, %d began, %d ended", cut, got, began.Now(), ended.Now())
				}
			})
		}
	}
}

// A worker that cannot begin stops the run, also where failures are tolerated.
func TestE15WorkersThatCannotBegin(t *testing.T) {
	none := func(context.Context, int) (int, error) { return 0, nil }
	for _, how := range []func() (func(context.Context, int) (int, error), func(), error){
		func() (func(context.Context, int) (int, error), func(), error) { return none, nil, errBad },
		func() (func(context.Context, int) (int, error), func(), error) { panic(errBad) },
		func() (func(context.Context, int) (int, error), func(), error) { return nil, nil, nil },
	} {
		for _, ordered := range []bool{false, true} {
			f := pipe.MapWith(pipe.From("numbers", pipetest.Numbers{N: 10}), func(context.Context) (func(context.Context, int) (int, error), func(), error) { return how() },
				pipe.Opts{Name: "map", Workers: 2, Ordered: ordered, Failures: &pipe.Policy{Skip: true, Count: -1}})
			run := start(t, f, pipe.Config{})
			got, err := drain(run)
			run.Close()
			stage := (*pipe.StageError)(nil)
			if len(got) > 0 || !errors.As(err, &stage) || stage.Stage != "map" || !contains(err, "could not begin") {
				t.Errorf("%v, %v", got, err)
			}
		}
	}
	if err := pipe.MapWith[int, int](pipe.From("numbers", pipetest.Numbers{}), nil, pipe.Opts{Name: "map"}).Check(); !contains(err, "function is nil") {
		t.Error(err)
	}
}

// What panics at the end of a worker is reported by Close.
func TestE15EndMayPanic(t *testing.T) {
	begin := func(context.Context) (func(context.Context, int) (int, error), func(), error) {
		return same, func() { panic(errBad) }, nil
	}
	run := start(t, pipe.MapWith(pipe.From("numbers", pipetest.Numbers{N: 3}), begin, pipe.Opts{Name: "map"}), pipe.Config{})
	collect(t, run)
	if err := run.Close(); !errors.Is(err, errBad) || !contains(err, fmt.Sprintf("stage %s", "map")) {
		t.Error(err)
	}
}
