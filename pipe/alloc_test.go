package pipe_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// What an item costs on its way is time, which the benchmarks tell, and no memory. A
// batch costs its slice, and where items overtake each other a list of their positions.
func TestE18ItemsCostNoMemory(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: -1})
	for name, c := range map[string]struct {
		flow pipe.Flow[[]int]
		most float64 // allocations for each batch of 100
	}{
		"batch":            {pipe.Batch(numbers, 100, pipe.BatchOpts{Name: "batch"}), 1},
		"map in any order": {pipe.Batch(pipe.Map(numbers, same, pipe.Opts{Name: "map", Workers: 3, Buffer: 64}), 100, pipe.BatchOpts{Name: "batch"}), 8},
		"map":              {pipe.Batch(pipe.Map(numbers, same, pipe.Opts{Name: "map"}), 100, pipe.BatchOpts{Name: "batch"}), 1},
	} {
		run := start(t, c.flow, pipe.Config{Hooks: pipe.Tee(pipe.Hooks{}, pipe.Hooks{})})
		read := func(n int) {
			for range n {
				if _, err := run.Next(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		}
		read(200)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		batches := tier.Cases(200, 1000)
		read(batches)
		runtime.ReadMemStats(&after)
		if got := float64(after.Mallocs-before.Mallocs) / float64(batches); got > c.most+0.5 {
			t.Errorf("%s: %.2f allocations for each batch of 100", name, got)
		}
		run.Close()
	}
}
