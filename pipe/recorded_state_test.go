package pipe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

var rewrite = flag.Bool("rewrite", false, "write the recorded states again")

// recorded are flows that keep order, so that their states depend on nothing but the
// number of items that were taken.
func recorded() map[string]pipe.Flow[int] {
	numbers := func(name string, n int) pipe.Flow[int] { return pipe.From(name, pipetest.Numbers{N: n}) }
	same := func(_ context.Context, v int) (int, error) { return v, nil }
	odd := func(_ context.Context, v int) (int, error) { return v % 2, nil }
	thirds := func(_ context.Context, v int) (int, error) {
		if v%3 == 1 {
			return 0, errors.New("a third is bad")
		}
		return v, nil
	}
	twice := func(_ context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) { _ = yield(10*v, nil) && yield(10*v+1, nil) }
	}
	ordered := func(name string) pipe.Opts { return pipe.Opts{Name: name, Workers: 3, Ordered: true} }
	skips := ordered("bad")
	skips.Failures = &pipe.Policy{Skip: true, Count: pipe.NoLimit}
	unbatch := func(f pipe.Flow[[]int]) pipe.Flow[int] {
		return pipe.Unbatch(f, pipe.UnbatchOpts{Name: "unbatch"})
	}

	return map[string]pipe.Flow[int]{
		"source":    numbers("a", 9),
		"map":       pipe.Map(numbers("a", 9), same, ordered("map")),
		"losses":    pipe.Map(numbers("a", 9), thirds, skips),
		"unbatch":   unbatch(pipe.Batch(numbers("a", 9), 4, pipe.BatchOpts{Name: "batch"})),
		"flatmap":   pipe.FlatMap(numbers("a", 5), twice, ordered("twice")),
		"flatbatch": unbatch(pipe.Batch(pipe.FlatMap(numbers("a", 5), twice, ordered("twice")), 3, pipe.BatchOpts{Name: "batch"})),
		"aggregate": unbatch(pipe.Aggregate(numbers("a", 9), func() pipe.Aggregator[int, []int] { return &pairs{n: 2} }, pipe.AggregateOpts{Name: "pairs"})),
		"merge": pipe.Merge([]pipe.Flow[int]{numbers("a", 5), pipe.Map(numbers("b", 4), thirds, skips)},
			pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin}),
		"weights": pipe.Merge([]pipe.Flow[int]{numbers("a", 5), numbers("b", 4)},
			pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: []float64{1, 2}, Seed: 7, Until: pipe.Shortest}),
		"route": pipe.Route(numbers("a", 9), odd, pipe.Branches(pipe.AsIs[int], pipe.Mapped(same, ordered("odd"))),
			pipe.RouteOpts{Name: "route", Ordered: true}),
	}
}

// What a state says in JSON is an interface: runs of newer versions go on from it. So
// it does not change by a byte without somebody meaning it: then `go test ./pipe -run
// Recorded -rewrite`.
func TestRecordedStates(t *testing.T) {
	for name, f := range recorded() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for items := range 20 {
				state, more := after(t, f, items)
				text, err := json.Marshal(state)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%2d %s\n", items, text)
				if !more {
					break
				}
			}

			file := filepath.Join("testdata", "states", name+".txt")
			if *rewrite {
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, got.Bytes(), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("not as recorded in %s:\n%s\nnot\n%s", file, got.Bytes(), want)
			}
		})
	}
}

// Every recorded state is gone on with: after it comes what came in the run that it
// was saved in.
func TestRecordedStatesAreResumed(t *testing.T) {
	for name, f := range recorded() {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "states", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			whole := read(t, f, pipe.State{})
			for line := range bytes.Lines(text) {
				var items int
				var s pipe.State
				if _, err := fmt.Sscan(string(line[:2]), &items); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(line[3:], &s); err != nil {
					t.Fatal(err)
				}
				if got := read(t, f, s); !slices.Equal(got, whole[min(items, len(whole)):]) {
					t.Errorf("after %d: %v, not %v", items, got, whole[min(items, len(whole)):])
				}
			}
		})
	}
}

// after is the state after so many items of two epochs, whose ends count, too.
func after(t *testing.T, f pipe.Flow[int], items int) (s pipe.State, more bool) {
	run := start(t, f, pipe.Config{Until: 2})
	defer run.Close()
	for range items {
		if _, err := run.Next(t.Context()); err == pipe.ErrDone {
			return run.State(), false
		} else if err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	return run.State(), true
}

// read has what is left of two epochs, with -1 for the end of each.
func read(t *testing.T, f pipe.Flow[int], from pipe.State) (all []int) {
	run := start(t, f, pipe.Config{Until: 2, Resume: from})
	defer run.Close()
	for {
		v, err := run.Next(t.Context())
		switch err {
		case nil:
			all = append(all, v)
		case io.EOF:
			all = append(all, -1)
		case pipe.ErrDone:
			return all
		default:
			t.Fatal(err)
		}
	}
}
