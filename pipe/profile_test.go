package pipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

func takes(d time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) { return v, pipetest.Sleep(ctx, d) }
}

// Each stage is measured alone, with each number of workers: its rate is its own,
// whatever the others take. Every item is worked on once by every stage.
func TestE56ProfileOfAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner pipetest.Owner[int]
		op := func(d time.Duration) func(context.Context, int) (int, error) {
			return func(ctx context.Context, v int) (int, error) {
				owner.Gone(v)
				return owner.Made(v + 1000000), pipetest.Sleep(ctx, d)
			}
		}
		f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: -1, Every: time.Millisecond, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
		f = pipe.Discard(pipe.Map(f, op(100*time.Millisecond), pipe.Opts{Name: "decode", Workers: 7, Ordered: true}), owner.Gone)
		f = pipe.Filter(f, func(_ context.Context, v int) (bool, error) { return v%2 == 0, nil }, pipe.Opts{Name: "even"})
		f = pipe.Discard(pipe.Map(f, op(10*time.Millisecond), pipe.Opts{Name: "resize"}), owner.Gone)
		b := pipe.Batch(f, 5, pipe.BatchOpts{Name: "batch"})
		r, err := pipe.Profile(context.Background(), b, pipe.ProfileOpts{Items: 100, Workers: []int{1, 4}})
		if err != nil {
			t.Fatal(err)
		}
		if faults := owner.Faults(); len(faults) > 0 {
			t.Error(faults)
		}
		if r.Items != 200 || len(r.Stages) != 5 || r.Slowest().Name != "decode" {
			t.Fatalf("%+v", r)
		}
		near := func(got, want float64) bool { return math.Abs(got-want) < want/20 }
		for i, want := range []struct {
			name     string
			in, out  int64
			of, rate []float64
		}{
			{"numbers", 200, 200, []float64{1000}, []float64{1000}},
			{"decode", 100, 100, []float64{10, 40}, []float64{10, 40}},
			{"even", 100, 50, nil, nil},
			{"resize", 50, 50, []float64{200, 800}, []float64{100, 400}},
			{"batch", 100, 20, nil, nil},
		} {
			s := r.Stages[i]
			if s.Name != want.name {
				t.Errorf("stage %d is %s", i, s.Name)
			}
			for k, trial := range s.Trials {
				if trial.In != want.in || trial.Out != want.out || want.rate != nil && (!near(trial.Rate, want.rate[k]) || !near(trial.Source, want.of[k])) {
					t.Errorf("%s: %+v", s.Name, trial)
				}
			}
		}
		decode := r.Stages[1].Trials[1]
		if decode.Workers != 4 || decode.Mean != 100*time.Millisecond || decode.P99 < 100*time.Millisecond || r.Stages[1].Best() != decode {
			t.Errorf("%+v", decode)
		}
		text := r.String()
		for _, want := range []string{"decode", "of source/s", "decode is the slowest: 40", "with 4 workers"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
		doc, err := json.Marshal(r)
		var back pipe.Report
		if err == nil {
			err = json.Unmarshal(doc, &back)
		}
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%v: %s", err, doc)
		}
	})
}

// Stages of all kinds can be measured, a route with its branches as one. The same flow
// may run meanwhile, as it is.
func TestE56ProfileOfEveryKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := pipe.From("one", pipetest.Numbers{N: 60})
		two := pipe.Map(pipe.From("two", pipetest.Numbers{N: 30}), takes(time.Second), pipe.Opts{Name: "seconds"})
		f := pipe.Merge([]pipe.Flow[int]{one, two}, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
		f = pipe.FlatMap(f, twice, pipe.Opts{Name: "twice", Ordered: true})
		inner := func(f pipe.Flow[int]) pipe.Flow[int] {
			return pipe.Route(f, byThrees, branches{asItIs, plus("inner", 1, 1), asItIs}, pipe.RouteOpts{Name: "nested", Ordered: true})
		}
		f = pipe.Route(f, byThrees, branches{asItIs, plus("branch", 0, 2), inner}, pipe.RouteOpts{Name: "route", Ordered: true})
		f = pipe.Unbatch(pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "unbatch"})
		f = pipe.Unbatch(pipe.Aggregate(f, func() pipe.Aggregator[int, []int] { return &budget{limit: 1000} }, pipe.AggregateOpts{Name: "budget"}), pipe.UnbatchOpts{Name: "again"})
		b := pipe.Fill(f, 3, plainStore{3}, writeUnless(-1), pipe.FillOpts{Name: "fill"})
		run := start(t, b, pipe.Config{})
		var told []pipe.ProfileProgress
		r, err := pipe.Profile(context.Background(), b, pipe.ProfileOpts{Items: 10, Workers: []int{1, 2}, Progress: func(p pipe.ProfileProgress) { told = append(told, p) }})
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for _, s := range r.Stages {
			for _, trial := range s.Trials {
				if p := told[next]; p.Stage != s.Name || p.Workers != trial.Workers && p.Workers != 0 || p.Trial != next || p.Trials != len(told) {
					t.Errorf("trial %d of %d is of %s with %d workers, and told as %+v", next, len(told), s.Name, trial.Workers, p)
				}
				next++
			}
		}
		var names []string
		for _, s := range r.Stages {
			names = append(names, s.Name)
		}
		if want := []string{"one", "two", "seconds", "merge", "twice", "route", "batch", "unbatch", "budget", "again", "fill"}; !slices.Equal(names, want) {
			t.Errorf("%v", names)
		}
		if r.Items != 40 || r.Stages[3].Trials[0].In != 40 || r.Stages[4].Trials[1].Out != 40 || len(r.Stages[5].Trials) != 1 || r.Stages[5].Trials[0].In != 80 || r.Stages[10].Trials[1].Workers != 2 {
			t.Errorf("%+v", r)
		}
		if got := collect(t, run); len(got) == 0 {
			t.Error("the other run has nothing")
		}
		run.Close()
	})
}

