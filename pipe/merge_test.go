package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// hundreds is a source of n numbers: 100k, 100k+1, … and 1000 more in each epoch.
func hundreds(k, n int) pipe.Flow[int] {
	return pipe.From(fmt.Sprint("source", k), pipetest.Numbers{N: n, Value: func(epoch int, pos int64) int { return 1000*epoch + 100*k + int(pos) }})
}

func slowed(f pipe.Flow[int], name string) pipe.Flow[int] {
	return pipe.Map(f, restless, pipe.Opts{Name: name, Workers: 3, Ordered: true})
}

var orders = []pipe.MergeOpts{{Order: pipe.Arrival}, {Order: pipe.RoundRobin}, {Order: pipe.ByWeight, Weights: []float64{1, 2, 0.5}, Seed: 7}}

// An input that fails is reported when the others have yielded all they had, and all that
// have failed are reported, each by its stage and item.
func TestE23FailedInputsAreReportedWhenTheOthersAreThrough(t *testing.T) {
	for _, o := range orders {
		synctest.Test(t, func(t *testing.T) {
			o.Name = "merge"
			one := pipe.Map(hundreds(0, 9), failing(4), pipe.Opts{Name: "one"})
			two := pipe.Map(hundreds(2, 9), failing(201), pipe.Opts{Name: "two"})
			run := start(t, pipe.Merge([]pipe.Flow[int]{one, hundreds(1, 6), two}, o), pipe.Config{})
			defer run.Close()
			got, err := drain(run)
			if slices.Sort(got); !slices.Equal(got, []int{0, 1, 2, 3, 100, 101, 102, 103, 104, 105, 200}) {
				t.Errorf("%v: %v", o.Order, got)
			}
			blamed := make(map[string]int64)
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				s := e.(*pipe.StageError)
				blamed[s.Stage+" "+s.Source] = s.Pos
			}
			if len(blamed) != 2 || blamed["one source0"] != 4 || blamed["two source2"] != 1 || !errors.Is(err, errBad) {
				t.Errorf("%v: %v", o.Order, err)
			}
			if _, again := run.Next(context.Background()); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
}

// If so asked, a merge ends at the failure of an input: in turns, where the item that has
// failed would have been.
func TestE23MergesFailFast(t *testing.T) {
	for _, o := range orders {
		synctest.Test(t, func(t *testing.T) {
			o.Name, o.FailFast = "merge", true
			var owner pipetest.Owner[int]
			own := func(n int) pipe.Flow[int] {
				return pipe.Discard(pipe.Map(hundreds(n, 100), func(ctx context.Context, v int) (int, error) {
					if err := pipetest.Sleep(ctx, time.Second); err != nil {
						return 0, err
					}
					return owner.Made(v), nil
				}, pipe.Opts{Name: fmt.Sprint("make", n), Workers: 3, Ordered: true}), owner.Gone)
			}
			bad := pipe.Discard(pipe.Map(hundreds(2, 9), failing(202), pipe.Opts{Name: "bad"}), owner.Gone)
			inner := pipe.Merge([]pipe.Flow[int]{bad, own(3)}, pipe.MergeOpts{Name: "inner", Order: o.Order, Weights: slices.Clone(o.Weights[:min(2, len(o.Weights))]), FailFast: true})
			run := start(t, pipe.Merge([]pipe.Flow[int]{own(0), own(1), inner}, o), pipe.Config{})
			got, err := drain(run)
			for _, v := range got {
				if v < 200 || v >= 300 {
					owner.Gone(v)
				}
			}
			if want := []int{0, 100, 200, 1, 101, 300, 2, 102, 201, 3, 103, 301, 4, 104}; o.Order == pipe.RoundRobin && !slices.Equal(got, want) {
				t.Errorf("%v", got)
			}
			if s := (*pipe.StageError)(nil); !errors.As(err, &s) || s.Stage != "bad" || s.Pos != 2 || len(got) > 80 {
				t.Errorf("%v: %v, after %d items", o.Order, err, len(got))
			}
			if _, again := run.Next(context.Background()); again != err {
				t.Errorf("then %v", again)
			}
			run.Close()
			if f := owner.Faults(); len(f) > 0 {
				t.Errorf("%v: %v", o.Order, f)
			}
		})
	}
}

func TestE24MergeRoundRobin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := []pipe.Flow[int]{slowed(hundreds(0, 2), "slow"), hundreds(1, 5), hundreds(2, 4)}
		run := start(t, pipe.Merge(flows, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin}), pipe.Config{})
		defer run.Close()
		if got := collect(t, run); !slices.Equal(got, []int{0, 100, 200, 1, 101, 201, 102, 202, 103, 203, 104}) {
			t.Errorf("%v", got)
		}
	})
}

