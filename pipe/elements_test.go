package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// However items were put together and taken apart again, an element that fails is one
// loss, of the source item that it was made of: for the policy, the hook, the state, and
// the error that ends the run.
func TestALostElementIsOneLoss(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 12})
	flat := func(f pipe.Flow[[]int]) pipe.Flow[int] { return pipe.Unbatch(f, pipe.UnbatchOpts{Name: "flat"}) }
	batch := func(f pipe.Flow[int]) pipe.Flow[[]int] { return pipe.Batch(f, 4, pipe.BatchOpts{Name: "batch"}) }
	backwards := func() pipe.Aggregator[int, []int] { return &reverser{} }
	asItIs := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	write := func(_ context.Context, v int, b []int, row int) error { b[row] = v; return nil }
	tens := each(func(v int) []int { return []int{v, 100 + v} })
	for name, f := range map[string]pipe.Flow[int]{
		"batch":     flat(batch(numbers)),
		"flatmap":   pipe.FlatMap(batch(numbers), each(asList), pipe.Opts{Name: "own"}),
		"aggregate": flat(pipe.Aggregate(numbers, backwards, pipe.AggregateOpts{Name: "backwards"})),
		"outputs":   pipe.Aggregate(numbers, func() pipe.Aggregator[int, int] { return &opener{pairs{n: 4}} }, pipe.AggregateOpts{Name: "opened"}),
		"fill":      flat(pipe.Fill(numbers, 4, plainStore{4}, write, pipe.FillOpts{Name: "fill"})),
		"nested":    flat(pipe.Unbatch(pipe.Batch(batch(numbers), 2, pipe.BatchOpts{Name: "outer"}), pipe.UnbatchOpts{Name: "outer flat"})),
		"again":     pipe.Unbatch(pipe.Batch(flat(batch(numbers)), 5, pipe.BatchOpts{Name: "second"}), pipe.UnbatchOpts{Name: "second flat"}),
		"children":  flat(batch(pipe.FlatMap(numbers, tens, pipe.Opts{Name: "tens"}))),
		"divided": flat(pipe.RouteBatch(batch(numbers), func(_ context.Context, v int) (int, error) { return v % 2, nil }, batchBranches{asItIs, asItIs},
			pipe.RouteBatchOpts{Name: "divide"})),
		"turns": flat(batch(pipe.Merge([]pipe.Flow[int]{numbers}, pipe.MergeOpts{Name: "turns", Order: pipe.RoundRobin}))),
	} {
		synctest.Test(t, func(t *testing.T) {
			var lost []int64
			run := start(t, pipe.Map(f, failing(6), pipe.Opts{Name: "map"}), pipe.Config{
				Failures: pipe.Policy{Skip: true, Count: 1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l.Pos) }},
			})
			defer run.Close()
			var state []int64
			for {
				if _, err := run.Next(context.Background()); err != nil {
					break
				}
				state = append(state, run.State().Sources["numbers"].Lost...)
			}
			slices.Sort(state)
			if state = slices.Compact(state); !slices.Equal(lost, []int64{6}) || !slices.Equal(state, lost) {
				t.Errorf("%s: %v are told, %v are in states", name, lost, state)
			}
			if _, err := run.Next(context.Background()); !errors.Is(err, pipe.ErrDone) {
				t.Errorf("%s: %v", name, err)
			}
			ends := start(t, pipe.Map(f, failing(6), pipe.Opts{Name: "map"}), pipe.Config{})
			defer ends.Close()
			_, err := drain(ends)
			if stage := (*pipe.StageError)(nil); !errors.As(err, &stage) || stage.Pos != 6 {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// reverser puts four together, the last one first.
type reverser struct{ held []pipe.Held[int] }

func (r *reverser) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	if r.held = append(r.held, v); len(r.held) == 4 {
		slices.Reverse(r.held)
		e.Emit(valuesOf(r.held), r.held...)
		r.held = nil
	}
	return nil
}

func (r *reverser) Flush(context.Context, *pipe.Emitter[int, []int]) error { return nil }

// What is put together again of elements and lost as a whole is all of these, and no
// others; what a sequence does not come to is lost with its end.
func TestALostBatchOfElementsIsTheseElements(t *testing.T) {
	flat := pipe.Unbatch(pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 12}), 6, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "flat"})
	pairs := pipe.Batch(flat, 2, pipe.BatchOpts{Name: "pairs"})
	whole := pipe.Map(pairs, func(_ context.Context, v []int) (int, error) {
		if v[0] == 8 {
			return 0, errBad
		}
		return v[0], nil
	}, pipe.Opts{Name: "whole"})
	breaks := pipe.FlatMap(pipe.Batch(flat, 4, pipe.BatchOpts{Name: "fours"}), func(_ context.Context, all []int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for _, v := range all {
				if v == 6 {
					yield(0, errBad)
					return
				}
				if !yield(v, nil) {
					return
				}
			}
		}
	}, pipe.Opts{Name: "breaks"})
	for want, f := range map[string]pipe.Flow[int]{"[8 9]": whole, "[6 7]": breaks} {
		synctest.Test(t, func(t *testing.T) {
			var lost []int64
			run := start(t, f, pipe.Config{
				Failures: pipe.Policy{Skip: true, Count: 2}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l.Pos) }},
			})
			defer run.Close()
			collect(t, run)
			if fmt.Sprint(lost) != want {
				t.Errorf("%v, not %v", lost, want)
			}
		})
	}
}