func TestE56ProfileOfShortSources(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		f := pipe.Batch(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: n}), same, pipe.Opts{Name: "map"}), 2, pipe.BatchOpts{Name: "batch"})
		r, err := pipe.Profile(context.Background(), f, pipe.ProfileOpts{Items: 2})
		if err != nil || r.Items != int64(n) || len(r.Stages[1].Trials) != 5 || r.String() == "" {
			t.Errorf("%d: %+v, %v", n, r, err)
		}
	}
}

// What stops a stage stops the profile, and nothing that was recorded is left.
func TestE56ProfilesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []bool{false, true} {
			ctx, stop := context.WithTimeout(context.Background(), 90*time.Second)
			var owner pipetest.Owner[int]
			op := func(ctx context.Context, v int) (int, error) {
				err := pipetest.Sleep(ctx, time.Second)
				if err == nil && v == 31 && !late {
					err = errBad
				}
				if err != nil {
					owner.Gone(v)
				}
				return v, err
			}
			f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: -1, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
			f = pipe.Discard(pipe.Map(f, same, pipe.Opts{Name: "before"}), owner.Gone)
			f = pipe.Discard(pipe.Map(f, op, pipe.Opts{Name: "bad"}), owner.Gone)
			f = pipe.Discard(pipe.Map(f, same, pipe.Opts{Name: "behind"}), owner.Gone)
			_, err := pipe.Profile(ctx, f, pipe.ProfileOpts{Items: 100, Workers: []int{1, 3}})
			if failed := (*pipe.StageError)(nil); !late && (!errors.As(err, &failed) || failed.Stage != "bad") || late && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if faults := owner.Faults(); len(faults) > 0 {
				t.Error(faults)
			}
			stop()
		}
	})
	numbers := pipe.From("numbers", pipetest.Numbers{N: 3})
	for want, o := range map[string]pipe.ProfileOpts{
		"Items is -1":                     {Items: -1},
		"Workers is [2 0]":                {Workers: []int{2, 0}},
		"Config.Failures: an After of -1": {Failures: pipe.Policy{Skip: true, Count: 1, After: -1}},
		"Config.Epoch is -1":              {Epoch: -1},
		"must be numbers of workers":      {Workers: []int{}},
	} {
		if _, err := pipe.Profile(context.Background(), numbers, o); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
	if _, err := pipe.Profile(context.Background(), pipe.Flow[int]{}, pipe.ProfileOpts{}); err == nil {
		t.Error("the profile of an empty flow")
	}
}

// A consumer that takes 5 ms for items that take 10 ms could be twice as fast.
func TestE56Headspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner pipetest.Owner[int]
		f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: 30, Every: 10 * time.Millisecond, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
		stepped := make(map[int]int)
		step := func(ctx context.Context, v int) error {
			stepped[v]++
			return pipetest.Sleep(ctx, 5*time.Millisecond)
		}
		h, err := pipe.MeasureHeadspace(context.Background(), f, step, pipe.HeadspaceOpts{Items: 50, Cached: 4})
		if err != nil || h.Items != 50 || math.Abs(h.Ratio()-2) > 0.05 || h.Cached != 250*time.Millisecond || h.Waited < 240*time.Millisecond || h.Waited > 260*time.Millisecond {
			t.Errorf("%+v, %v", h, err)
		}
		if stepped[0] != 2+13 || stepped[29] != 1 {
			t.Errorf("%v", stepped)
		}
		if text := h.String(); !strings.Contains(text, "200 items/s from memory, which is 2.00 times as fast") && !strings.Contains(text, "which is 1.9") {
			t.Error(text)
		}
		if faults := owner.Faults(); len(faults) > 0 {
			t.Error(faults)
		}
	})
}

// In SPDL an empty source makes the cached replay hang. Here it is an error, like what
// goes wrong with a step or the flow.
func TestE56HeadspacesThatFail(t *testing.T) {
	var steps atomic.Int64
	for want, c := range map[string]struct {
		n    int
		bad  int
		from int64
		opts pipe.HeadspaceOpts
	}{
		"the flow's epochs are empty": {n: 0, bad: -1, from: 99},
		"value 20: bad":               {n: 30, bad: 20, from: 99},
		"step 3":                      {n: 30, bad: -1, from: 3},
		"step 9":                      {n: 30, bad: -1, from: 9},
		"step 15":                     {n: 30, bad: -1, from: 15},
		"-1 Items":                    {n: 3, opts: pipe.HeadspaceOpts{Items: -1}},
		"Config.Epoch is -1":          {n: 3, opts: pipe.HeadspaceOpts{Epoch: -1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var owner pipetest.Owner[int]
			steps.Store(0)
			step := func(context.Context, int) error {
				if steps.Add(1) == c.from {
					return errors.New("step " + want[5:])
				}
				return nil
			}
			if c.opts.Items == 0 {
				c.opts.Items, c.opts.Cached = 10, 4
				if c.bad >= 0 {
					c.opts.Items = 25
				}
			}
			f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: c.n, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
			f = pipe.Discard(pipe.Map(f, func(ctx context.Context, v int) (int, error) {
				_, err := failing(c.bad)(ctx, v)
				if err != nil {
					owner.Gone(v)
				}
				return v, err
			}, pipe.Opts{Name: "map", Ordered: true}), owner.Gone)
			if _, err := pipe.MeasureHeadspace(context.Background(), f, step, c.opts); !contains(err, want) {
				t.Errorf("wanted %q, got %v", want, err)
			}
			if len(owner.Faults()) > 0 {
				t.Error(owner.Faults())
			}
		})
	}
}