// The first to have an item is the first: a slow input holds nobody up.
func TestE24MergeByArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := pipe.From("slow", pipetest.Numbers{N: 2, Every: time.Hour})
		run := start(t, pipe.Merge([]pipe.Flow[int]{slow, hundreds(1, 50)}, pipe.MergeOpts{Name: "merge", Buffer: 1}), pipe.Config{})
		defer run.Close()
		began := time.Now()
		for range 50 {
			if _, err := run.Next(context.Background()); err != nil || time.Since(began) > 0 {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
		}
		if got := collect(t, run); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("%v", got)
		}
	})
}

// Inputs come as often as their weights say, in another order in each epoch and for each
// seed, and always in the same for the same.
func TestE24MergeByWeight(t *testing.T) {
	mixed := func(seed uint64, epochs int) (all [][]int) {
		flows := []pipe.Flow[int]{hundreds(0, 5000), hundreds(1, 5000), hundreds(2, 5000)}
		f := pipe.Merge(flows, pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: []float64{3, 1, 2}, Seed: seed, Until: pipe.Shortest, Buffer: 100})
		run := start(t, f, pipe.Config{Epochs: epochs})
		defer run.Close()
		for range epochs {
			all = append(all, nil)
			for v, err := range run.All() {
				if err != nil {
					t.Fatal(err)
				}
				all[len(all)-1] = append(all[len(all)-1], v)
			}
		}
		return all
	}
	one := mixed(1, 2)
	if again := mixed(1, 2); !slices.EqualFunc(one, again, slices.Equal[[]int]) {
		t.Error("the same seed gives another order")
	}
	if slices.Equal(one[0], mixed(2, 1)[0]) {
		t.Error("another seed gives the same order")
	}
	if n := float64(len(one[0])); math.Abs(n-10000) > 300 {
		t.Errorf("the heaviest input ends after %v items of all", n)
	}
}

// An epoch that ends with its shortest input lets the sources of the others go on with
// the next one, also those that have no end.
func TestE24MergeUntilTheShortestEnds(t *testing.T) {
	for _, o := range orders {
		synctest.Test(t, func(t *testing.T) {
			o.Name, o.Until, o.Weights = "merge", pipe.Shortest, o.Weights[:min(2, len(o.Weights))]
			var owner pipetest.Owner[int]
			endless := pipe.Discard(pipe.Map(hundreds(1, -1), func(ctx context.Context, v int) (int, error) {
				if err := pipetest.Sleep(ctx, time.Millisecond); err != nil {
					return 0, err
				}
				return owner.Made(v), nil
			}, pipe.Opts{Name: "make", Workers: 3, Ordered: true}), owner.Gone)
			f := pipe.Merge([]pipe.Flow[int]{hundreds(0, 5), endless}, o)
			run := start(t, f, pipe.Config{Epochs: 3})
			for epoch := range 3 {
				short, next := 0, 1000*epoch+100
				for _, v := range collect(t, run) {
					if v%1000 < 100 {
						short++
						continue
					}
					owner.Gone(v)
					if v != next {
						t.Errorf("%v: epoch %d: %d, wanted %d", o.Order, epoch, v, next)
					}
					next++
				}
				if short != 5 || o.Order == pipe.RoundRobin && next%1000 != 105 {
					t.Errorf("%v: epoch %d: %d of the short one, then %d", o.Order, epoch, short, next)
				}
			}
			if _, err := run.Next(context.Background()); err != pipe.ErrDone {
				t.Error(err)
			}
			run.Close()
			if f := owner.Faults(); len(f) > 0 {
				t.Errorf("%v: %v", o.Order, f)
			}
		})
	}
}

// A failure after the end of the epoch is none of it. A source that has run into it by
// then reports it in the next one, if there is one; one that has not goes on with that.
func TestE24FailureBehindTheShortest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := pipe.From("bad", pipetest.Numbers{N: 9, Fail: func(_ int, pos int64) error {
			if pos == 3 {
				return errBad
			}
			return nil
		}})
		for epochs := 1; epochs <= 2; epochs++ {
			f := pipe.Merge([]pipe.Flow[int]{bad, hundreds(1, 2)}, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin, Until: pipe.Shortest})
			run := start(t, f, pipe.Config{Epochs: epochs})
			if got := collect(t, run); !slices.Equal(got, []int{0, 100, 1, 101, 2}) {
				t.Errorf("%v", got)
			}
			got, err := drain(run)
			switch {
			case epochs == 2 && errors.Is(err, errBad):
			case epochs == 2 && err == io.EOF && slices.Equal(got, []int{0, 1100, 1, 1101, 2}):
			case epochs == 1 && err == pipe.ErrDone:
			default:
				t.Errorf("of %d epochs: %v, %v", epochs, got, err)
			}
			run.Close()
		}
	})
}

