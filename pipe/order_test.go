package pipe_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// collect reads one epoch.
func collect[T any](t testing.TB, run *pipe.Run[T]) (all []T) {
	t.Helper()
	for v, err := range run.All() {
		if err != nil {
			t.Fatalf("after %v: %v", all, err)
		}
		all = append(all, v)
	}
	return all
}

func start[T any](t testing.TB, f pipe.Flow[T], c pipe.Config) *pipe.Run[T] {
	t.Helper()
	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// restless takes 0 to 6 ms, by no obvious rule.
func restless(ctx context.Context, v int) (int, error) {
	return v, pipetest.Sleep(ctx, time.Duration(v*v*31%7)*time.Millisecond)
}

func TestE9OneWorkerKeepsOrder(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		o := func(name string) pipe.Opts { return pipe.Opts{Name: name, Ordered: ordered} }
		all := pipe.Fill(pipe.From("numbers", pipetest.Numbers{N: 51}), 3, plainStore{3}, writeUnless(-1), pipe.FillOpts{Name: "fill", Ordered: ordered})
		f := pipe.Unbatch(all, pipe.UnbatchOpts{Name: "unbatch fill"})
		f = pipe.Map(f, restless, o("map"))
		f = pipe.Filter(f, func(context.Context, int) (bool, error) { return true, nil }, o("filter"))
		f = pipe.FlatMap(f, func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { yield(restless(ctx, v)) }
		}, o("flatmap"))
		f = pipe.MapWith(f, func(context.Context) (func(context.Context, int) (int, error), func(), error) {
			return restless, nil, nil
		}, o("with"))
		f = pipe.Route(f, func(context.Context, int) (int, error) { return 0, nil }, branches{asItIs}, pipe.RouteOpts{Name: "route", Ordered: ordered})
		f = pipe.Merge([]pipe.Flow[int]{f}, pipe.MergeOpts{Name: "merge"})
		f = pipe.Unbatch(pipe.Aggregate(f, budgets(40), pipe.AggregateOpts{Name: "aggregate"}), pipe.UnbatchOpts{Name: "unbatch"})
		batches := pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"})
		synctest.Test(t, func(t *testing.T) {
			run := start(t, batches, pipe.Config{})
			defer run.Close()
			if got := slices.Concat(collect(t, run)...); !slices.Equal(got, upTo(51)[1:]) { // the aggregator leaves zero out
				t.Errorf("ordered %v: %v", ordered, got)
			}
		})
	}
}

func TestE11FastItemsOvertakeSlowOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, v int) (int, error) {
			if v == 3 {
				return v, pipetest.Sleep(ctx, time.Second)
			}
			return v, nil
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), slow, pipe.Opts{Name: "map", Workers: 2})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		got := collect(t, run)
		if got[9] != 3 {
			t.Errorf("%v", got)
		}
		if slices.Sort(got); !slices.Equal(got, upTo(10)) {
			t.Errorf("%v", got)
		}
	})
}

func TestE12NeverMoreThanWorkersAtOnce(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, workers := range []int{1, 2, 4} {
			synctest.Test(t, func(t *testing.T) {
				var gauge pipetest.Gauge
				op := func(ctx context.Context, v int) (int, error) {
					defer gauge.Enter()()
					return restless(ctx, v)
				}
				f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 60}), op, pipe.Opts{Name: "map", Workers: workers, Buffer: 9, Ordered: ordered})
				run := start(t, f, pipe.Config{})
				defer run.Close()
				collect(t, run)
				if gauge.Max() != workers {
					t.Errorf("ordered %v: %d workers ran %d operations at once", ordered, workers, gauge.Max())
				}
			})
		}
	}
}

