package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// named is a source of the texts "0", "1" and so on. What is made of an item in the tests
// below has its name with a number after it, so that each item says where it is from.
func named(n int) pipe.Flow[string] {
	numbers := pipe.From("numbers", pipetest.Numbers{N: n})
	return pipe.Map(numbers, func(_ context.Context, v int) (string, error) { return fmt.Sprint(v), nil }, pipe.Opts{Name: "named"})
}

func outputsOf(f pipe.Flow[string], name string, n int) pipe.Flow[string] {
	return pipe.FlatMap(f, each(func(v string) (all []string) {
		for k := range n {
			all = append(all, fmt.Sprint(v, ".", k))
		}
		return all
	}), pipe.Opts{Name: name, Workers: 2, Ordered: true})
}

// A lost output is reported, and named by the error that ends a run, with the numbers of
// the outputs on its way, however it was put into batches and taken out of them again. A
// batch that is lost as a whole is each of what it holds.
func TestLossesNameTheOutput(t *testing.T) {
	batch := func(f pipe.Flow[string], name string, n int) pipe.Flow[[]string] {
		return pipe.Batch(f, n, pipe.BatchOpts{Name: name})
	}
	again := func(f pipe.Flow[string], n int) pipe.Flow[string] {
		name := fmt.Sprint("batch of ", n)
		return pipe.Unbatch(batch(f, name, n), pipe.UnbatchOpts{Name: "un" + name})
	}
	one := func(f pipe.Flow[string]) pipe.Flow[[]string] { return batch(f, "one", 1) }
	nested := pipe.Unbatch(pipe.Batch(batch(outputsOf(named(9), "two", 2), "inner", 3), 2, pipe.BatchOpts{Name: "outer"}), pipe.UnbatchOpts{Name: "outer flat"})

	for name, c := range map[string]struct {
		flow pipe.Flow[[]string]
		bad  string
	}{
		"an item":                    {one(named(9)), "5"},
		"an element":                 {one(again(named(9), 4)), "5"},
		"an output":                  {one(outputsOf(named(9), "three", 3)), "5.1"},
		"an output of an output":     {one(outputsOf(outputsOf(named(9), "three", 3), "two", 2)), "5.2.1"},
		"in a batch":                 {one(again(outputsOf(named(9), "three", 3), 4)), "5.1"},
		"in batches":                 {one(again(again(outputsOf(named(9), "three", 3), 4), 5)), "5.1"},
		"a batch of batches":         {one(pipe.Unbatch(nested, pipe.UnbatchOpts{Name: "flat"})), "5.1"},
		"an output of an element":    {one(outputsOf(again(named(9), 4), "three", 3)), "5.1"},
		"of an output in a batch":    {one(outputsOf(again(outputsOf(named(9), "three", 3), 4), "two", 2)), "5.1.0"},
		"a whole batch":              {batch(outputsOf(named(9), "three", 3), "whole", 4), "5.1"},
		"a whole batch of elements":  {batch(again(outputsOf(named(9), "three", 3), 4), "whole", 2), "5.1"},
		"one batch of several items": {batch(named(9), "whole", 4), "5"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var want []string
			fails := pipe.Map(c.flow, func(_ context.Context, v []string) ([]string, error) {
				if slices.Contains(v, c.bad) {
					want = v
					return nil, errBad
				}
				return v, nil
			}, pipe.Opts{Name: "fails"})
			var told []string
			tell := func(pos int64, output []int64) string {
				return strings.Trim(strings.ReplaceAll(fmt.Sprint(append([]int64{pos}, output...)), " ", "."), "[]")
			}
			run := start(t, fails, pipe.Config{Failures: pipe.Policy{Skip: true, Count: pipe.NoLimit}, Hooks: pipe.Hooks{
				Lost: func(l pipe.Loss) { told = append(told, tell(l.Pos, l.Output)) },
			}})
			defer run.Close()
			collect(t, run)
			if len(want) == 0 || !slices.Equal(told, want) {
				t.Errorf("%s: %q were told, %q were lost", name, told, want)
			}

			ends := start(t, fails, pipe.Config{})
			defer ends.Close()
			_, err := drain(ends)
			stage := (*pipe.StageError)(nil)
			if !errors.As(err, &stage) || tell(stage.Pos, stage.Output) != want[0] {
				t.Errorf("%s: %v, and %q were lost", name, err, want)
			}
			if _, number, some := strings.Cut(want[0], "."); some && !strings.Contains(err.Error(), ", output "+number+": ") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// An item that is made into a sequence which breaks off has failed itself, and so has one
// of which an output is made again in a resumed run.
func TestLossesOfTheItemItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaks := pipe.FlatMap(named(4), func(_ context.Context, v string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				if !yield(v+".0", nil) || v == "2" && !yield("", errBad) {
					return
				}
			}
		}, pipe.Opts{Name: "breaks"})
		var told []pipe.Loss
		run := start(t, breaks, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { told = append(told, l) }}})
		defer run.Close()
		collect(t, run)
		if len(told) != 1 || told[0].Pos != 2 || told[0].Output != nil {
			t.Errorf("%+v", told)
		}
	})
}
