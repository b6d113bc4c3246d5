package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// oneOfEachKind is a flow for each kind of stage, after the source numbers, with the
// names of the stages whose hooks are called.
func oneOfEachKind() map[string]pipe.Flow[int] {
	numbers := func(name string) pipe.Flow[int] { return pipe.From(name, pipetest.Numbers{N: 12}) }
	asIs := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	lists := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	parity := func(_ context.Context, v int) (int, error) { return v & 1, nil }
	first := func(f pipe.Flow[[]int]) pipe.Flow[int] {
		return pipe.Unbatch(f, pipe.UnbatchOpts{Name: "elements"})
	}
	batch := func() pipe.Flow[[]int] { return pipe.Batch(numbers("numbers"), 5, pipe.BatchOpts{Name: "stage"}) }
	write := func(_ context.Context, v int, b []int, row int) error { b[row] = v; return nil }
	all := map[string]pipe.Flow[int]{
		"source":         numbers("stage"),
		"map":            pipe.Map(numbers("numbers"), restless, pipe.Opts{Name: "stage", Workers: 3}),
		"map, ordered":   pipe.Map(numbers("numbers"), restless, pipe.Opts{Name: "stage", Workers: 3, Ordered: true}),
		"filter":         pipe.Filter(numbers("numbers"), func(context.Context, int) (bool, error) { return true, nil }, pipe.Opts{Name: "stage"}),
		"batch":          first(batch()),
		"aggregate":      first(pipe.Aggregate(numbers("numbers"), func() pipe.Aggregator[int, []int] { return &pairs{n: 2} }, pipe.AggregateOpts{Name: "stage"})),
		"route":          pipe.Route(numbers("numbers"), parity, branches{asIs, asIs}, pipe.RouteOpts{Name: "stage"}),
		"route, ordered": pipe.Route(numbers("numbers"), parity, branches{asIs, asIs}, pipe.RouteOpts{Name: "stage", Ordered: true}),
		"join, ordered":  pipe.Route(numbers("numbers"), parity, branches{asIs, asIs}, pipe.RouteOpts{Name: "route", Ordered: true}),
		"route of batches": first(pipe.RouteBatch(pipe.Batch(numbers("numbers"), 5, pipe.BatchOpts{Name: "batch"}), parity,
			batchBranches{lists, lists}, pipe.RouteBatchOpts{Name: "stage"})),
	}
	for _, ordered := range []bool{false, true} {
		all[fmt.Sprint("flatmap, ordered ", ordered)] = pipe.FlatMap(numbers("numbers"), each(func(v int) []int { return []int{v} }), pipe.Opts{Name: "stage", Workers: 2, Ordered: ordered})
		all[fmt.Sprint("fill, ordered ", ordered)] = first(pipe.Fill(numbers("numbers"), 4, plainStore{4}, write, pipe.FillOpts{Name: "stage", Workers: 2, Ordered: ordered}))
	}
	for _, o := range orders {
		o.Name = "stage"
		o.Weights = o.Weights[:min(2, len(o.Weights))]
		if o.Order == pipe.ByWeight {
			o.Weights = []float64{1, 2}
		}
		all["merge "+o.Order.String()] = pipe.Merge([]pipe.Flow[int]{pipe.From("numbers", pipetest.Numbers{N: 6}), pipe.From("more", pipetest.Numbers{N: 6, Value: func(_ int, pos int64) int { return int(pos) + 6 }})}, o)
	}
	return all
}

// All stages' hooks have returned when Next returns the io.EOF of the last epoch,
// whatever the kinds of stages; and Close has nothing left to end.
func TestStagesHaveEndedWhenTheLastEpochHas(t *testing.T) {
	for name, f := range oneOfEachKind() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, over := make(chan string, 100), make(chan string, 100)
				run := start(t, f, pipe.Config{Epochs: 2, Hooks: pipe.Hooks{Stage: func(i pipe.StageInfo) func(pipe.StageStats) {
					begun <- i.Name
					return func(s pipe.StageStats) { over <- s.Name }
				}}})
				defer run.Close()
				for range 2 {
					got := collect(t, run)
					slices.Sort(got)
					if !slices.Equal(got, upTo(12)) {
						t.Fatal(got)
					}
				}
				if len(begun) != len(over) {
					t.Errorf("%d stages have begun, %d have ended", len(begun), len(over))
				}
				if _, err := run.Next(t.Context()); err != pipe.ErrDone {
					t.Error(err)
				}
			})
		})
	}
}

