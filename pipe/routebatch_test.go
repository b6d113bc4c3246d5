package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

type batchBranches = []func(pipe.Flow[[]int]) pipe.Flow[[]int]

// times is a branch of one stage that multiplies, takes a while, and does something else
// with some of its lists: what odd says for the batch number of their first element.
func times(name string, n, workers int, odd func(batch int) error) func(pipe.Flow[[]int]) pipe.Flow[[]int] {
	return func(f pipe.Flow[[]int]) pipe.Flow[[]int] {
		return pipe.Map(f, func(ctx context.Context, list []int) ([]int, error) {
			if _, err := restless(ctx, list[0]); err != nil {
				return nil, err
			}
			if odd != nil {
				if err := odd(list[0] / 6); err != nil {
					return nil, err
				}
			}
			out := make([]int, 0, len(list))
			for _, v := range list {
				out = append(out, v*n)
			}
			return out, nil
		}, pipe.Opts{Name: name, Workers: workers, Ordered: true})
	}
}

func sixes(n int) pipe.Flow[[]int] {
	return pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: n}), 6, pipe.BatchOpts{Name: "batch"})
}

// In SPDL a branch that drops a list, fails, or works on several at once makes the rest
// of the run glue halves of different batches together, without an error. Here every
// batch has its own parts, whatever its branches do with theirs.
func TestE27BatchedRoutingKeepsParts(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, drops := range [][]int{nil, {0}, {2, 3}, {9}, {1, 4, 8}} {
			for _, fails := range [][]int{nil, {0}, {3, 4}, {9}} {
				synctest.Test(t, func(t *testing.T) {
					drop := func(batch int) error {
						if slices.Contains(drops, batch) {
							return pipe.Skip
						}
						return nil
					}
					fail := func(batch int) error {
						if slices.Contains(fails, batch) {
							return errBad
						}
						return nil
					}
					f := pipe.RouteBatch(sixes(60), byThrees, batchBranches{times("zero", 1, workers, nil), times("one", 10, workers, drop), times("two", 100, workers, fail)}, pipe.RouteBatchOpts{Name: "route"})
					var losses []int64
					run := start(t, f, pipe.Config{Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { losses = append(losses, l.Pos) }}})
					defer run.Close()
					for range 2 {
						var want [][]int
						var lost []int64
						for b := range 10 {
							at := 6 * b
							if slices.Contains(fails, b) {
								for i := range 6 {
									lost = append(lost, int64(at+i))
								}
								continue
							}
							batch := []int{at, at + 3}
							if !slices.Contains(drops, b) {
								batch = append(batch, 10*(at+1), 10*(at+4))
							}
							want = append(want, append(batch, 100*(at+2), 100*(at+5)))
						}
						losses = nil
						if got := collect(t, run); fmt.Sprint(got) != fmt.Sprint(want) || !slices.Equal(losses, lost) {
							t.Fatalf("%d workers, %v dropped, %v fail:\n%v, lost %v, not\n%v, lost %v", workers, drops, fails, got, losses, want, lost)
						}
					}
				})
			}
		}
	}
}