// With a consumer that does not read, a source is pulled a known number of items:
// SourceBuffer, Workers + Buffer for each map, Buffer + 1 batches for each batch, and for
// a fill Buffer batches and those that are being filled.
func TestE16IdleConsumerBoundsTheSource(t *testing.T) {
	source := func(pulled *atomic.Int64) pipe.Flow[int] {
		return pipe.From("numbers", pipetest.Numbers{N: -1, Pulled: func(int, int64) { pulled.Add(1) }})
	}
	cases := map[string]struct {
		want int64
		run  func(t *testing.T, f pipe.Flow[int]) io.Closer
	}{
		"source": {16, func(t *testing.T, f pipe.Flow[int]) io.Closer { return start(t, f, pipe.Config{}) }},
		"map": {16 + 3 + 5, func(t *testing.T, f pipe.Flow[int]) io.Closer {
			return start(t, pipe.Map(f, restless, pipe.Opts{Name: "map", Workers: 3, Buffer: 5}), pipe.Config{})
		}},
		"ordered map": {16 + 3 + 5, func(t *testing.T, f pipe.Flow[int]) io.Closer {
			return start(t, pipe.Map(f, restless, pipe.Opts{Name: "map", Workers: 3, Buffer: 5, Ordered: true}), pipe.Config{})
		}},
		"two maps, one with a buffer of 1": {16 + 3 + pipe.DefaultBuffer + 1 + 1, func(t *testing.T, f pipe.Flow[int]) io.Closer {
			f = pipe.Map(f, restless, pipe.Opts{Name: "map", Workers: 3})
			return start(t, pipe.Map(f, restless, pipe.Opts{Name: "again", Buffer: 1}), pipe.Config{})
		}},
		"batch, with the default": {16 + 4*(1+pipe.DefaultBatchBuffer), func(t *testing.T, f pipe.Flow[int]) io.Closer {
			return start(t, pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"}), pipe.Config{})
		}},
		"batch": {16 + 4*(1+3), func(t *testing.T, f pipe.Flow[int]) io.Closer {
			return start(t, pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch", Buffer: 3}), pipe.Config{})
		}},
		"fill": {16 + 4*(2+3), func(t *testing.T, f pipe.Flow[int]) io.Closer {
			return start(t, pipe.Fill(f, 4, plainStore{4}, writeUnless(-1), pipe.FillOpts{Name: "fill", Workers: 2, Buffer: 3, Ordered: true}), pipe.Config{})
		}},
		"fill in completion order": {16 + 4*(2+3), func(t *testing.T, f pipe.Flow[int]) io.Closer {
			return start(t, pipe.Fill(f, 4, plainStore{4}, writeUnless(-1), pipe.FillOpts{Name: "fill", Workers: 2, Buffer: 3}), pipe.Config{})
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pulled atomic.Int64
				run := c.run(t, source(&pulled))
				defer run.Close()
				<-time.After(time.Hour)
				if pulled.Load() != c.want {
					t.Errorf("%d items were pulled, wanted %d", pulled.Load(), c.want)
				}
			})
		})
	}
}

func TestE19LastBatch(t *testing.T) {
	for _, c := range []struct {
		items, n int
		dropLast bool
		sizes    []int
	}{{10, 4, false, []int{4, 4, 2}}, {10, 4, true, []int{4, 4}}, {8, 4, false, []int{4, 4}}, {8, 4, true, []int{4, 4}}, {3, 4, true, nil}, {0, 4, false, nil}, {3, 1, true, []int{1, 1, 1}}} {
		f := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: c.items}), c.n, pipe.BatchOpts{Name: "batch", DropLast: c.dropLast})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		var sizes []int
		batches := collect(t, run)
		for _, b := range batches {
			sizes = append(sizes, len(b))
		}
		kept := len(slices.Concat(batches...))
		if !slices.Equal(sizes, c.sizes) || !slices.Equal(slices.Concat(batches...), upTo(kept)) {
			t.Errorf("%+v: %v", c, batches)
		}
		if s := run.Stats().Stages[1]; s.In != int64(c.items) || s.Out != int64(len(sizes)) || s.Skipped != int64(c.items-kept) {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}

func TestE6EveryValuePassesThrough(t *testing.T) {
	var none error
	values := []any{nil, 0, false, "", []int(nil), none, io.EOF}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: len(values)}),
		func(_ context.Context, i int) (any, error) { return values[i], nil }, pipe.Opts{Name: "map", Ordered: true})
	f = pipe.Filter(f, func(context.Context, any) (bool, error) { return true, nil }, pipe.Opts{Name: "filter", Workers: 2, Ordered: true})
	f = pipe.Unbatch(pipe.Batch(f, 3, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "unbatch"})
	f = pipe.Merge([]pipe.Flow[any]{f}, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
	run := start(t, f, pipe.Config{})
	defer run.Close()
	if got := collect(t, run); !reflect.DeepEqual(got, values) {
		t.Errorf("%#v", got)
	}
}

func TestE45EndIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 10}), restless, pipe.Opts{Name: "map", Workers: 10})
		run := start(t, f, pipe.Config{})
		collect(t, run)
		if _, err := run.Next(context.Background()); !errors.Is(err, pipe.ErrDone) {
			t.Errorf("after the last epoch: %v", err)
		}
		run.Close()
		if took := time.Since(began); took > 6*time.Millisecond {
			t.Errorf("ten items of at most 6 ms at once took %v", took)
		}
	})
}