// A hook that panics at the end of a stage takes nothing from the consumer: all items
// come, and the panic in place of the io.EOF, in every run.
func TestAPanicAtTheEndOfAStageComesBehindAllItems(t *testing.T) {
	for name, f := range oneOfEachKind() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := start(t, f, pipe.Config{Hooks: pipe.Hooks{Stage: func(i pipe.StageInfo) func(pipe.StageStats) {
					return func(s pipe.StageStats) {
						if s.Name == "stage" || s.Name == "route/join" {
							panic(errBad)
						}
					}
				}}})
				got, err := drain(run)
				slices.Sort(got)
				failed := (*pipe.StageError)(nil)
				if !slices.Equal(got, upTo(12)) || !errors.As(err, &failed) || !errors.As(err, new(*pipe.HookError)) || !errors.Is(err, errBad) {
					t.Errorf("%v, %v", got, err)
				}
				if _, again := run.Next(t.Context()); again == nil || again.Error() != err.Error() {
					t.Errorf("the next call returns %v", again)
				}
				if err := run.Close(); !errors.As(err, new(*pipe.HookError)) {
					t.Errorf("Close: %v", err)
				}
			})
		})
	}
}

// Where the run ends by a failure, by its context or by Close, that is what Next returns,
// and Close returns the hook's panic.
func TestAPanicAtTheEndOfAStageHidesNoFailure(t *testing.T) {
	hooks := pipe.Hooks{Stage: func(pipe.StageInfo) func(pipe.StageStats) {
		return func(pipe.StageStats) { panic("the hook") }
	}}
	fails := func(_ context.Context, v int) (int, error) {
		if v == 5 {
			return 0, errBad
		}
		return v, nil
	}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), fails, pipe.Opts{Name: "map", Workers: 3, Ordered: true})
	t.Run("failure", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			run := start(t, f, pipe.Config{Hooks: hooks})
			synctest.Wait()
			got, err := drain(run)
			if failed := (*pipe.StageError)(nil); !errors.As(err, &failed) || failed.Pos != 5 || !errors.Is(err, errBad) || !slices.Equal(got, upTo(5)) {
				t.Errorf("%v, %v", got, err)
			}
			if err := run.Close(); !contains(err, "stage map") || !contains(err, "stage numbers") || !errors.As(err, new(*pipe.HookError)) {
				t.Errorf("Close: %v", err)
			}
		})
	})
	t.Run("context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			run, err := pipe.Start(ctx, pipe.From("numbers", pipetest.Numbers{N: -1}), pipe.Config{Hooks: hooks})
			if err != nil {
				t.Fatal(err)
			}
			cancel(errBad)
			synctest.Wait()
			if _, err := run.Next(t.Context()); !errors.Is(err, errBad) {
				t.Error(err)
			}
			if err := run.Close(); !errors.As(err, new(*pipe.HookError)) {
				t.Errorf("Close: %v", err)
			}
		})
	})
}

// While a stage's hook runs, the end of the last epoch can be waited for with a context,
// and comes later.
func TestTheEndWaitsForHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		run := start(t, pipe.From("numbers", pipetest.Numbers{N: 0}), pipe.Config{Hooks: pipe.Hooks{Stage: func(pipe.StageInfo) func(pipe.StageStats) {
			return func(pipe.StageStats) { <-let }
		}}})
		defer run.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBad)
		for range 2 {
			if _, err := run.Next(ctx); err != errBad {
				t.Error(err)
			}
		}
		close(let)
		if _, err := run.Next(t.Context()); err != io.EOF {
			t.Error(err)
		}
		if _, err := run.Next(t.Context()); err != pipe.ErrDone {
			t.Error(err)
		}
	})
}
