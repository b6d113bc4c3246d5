package pipe_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// Settings that no run can have are mistakes in the description, which Start and Check
// return with the stage, the value and what is allowed.
func TestSettingsHaveBounds(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 1})
	double := func(_ context.Context, v int) (int, error) { return v, nil }
	mapped := func(o pipe.Opts) pipe.Flow[int] { o.Name = "map"; return pipe.Map(numbers, double, o) }
	filled := func(n int, o pipe.FillOpts) pipe.Flow[[]int] {
		o.Name = "fill"
		return pipe.Fill(numbers, n, plainStore{1}, func(context.Context, int, []int, int) error { return nil }, o)
	}
	asItIs := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	workers := fmt.Sprintf("it must be from 1 to %d", pipe.MaxWorkers)
	buffer := fmt.Sprintf("it must be from 1 to %d", pipe.MaxBuffer)
	batch := fmt.Sprintf("a batch must have from 1 to %d", pipe.MaxBatch)
	for name, c := range map[string]struct {
		f interface {
			Check() error
		}
		want []string
	}{
		"workers":           {mapped(pipe.Opts{Workers: math.MaxInt}), []string{"stage map: Workers is 9223372036854775807", workers}},
		"workers, just":     {mapped(pipe.Opts{Workers: pipe.MaxWorkers + 1}), []string{"stage map: Workers is 65537", workers}},
		"hands":             {mapped(pipe.Opts{InFlightPerWorker: math.MaxInt}), []string{"stage map: InFlightPerWorker is", workers}},
		"workers and hands": {mapped(pipe.Opts{Workers: 1 << 10, InFlightPerWorker: 1 << 10}), []string{"stage map: 1024 Workers with 1024 InFlightPerWorker", "at most 65536"}},
		"buffer":            {mapped(pipe.Opts{Buffer: 1 << 50}), []string{"stage map: Buffer is 1125899906842624", buffer}},
		"buffer of MapWith": {pipe.MapWith(numbers, func(context.Context) (func(context.Context, int) (int, error), func(), error) {
			return double, nil, nil
		}, pipe.Opts{Name: "map", Buffer: math.MaxInt}), []string{"stage map: Buffer is"}},
		"filter":         {pipe.Filter(numbers, func(context.Context, int) (bool, error) { return true, nil }, pipe.Opts{Name: "filter", Workers: math.MaxInt, Buffer: math.MaxInt}), []string{"filter: Workers is", "filter: Buffer is"}},
		"flatmap":        {pipe.FlatMap[int, int](numbers, nil, pipe.Opts{Name: "flat", Workers: math.MaxInt, Buffer: math.MaxInt}), []string{"flat: Workers is", "flat: Buffer is"}},
		"batch":          {pipe.Batch(numbers, math.MaxInt, pipe.BatchOpts{Name: "batch"}), []string{"stage batch: batches of 9223372036854775807 items", batch}},
		"batch's buffer": {pipe.Batch(numbers, 2, pipe.BatchOpts{Name: "batch", Buffer: math.MaxInt}), []string{"stage batch: Buffer is", buffer}},
		"unbatch":        {pipe.Unbatch(pipe.Batch(numbers, 2, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "elements", Buffer: math.MaxInt}), []string{"stage elements: Buffer is", buffer}},
		"fill":           {filled(math.MaxInt, pipe.FillOpts{}), []string{"stage fill: batches of 9223372036854775807 rows", batch}},
		"fill's workers": {filled(2, pipe.FillOpts{Workers: math.MaxInt, InFlightPerWorker: 2, Buffer: math.MaxInt}), []string{"stage fill: Workers is", "stage fill: Buffer is"}},
		"aggregate":      {pipe.Aggregate(numbers, func() pipe.Aggregator[int, int] { return nil }, pipe.AggregateOpts{Name: "agg", Buffer: math.MaxInt}), []string{"stage agg: Buffer is", buffer}},
		"merge":          {pipe.Merge([]pipe.Flow[int]{numbers}, pipe.MergeOpts{Name: "merge", Buffer: math.MaxInt}), []string{"stage merge: Buffer is", buffer}},
		"weights":        {pipe.Merge([]pipe.Flow[int]{numbers, pipe.From("more", pipetest.Numbers{})}, pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: []float64{math.MaxFloat64, math.MaxFloat64}}), []string{"stage merge", "sum is too large"}},
		"route":          {pipe.Route(numbers, double, []func(pipe.Flow[int]) pipe.Flow[int]{asItIs}, pipe.RouteOpts{Name: "route", Buffer: math.MaxInt}), []string{"stage route: Buffer is", buffer}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.f.Check()
			for _, want := range c.want {
				if !contains(err, want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
	if _, err := pipe.Start(t.Context(), numbers, pipe.Config{Epoch: math.MaxInt}); !contains(err, "Config.Epoch is") {
		t.Error(err)
	}
	if _, err := pipe.Profile(t.Context(), numbers, pipe.ProfileOpts{Items: math.MaxInt}); !contains(err, "ProfileOpts.Items is") {
		t.Error(err)
	}
	if _, err := pipe.Profile(t.Context(), numbers, pipe.ProfileOpts{Workers: []int{1, math.MaxInt}}); !contains(err, "ProfileOpts.Workers is") {
		t.Error(err)
	}
	if _, err := pipe.MeasureHeadspace(t.Context(), numbers, func(context.Context, int) error { return nil }, pipe.HeadspaceOpts{Cached: math.MaxInt}); !contains(err, "HeadspaceOpts has") {
		t.Error(err)
	}
	run := start(t, mapped(pipe.Opts{InFlightPerWorker: 4}), pipe.Config{})
	defer run.Close()
	if err := run.SetWorkers("map", math.MaxInt); !contains(err, "stage map: 9223372036854775807 workers: must be at most 16384") {
		t.Error(err)
	}
}

// The greatest settings work, and cost what comes: memory is for the items of a run and
// not for those that there could be.
func TestTheGreatestSettingsCostNothing(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 1000})
	same := func(_ context.Context, v int) (int, error) { return v, nil }
	write := func(_ context.Context, v int, b []int, row int) error { b[row] = v; return nil }
	count := func(t *testing.T, check func() int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := check(); got != 1000 {
			t.Errorf("%d items", got)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%d MiB for 1000 items", took>>20)
		}
	}
	all := func(t *testing.T, f pipe.Flow[int]) int {
		run := start(t, f, pipe.Config{})
		defer run.Close()
		return len(collect(t, run))
	}
	sum := func(t *testing.T, f pipe.Flow[[]int]) (n int) {
		run := start(t, f, pipe.Config{})
		defer run.Close()
		for _, b := range collect(t, run) {
			n += len(b)
		}
		return n
	}
	t.Run("buffer", func(t *testing.T) {
		f := pipe.Map(numbers, same, pipe.Opts{Name: "map", Workers: 4, Buffer: pipe.MaxBuffer, Ordered: true})
		f = pipe.Map(f, same, pipe.Opts{Name: "again", Buffer: pipe.MaxBuffer})
		count(t, func() int { return all(t, f) })
	})
	t.Run("batch", func(t *testing.T) {
		f := pipe.Batch(numbers, pipe.MaxBatch, pipe.BatchOpts{Name: "batch", Buffer: pipe.MaxBuffer})
		count(t, func() int { return sum(t, f) })
	})
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("fill, ordered ", ordered), func(t *testing.T) {
			f := pipe.Fill(numbers, pipe.MaxBatch, plainStore{1000}, write, pipe.FillOpts{Name: "fill", Workers: 4, Ordered: ordered, Buffer: pipe.MaxBuffer})
			count(t, func() int { return sum(t, f) })
		})
	}
	t.Run("gate", func(t *testing.T) {
		f := pipe.Map(numbers, same, pipe.Opts{Name: "map", Workers: 4, Gate: pipe.NewGate(math.MaxInt)})
		count(t, func() int { return all(t, f) })
	})
	t.Run("limit", func(t *testing.T) {
		f := pipe.Map(numbers, pipe.Limit(same, time.Duration(math.MaxInt64), nil), pipe.Opts{Name: "map"})
		count(t, func() int { return all(t, f) })
	})
}