// A failure stops the run at its batch; those before it come whole.
func TestE27FailureOfAPart(t *testing.T) {
	for _, bad := range []int{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			fail := func(batch int) error {
				if batch == bad {
					return errBad
				}
				return nil
			}
			var owner pipetest.Owner[int]
			f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: -1, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
			b := pipe.Batch(f, 6, pipe.BatchOpts{Name: "batch"})
			own := func(name string, odd func(int) error) func(pipe.Flow[[]int]) pipe.Flow[[]int] {
				return func(f pipe.Flow[[]int]) pipe.Flow[[]int] {
					return pipe.Discard(pipe.Map(f, func(ctx context.Context, list []int) ([]int, error) {
						_, err := restless(ctx, list[0])
						if err == nil {
							err = odd(list[0] / 6)
						}
						if err != nil {
							for _, v := range list {
								owner.Gone(v)
							}
						}
						return list, err
					}, pipe.Opts{Name: name, Workers: 2, Ordered: true}), func(list []int) {
						for _, v := range list {
							owner.Gone(v)
						}
					})
				}
			}
			good := func(int) error { return nil }
			r := pipe.RouteBatch(b, byThrees, batchBranches{own("zero", good), own("one", fail), own("two", good)}, pipe.RouteBatchOpts{Name: "route"})
			run := start(t, r, pipe.Config{})
			got, err := drain(run)
			for _, batch := range got {
				for _, v := range batch {
					owner.Gone(v)
				}
			}
			run.Close()
			stage := (*pipe.StageError)(nil)
			if !errors.As(err, &stage) || stage.Stage != "one" || stage.Pos != int64(6*bad) || len(got) != bad {
				t.Errorf("%d is bad: %v, %v", bad, got, err)
			}
			if faults := owner.Faults(); len(faults) > 0 {
				t.Errorf("%d is bad: %v", bad, faults)
			}
		})
	}
}

// Elements for which pick skips are dropped, with the batch when there is nothing else;
// an empty batch stays one. A pick that fails is the failure of its batch.
func TestE27Picks(t *testing.T) {
	lists := [][]int{{0, 1, 2}, {}, {3, 4}, {4, 4}, {5, 6}, {99, 1}, {6, 0}}
	pick := func(_ context.Context, v int) (int, error) {
		switch v {
		case 4:
			return 0, pipe.Skip
		case 5:
			panic(errBad)
		case 99:
			return 2, nil
		}
		return v % 2, nil
	}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: len(lists)}), pipe.At(lists), pipe.Opts{Name: "lists"})
	asIs := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	for _, own := range []bool{false, true} {
		var policy *pipe.Policy
		if own {
			policy = &pipe.Policy{Skip: true, Count: 2}
		}
		var lost []pipe.Loss
		run := start(t, pipe.RouteBatch(f, pick, batchBranches{asIs, asIs}, pipe.RouteBatchOpts{Name: "route", Failures: policy}),
			pipe.Config{Failures: pipe.Policy{Skip: true, Count: 2}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l) }}})
		got := collect(t, run)
		if want := "[[0 2 1] [] [3] [6 0]]"; fmt.Sprint(got) != want || run.State().Sources["numbers"].Epoch != 1 {
			t.Errorf("own %v: %v", own, got)
		}
		branch := (*pipe.BranchError)(nil)
		if len(lost) != 2 || !errors.Is(lost[0].Err, errBad) || !errors.As(lost[1].Err, &branch) || branch.Branch != 2 || branch.Route != "route" {
			t.Errorf("own %v: %v", own, lost)
		}
		run.Close()
	}
}

func TestE2RouteBatchMistakes(t *testing.T) {
	loose := func(f pipe.Flow[[]int]) pipe.Flow[[]int] {
		return pipe.Map(f, func(_ context.Context, v []int) ([]int, error) { return v, nil }, pipe.Opts{Name: "loose", Workers: 2})
	}
	rebatch := func(f pipe.Flow[[]int]) pipe.Flow[[]int] {
		return pipe.Batch(pipe.Unbatch(f, pipe.UnbatchOpts{Name: "elements"}), 2, pipe.BatchOpts{Name: "pairs"})
	}
	o := pipe.RouteBatchOpts{Name: "route"}
	for want, f := range map[string]pipe.Flow[[]int]{
		"stage route: it has no branches":             pipe.RouteBatch(sixes(6), byThrees, batchBranches{}, o),
		"stage route: its function is nil":            pipe.RouteBatch(sixes(6), nil, batchBranches{rebatch}, o),
		"branch 0 cannot keep the order: stage loose": pipe.RouteBatch(sixes(6), byThrees, batchBranches{loose}, o),
		"branch 0 cannot keep the order: stage pairs": pipe.RouteBatch(sixes(6), byThrees, batchBranches{rebatch}, o),
	} {
		if err := f.Check(); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}
