package pipe_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// sums adds n numbers up, and what is left at the end.
type sums struct {
	n    int
	held []pipe.Held[int]
}

func (s *sums) Add(ctx context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	if s.held = append(s.held, v); len(s.held) == s.n {
		return s.Flush(ctx, e)
	}
	return nil
}

func (s *sums) Flush(_ context.Context, e *pipe.Emitter[int, int]) error {
	if len(s.held) > 0 {
		sum := 0
		for _, h := range s.held {
			sum += h.Value
		}
		e.Emit(sum, s.held...)
	}
	s.held = nil
	return nil
}

func summed(f pipe.Flow[int], name string, n int) pipe.Flow[int] {
	return pipe.Aggregate(f, func() pipe.Aggregator[int, int] { return &sums{n: n} }, pipe.AggregateOpts{Name: name})
}

// thrice makes v%3 numbers of v.
func thrice(ctx context.Context, v int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range v % 3 {
			if _, err := restless(ctx, v); err != nil || !yield(1000*v+i, nil) {
				return
			}
		}
	}
}

// turnsModel works out the outputs of turnsFlow, one number after the other.
func turnsModel(n int) (all []int) {
	var held, inner []int
	emit := func(held *[]int) {
		sum := 0
		for _, v := range *held {
			sum += v
		}
		if len(*held) > 0 {
			all = append(all, sum)
		}
		*held = nil
	}
	for v := range n {
		switch v % 4 {
		case 0:
			if held = append(held, v); len(held) == 3 {
				emit(&held)
			}
		case 1:
			for i := range v % 3 {
				all = append(all, 1000*v+i)
			}
		case 2:
			all = append(all, v)
		case 3:
			if v%8 == 3 {
				all = append(all, -v)
			} else if inner = append(inner, v); len(inner) == 2 {
				emit(&inner)
			}
		}
	}
	emit(&held)
	emit(&inner)
	return all
}

func turnsFlow(n, workers int) pipe.Flow[int] {
	by := func(n int) func(context.Context, int) (int, error) {
		return func(_ context.Context, v int) (int, error) { return v % n, nil }
	}
	negative := func(_ context.Context, v int) (int, error) { return -v, nil }
	within := func(f pipe.Flow[int]) pipe.Flow[int] {
		f = pipe.Map(f, restless, pipe.Opts{Name: "within", Workers: workers, Ordered: true})
		return pipe.Route(f, func(_ context.Context, v int) (int, error) { return v % 8 / 4, nil }, branches{
			func(f pipe.Flow[int]) pipe.Flow[int] {
				return pipe.Map(f, negative, pipe.Opts{Name: "negative", Workers: workers, Ordered: true})
			},
			func(f pipe.Flow[int]) pipe.Flow[int] { return summed(f, "twos", 2) },
		}, pipe.RouteOpts{Name: "inner", Buffer: 1, Ordered: true})
	}
	return pipe.Route(pipe.From("numbers", pipetest.Numbers{N: n}), by(4), branches{
		func(f pipe.Flow[int]) pipe.Flow[int] {
			f = pipe.Map(f, restless, pipe.Opts{Name: "before", Workers: workers, Ordered: true})
			return pipe.Map(summed(f, "threes", 3), same, pipe.Opts{Name: "after", Workers: workers, Ordered: true})
		},
		func(f pipe.Flow[int]) pipe.Flow[int] {
			return pipe.FlatMap(f, thrice, pipe.Opts{Name: "thrice", Workers: workers, Ordered: true})
		},
		asItIs, within,
	}, pipe.RouteOpts{Name: "route", Buffer: 1, Ordered: true})
}

// Outputs take the place of their item, whatever the branches are, epoch after epoch.
func TestBranchesThatMakeSeveralOfOneOrOneOfSeveralKeepOrder(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for n := range 30 {
			synctest.Test(t, func(t *testing.T) {
				run := start(t, turnsFlow(n, workers), pipe.Config{Epochs: 2})
				defer run.Close()
				want := turnsModel(n)
				for range 2 {
					if got := collect(t, run); !slices.Equal(got, want) {
						t.Errorf("%d numbers, %d workers:\n%v, not\n%v", n, workers, got, want)
					}
				}
			})
		}
	}
}

// A run goes on from every state as if it had not been interrupted.
func TestBranchesThatMakeSeveralOfOneOrOneOfSeveralResume(t *testing.T) {
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			pipetest.Resume(t, turnsFlow(29, workers), pipe.Config{Epochs: 2}, true, func(v int) []string { return []string{fmt.Sprint(v)} })
		})
	}
}

// A failure in a branch ends the run in its place, and is left out where that is
// tolerated.
func TestFailuresInBranchesThatMakeSeveralOfOne(t *testing.T) {
	breaks := func(_ context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if yield(v, nil) && v == 10 {
				yield(0, errBad)
			}
		}
	}
	many := func(f pipe.Flow[int]) pipe.Flow[int] {
		return pipe.FlatMap(f, breaks, pipe.Opts{Name: "many", Workers: 2, Ordered: true})
	}
	f := pipe.Route(pipe.From("numbers", pipetest.Numbers{N: 20}), byThrees, branches{asItIs, many, asItIs}, pipe.RouteOpts{Name: "route", Ordered: true})
	synctest.Test(t, func(t *testing.T) {
		run := start(t, f, pipe.Config{})
		defer run.Close()
		if got, err := drain(run); !slices.Equal(got, upTo(11)) || !contains(err, "many") {
			t.Errorf("%v, %v", got, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
		defer run.Close()
		if got := collect(t, run); !slices.Equal(got, upTo(20)) {
			t.Errorf("%v", got)
		}
	})
}
