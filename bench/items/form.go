package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A form is what a pipeline of maps looks like.
type form struct {
	stages, workers, buffer int
	ordered, gate, channels bool
	batch                   int
	items                   int // of the epoch; 0: no end
}

// ahead is how many items are ready between two stages.
func (f form) ahead() int {
	if f.buffer == 0 {
		return pipe.DefaultBuffer
	}
	return f.buffer
}

func chain(f form) pipe.Flow[int] {
	n := f.items
	if n == 0 {
		n = -1
	}
	var gate *pipe.Gate
	if f.gate {
		gate = pipe.NewGate(runtime.GOMAXPROCS(0))
	}
	flow := pipe.From("numbers", pipetest.Numbers{N: n})
	for stage := range f.stages {
		name := fmt.Sprintf("stage %d", stage+1)
		flow = pipe.Map(flow, same, pipe.Opts{Name: name, Workers: f.workers, Buffer: f.buffer, Ordered: f.ordered, Gate: gate})
	}
	return flow
}

func batches(f form) pipe.Flow[[]int] {
	return pipe.Batch(chain(f), f.batch, pipe.BatchOpts{Name: "batch", Buffer: f.buffer})
}

func same(_ context.Context, v int) (int, error) { return v, nil }