func TestE2MergeMistakes(t *testing.T) {
	a, b := hundreds(0, 1), hundreds(1, 1)
	both := []pipe.Flow[int]{a, b}
	for want, f := range map[string]pipe.Flow[int]{
		"stage merge: it merges nothing":                 pipe.Merge[int](nil, pipe.MergeOpts{Name: "merge"}),
		"stage merge: Order is 9":                        pipe.Merge(both, pipe.MergeOpts{Name: "merge", Order: 9}),
		"stage merge: Until is -1":                       pipe.Merge(both, pipe.MergeOpts{Name: "merge", Until: -1}),
		"Weights are for ByWeight":                       pipe.Merge(both, pipe.MergeOpts{Name: "merge", Weights: []float64{1, 2}}),
		"1 Weights for 2 inputs":                         pipe.Merge(both, pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: []float64{1}}),
		"a weight of 0":                                  pipe.Merge(both, pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: []float64{1, 0}}),
		"a weight of NaN":                                pipe.Merge(both, pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: []float64{1, math.NaN()}}),
		"(merge): it has no name":                        pipe.Merge(both, pipe.MergeOpts{}),
		"source0: its items are taken by two stages":     pipe.Merge([]pipe.Flow[int]{a, a}, pipe.MergeOpts{Name: "merge"}),
		"stage source0: another stage has the same name": pipe.Merge([]pipe.Flow[int]{a, hundreds(0, 1)}, pipe.MergeOpts{Name: "merge"}),
		"begins with From":                               pipe.Merge([]pipe.Flow[int]{a, {}}, pipe.MergeOpts{Name: "merge"}),
		"taken by two stages, one and two":               pipe.Merge([]pipe.Flow[int]{slowed(a, "one"), slowed(a, "two")}, pipe.MergeOpts{Name: "merge"}),
	} {
		if _, err := pipe.Start(context.Background(), f, pipe.Config{}); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
	f := pipe.Merge(both, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
	state := func(change func(*pipe.State)) pipe.Config {
		s := pipe.State{Version: 1, Sources: map[string]pipe.SourceState{"source0": {}, "source1": {}}, Merges: map[string]pipe.Progress{"merge": {}}}
		change(&s)
		return pipe.Config{Resume: s}
	}
	for want, c := range map[string]pipe.Config{
		"lacks the turns of the merge merge":               state(func(s *pipe.State) { s.Merges = nil }),
		"has turns of a merge other":                       state(func(s *pipe.State) { s.Merges["other"] = pipe.Progress{} }),
		"merge merge: position -1":                         state(func(s *pipe.State) { s.Merges["merge"] = pipe.Progress{Low: -1} }),
		"source0 in epoch 0 and source source1 in epoch 2": state(func(s *pipe.State) { s.Sources["source1"] = pipe.SourceState{Epoch: 2} }),
	} {
		if _, err := pipe.Start(context.Background(), f, c); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}

// An epoch may have a number of items: then it ends as with the shortest input. Where
// there are fewer it ends with the last. All of it resumes, and no batch has items of
// two epochs.
func TestMergeOfSoManyItems(t *testing.T) {
	for _, o := range orders[1:] {
		for _, most := range []int64{1, 4, 9, 15, 16, 17, 100} {
			o.Name, o.Items = "merge", most
			flows := func() []pipe.Flow[int] {
				return []pipe.Flow[int]{hundreds(0, 9), slowed(hundreds(1, 2), "slow"), hundreds(2, 5)}
			}
			synctest.Test(t, func(t *testing.T) {
				all := o
				all.Items = 0
				whole := start(t, pipe.Merge(flows(), all), pipe.Config{Epochs: 2})
				defer whole.Close()
				run := start(t, pipe.Merge(flows(), o), pipe.Config{Epochs: 2})
				defer run.Close()
				for epoch := range 2 {
					want := collect(t, whole)
					want = want[:min(int(most), len(want))]
					if got := collect(t, run); !slices.Equal(got, want) {
						t.Errorf("%v, %d items: epoch %d: %v, want %v", o.Order, most, epoch, got, want)
					}
				}
				batches := pipe.Batch(pipe.Merge(flows(), o), 3, pipe.BatchOpts{Name: "batch"})
				pipetest.Resume(t, batches, pipe.Config{Epochs: 2}, true, printAll)
				anyhow := pipe.Map(pipe.Merge(flows(), o), restless, pipe.Opts{Name: "behind", Workers: 4})
				pipetest.Resume(t, anyhow, pipe.Config{Epochs: 2}, false, func(v int) []string { return []string{fmt.Sprint(v)} })
			})
		}
	}
	for _, o := range []pipe.MergeOpts{{Name: "merge", Items: 3}, {Name: "merge", Order: pipe.RoundRobin, Items: -1}} {
		if err := pipe.Merge([]pipe.Flow[int]{hundreds(0, 9)}, o).Check(); !contains(err, "Items is") {
			t.Error(err)
		}
	}
}
