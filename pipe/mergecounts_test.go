package pipe_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// What a merge takes are items, as of any stage: not the losses and drops of its inputs,
// which only pass. In is what came in, Out what was handed on, Skipped what a shorter
// input has cut off.
func TestMergesCountItems(t *testing.T) {
	odd := func(_ context.Context, v int) (int, error) {
		switch {
		case v%4 == 1:
			return 0, errBad
		case v%4 == 3:
			return 0, pipe.Skip
		}
		return v, nil
	}
	input := func(name string, n int) pipe.Flow[int] {
		return pipe.Map(pipe.From(name, pipetest.Numbers{N: n}), odd, pipe.Opts{Name: "odd " + name, Workers: 2, Ordered: true})
	}
	parity := func(_ context.Context, v int) (int, error) { return v / 2 & 1, nil }
	branch := func(name string) func(pipe.Flow[int]) pipe.Flow[int] {
		return func(f pipe.Flow[int]) pipe.Flow[int] {
			return pipe.Map(f, func(_ context.Context, v int) (int, error) {
				if v%8 == 0 {
					return 0, errBad
				}
				return v, nil
			}, pipe.Opts{Name: name})
		}
	}
	flows := map[string]struct {
		flow    pipe.Flow[int]
		in, out int64 // of the stage
	}{}
	for _, o := range orders {
		for _, until := range []pipe.Until{pipe.Longest, pipe.Shortest} {
			o := o
			o.Name, o.Until = "stage", until
			if o.Order == pipe.ByWeight {
				o.Weights = []float64{1, 2}
			}
			in := int64(2 * (20 + 30))
			if until == pipe.Shortest {
				in = -1 // as far as it comes
			}
			flows[fmt.Sprint(o.Order, " ", until)] = struct {
				flow    pipe.Flow[int]
				in, out int64
			}{pipe.Merge([]pipe.Flow[int]{input("a", 40), input("b", 60)}, o), in, in}
		}
	}
	for _, ordered := range []bool{false, true} {
		// Of 80 items 40 are left, of which 20 go into each branch, and 20 of the first
		// are lost there.
		flows[fmt.Sprint("route, ordered ", ordered)] = struct {
			flow    pipe.Flow[int]
			in, out int64
		}{pipe.Route(input("a", 80), parity, branches{branch("even"), branch("odd")}, pipe.RouteOpts{Name: "stage", Ordered: ordered}), 2 * 30, 2 * 30}
	}
	for name, c := range flows {
		t.Run(name, func(t *testing.T) {
			run := start(t, c.flow, pipe.Config{Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}})
			defer run.Close()
			got := int64(len(collect(t, run)) + len(collect(t, run)))
			for _, s := range run.Stats().Stages {
				if s.Name != "stage" && s.Name != "stage/join" || s.Kind == "route" {
					continue
				}
				if c.in >= 0 && (s.In != c.in || s.Skipped != 0) || s.Out != got || s.In != s.Out+s.Skipped || c.out >= 0 && s.Out != c.out {
					t.Errorf("%d in, %d out, %d skipped; the consumer has got %d, wanted %d", s.In, s.Out, s.Skipped, got, c.in)
				}
			}
		})
	}
}
