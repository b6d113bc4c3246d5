package pipe_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// tries is an operation that fails for an item until it was tried so often.
type tries struct {
	mu   sync.Mutex
	need map[int]int
	at   map[int][]time.Duration // when it was tried, since began
	born time.Time
}

func (r *tries) do(_ context.Context, v int) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[v] = append(r.at[v], time.Since(r.born))
	if n := len(r.at[v]); n <= r.need[v] {
		if n%2 == 0 {
			panic(errBad)
		}
		return 0, errBad
	}
	return v, nil
}

// A failed item is tried again after a wait that grows, up to a limit; errors and panics
// alike. What still fails is a failure.
func TestE28RetryWithBackoff(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := &tries{need: map[int]int{1: 2, 3: 4, 5: 9}, at: make(map[int][]time.Duration), born: time.Now()}
			b := pipe.Backoff{Times: 4, First: time.Second, Most: 3 * time.Second}
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 8}), pipe.Retry(r.do, b), pipe.Opts{Name: "map", Workers: 8, Ordered: ordered})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
			got := collect(t, run)
			run.Close()
			if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2, 3, 4, 6, 7}) {
				t.Errorf("%v", got)
			}
			if want := []time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}; !slices.Equal(r.at[3], want) || len(r.at[5]) != 5 {
				t.Errorf("%v, %v", r.at[3], r.at[5])
			}
			if s := run.Stats().Stages[1]; s.Retried != 2+4+4 || s.Lost != 1 || s.Out != 7 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// What may not pass is not tried again, nor what was dropped on purpose; a stopped run
// does not wait.
func TestE28RetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		op := func(_ context.Context, v int) (int, error) {
			calls++
			if v == 1 {
				return 0, pipe.Skip
			}
			return 0, errBad
		}
		hopeless := pipe.Backoff{Times: 100, If: func(err error) bool { return !errors.Is(err, errBad) }}
		run := start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), pipe.Retry(op, hopeless), pipe.Opts{Name: "map"}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		collect(t, run)
		run.Close()
		if calls != 3 {
			t.Errorf("%d calls for 3 items", calls)
		}
		run = start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 1}), pipe.Retry(op, pipe.Backoff{Times: 2}), pipe.Opts{Name: "map"}), pipe.Config{})
		_, err := run.Next(context.Background())
		if tried := (*pipe.RetryError)(nil); !errors.As(err, &tried) || tried.Tries != 3 || !errors.Is(err, errBad) || !contains(err, "bad (tried 3 times)") {
			t.Error(err)
		}
		run.Close()
		run = start(t, pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), pipe.Retry(op, pipe.Backoff{Times: 100, First: time.Hour}), pipe.Opts{Name: "map"}), pipe.Config{})
		<-time.After(time.Minute)
		began := time.Now()
		run.Close()
		if time.Since(began) > 0 {
			t.Errorf("Close takes %v", time.Since(began))
		}
	})
}

// An operation that waits for its next try leaves the gate to others.
func TestE13RetryWaitsWithoutAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &tries{need: map[int]int{0: 1}, at: make(map[int][]time.Duration), born: time.Now()}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 4}), pipe.Retry(r.do, pipe.Backoff{Times: 1, First: time.Hour}), pipe.Opts{Name: "map", Workers: 2, Gate: pipe.NewGate(1)})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		for want := 1; want < 4; want++ {
			if v, err := run.Next(context.Background()); v != want || err != nil || time.Since(r.born) > 0 {
				t.Errorf("%v, %v after %v", v, err, time.Since(r.born))
			}
		}
		if got := collect(t, run); !slices.Equal(got, []int{0}) {
			t.Errorf("%v", got)
		}
	})
}

// A failed item is replaced, and counted; what cannot be replaced has failed.
func TestE28Replace(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			by := func(_ context.Context, v int, err error) (int, error) {
				if !errors.Is(err, errBad) || v == 5 {
					return 0, err
				}
				return -v, nil
			}
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 8}), pipe.Replace(failing(2, 3, 5), by), pipe.Opts{Name: "map", Workers: 3, Ordered: ordered})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
			got := collect(t, run)
			run.Close()
			if slices.Sort(got); !slices.Equal(got, []int{-3, -2, 0, 1, 4, 6, 7}) {
				t.Errorf("%v", got)
			}
			if s := run.Stats().Stages[1]; s.Replaced != 2 || s.Lost != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The items that failed reach a sink of the caller's, with their errors, and are lost all
// the same.
func TestE28DeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		dead := make(map[int]error)
		op := func(ctx context.Context, v int) (int, error) {
			if v == 6 {
				panic(errBad)
			}
			if v == 7 {
				return 0, pipe.Skip
			}
			return failing(2, 3)(ctx, v)
		}
		sink := func(_ context.Context, v int, err error) {
			mu.Lock()
			defer mu.Unlock()
			dead[v] = err
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 8}), pipe.DeadLetters(op, sink), pipe.Opts{Name: "map", Workers: 3, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		got := collect(t, run)
		run.Close()
		if !slices.Equal(got, []int{0, 1, 4, 5}) || len(dead) != 3 || !errors.Is(dead[2], errBad) || !errors.Is(dead[3], errBad) || !errors.Is(dead[6], errBad) {
			t.Errorf("%v, %v", got, dead)
		}
		if s := run.Stats().Stages[1]; s.Lost != 3 || s.Skipped != 1 {
			t.Errorf("%+v", s)
		}
	})
	if pipe.DeadLetters[int, int](nil, nil) != nil || pipe.Replace[int, int](nil, nil) != nil || pipe.Retry[int, int](nil, pipe.Backoff{}) != nil {
		t.Error("an operation around nothing is something")
	}
}
