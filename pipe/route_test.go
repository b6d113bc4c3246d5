package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

type branches = []func(pipe.Flow[int]) pipe.Flow[int]

func byThrees(_ context.Context, v int) (int, error) { return v % 3, nil }

// plus is a branch of one stage that adds so much, and takes a while.
func plus(name string, n, workers int) func(pipe.Flow[int]) pipe.Flow[int] {
	return func(f pipe.Flow[int]) pipe.Flow[int] {
		return pipe.Map(f, func(ctx context.Context, v int) (int, error) {
			_, err := restless(ctx, v)
			return v + n, err
		}, pipe.Opts{Name: name, Workers: workers, Ordered: true})
	}
}

func asItIs(f pipe.Flow[int]) pipe.Flow[int] { return f }

// A branch that is not there is the item's failure; the error names the route and the
// number, and nothing hangs.
func TestE26OutOfRangeIsNamed(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, bad := range []int{-1, 2, 99} {
			synctest.Test(t, func(t *testing.T) {
				pick := func(_ context.Context, v int) (int, error) {
					if v == 7 {
						return bad, nil
					}
					return v % 2, nil
				}
				f := pipe.Route(pipe.From("numbers", pipetest.Numbers{N: 30}), pick, branches{plus("one", 0, 2), plus("two", 0, 1)}, pipe.RouteOpts{Name: "route", Ordered: ordered})
				run := start(t, f, pipe.Config{})
				got, err := drain(run)
				run.Close()
				stage, branch := (*pipe.StageError)(nil), (*pipe.BranchError)(nil)
				if !errors.As(err, &stage) || stage.Stage != "route" || stage.Pos != 7 || !errors.As(err, &branch) || branch.Branch != bad || !strings.Contains(err.Error(), fmt.Sprintf("route route: branch %d of 2", bad)) {
					t.Errorf("%v", err)
				}
				if slices.Sort(got); !slices.Equal(got, upTo(7)) {
					t.Errorf("%v", got)
				}
				lossy := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
				defer lossy.Close()
				if got := collect(t, lossy); len(got) != 29 || lossy.State().Sources["numbers"].Epoch != 1 {
					t.Errorf("%v", got)
				}
			})
		}
	}
}

// The router's own policy counts what it picks, and Skip drops.
func TestE25RoutersHaveAPolicy(t *testing.T) {
	pick := func(_ context.Context, v int) (int, error) {
		switch {
		case v%5 == 4:
			return 0, pipe.Skip
		case v == 2 || v == 10:
			panic(errBad)
		}
		return v % 2, nil
	}
	for count := 1; count <= 2; count++ {
		f := pipe.Route(pipe.From("numbers", pipetest.Numbers{N: 15}), pick, branches{asItIs, asItIs}, pipe.RouteOpts{Name: "route", Ordered: true, Failures: &pipe.Policy{Skip: true, Count: count}})
		run := start(t, f, pipe.Config{})
		got, err := drain(run)
		if want := []int{0, 1, 3, 5, 6, 7, 8, 11, 12, 13}[:3+4+3*(count-1)]; !slices.Equal(got, want) || count == 1 && !errors.Is(err, errBad) {
			t.Errorf("count %d: %v, %v", count, got, err)
		}
		run.Close()
	}
}

// When a branch fails, the others finish what they have, and then the failure comes. In
// order, it comes when it is its turn.
func TestE35BranchFailure(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bad := func(f pipe.Flow[int]) pipe.Flow[int] {
				return pipe.Map(f, failing(10), pipe.Opts{Name: "bad", Workers: 2, Ordered: true})
			}
			f := pipe.Route(pipe.From("numbers", pipetest.Numbers{N: -1}), byThrees, branches{plus("zero", 0, 1), bad, plus("two", 0, 3)}, pipe.RouteOpts{Name: "route", Ordered: ordered})
			run := start(t, f, pipe.Config{})
			defer run.Close()
			got, err := drain(run)
			stage := (*pipe.StageError)(nil)
			if !errors.As(err, &stage) || stage.Stage != "bad" || stage.Pos != 10 {
				t.Errorf("%v", err)
			}
			if ordered && !slices.Equal(got, upTo(10)) {
				t.Errorf("%v", got)
			}
			for v := range 10 {
				if !slices.Contains(got, v) {
					t.Errorf("ordered %v: %d is missing in %v", ordered, v, got)
				}
			}
		})
	}
}

func TestE2RouteMistakes(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 3})
	other := pipe.From("other", pipetest.Numbers{N: 3})
	loose := func(f pipe.Flow[int]) pipe.Flow[int] { return pipe.Map(f, same, pipe.Opts{Name: "loose", Workers: 2}) }
	o := pipe.RouteOpts{Name: "route"}
	ordered := pipe.RouteOpts{Name: "route", Ordered: true}
	for want, f := range map[string]pipe.Flow[int]{
		"stage route: it has no branches":               pipe.Route(numbers, byThrees, branches{}, o),
		"stage route: its function is nil":              pipe.Route(numbers, nil, branches{asItIs}, o),
		"stage route: branch 1 is nil":                  pipe.Route(numbers, byThrees, branches{asItIs, nil}, o),
		"branch 0 does not use its flow":                pipe.Route(numbers, byThrees, branches{func(pipe.Flow[int]) pipe.Flow[int] { return other }}, o),
		"(route): it has no name":                       pipe.Route(numbers, byThrees, branches{asItIs}, pipe.RouteOpts{}),
		"stage route: Buffer is -1":                     pipe.Route(numbers, byThrees, branches{asItIs}, pipe.RouteOpts{Name: "route", Buffer: -1}),
		"stage loose has 2 workers, and is not Ordered": pipe.Route(numbers, byThrees, branches{loose}, ordered),
		"stage loose: another stage has the same name":  pipe.Route(numbers, byThrees, branches{loose, loose}, o),
	} {
		if err := f.Check(); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
	text := pipe.Route(numbers, byThrees, branches{plus("one", 1, 1), asItIs}, o).String()
	for _, want := range []string{"route/join", "├─ one", "│  route/0", "│  route ", "│  numbers", "└─ route/1", "   route  "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
