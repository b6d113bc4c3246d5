package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// A worker of bench is a process that runs the recipe with one number of workers, a
// slice of time whenever it is asked to. It reads lines of JSON from its standard
// input, the first a benchOrder, the others benchTasks, and answers each with a
// benchAnswer on its standard output. It ends with its input.

// benchOrder says what to run.
type benchOrder struct {
	Recipe json.RawMessage `json:"recipe"`
	Config headrace.Config `json:"config"`
}

// benchTask asks for a slice.
type benchTask struct {
	Warm    float64 `json:"warm"` // seconds that are not measured
	Seconds float64 `json:"seconds"`
}

// benchAnswer is what a worker says.
type benchAnswer struct {
	Ready *benchReady `json:"ready,omitempty"` // to the order
	Slice *benchSlice `json:"slice,omitempty"` // to a task
	Error string      `json:"error,omitempty"`
	Usage bool        `json:"usage,omitempty"` // the error is the user's mistake
}

// benchReady is what is known before the first slice.
type benchReady struct {
	Rows        int   `json:"rows"`
	Samples     int64 `json:"samples"`
	SampleBytes int64 `json:"sample_bytes"`
	BatchBytes  int64 `json:"batch_bytes"`
}

func benchWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "bench-worker",
		Short:       "Be a process that bench measures",
		Args:        cobra.NoArgs,
		Hidden:      true,
		Annotations: map[string]string{deaf: ""},
		RunE: func(c *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM) // bench ends with what it has measured, and closes the input
			return benchWorker(c.Context(), os.Stdin, os.Stdout)
		},
	}
}

func benchWorker(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, ctx := linesOf(ctx, in)
	answers := json.NewEncoder(out)
	b, err := newBench(ctx, <-lines)
	if err != nil {
		return answers.Encode(failure(err))
	}
	defer b.loader.Close()
	if err := answers.Encode(benchAnswer{Ready: b.ready()}); err != nil {
		return err
	}
	for line := range lines {
		var task benchTask
		if err := json.Unmarshal(line, &task); err != nil {
			return err
		}
		s, err := b.run(ctx, task)
		if err != nil {
			return answers.Encode(failure(err))
		}
		if err := answers.Encode(benchAnswer{Slice: &s}); err != nil {
			return err
		}
	}
	return nil
}

func failure(err error) benchAnswer {
	return benchAnswer{Error: err.Error(), Usage: exitCode(&commandError{err}) == exitUsage}
}

// linesOf hands on lines. The context ends with the input: whoever reads the answers is
// gone then.
func linesOf(ctx context.Context, in io.Reader) (<-chan []byte, context.Context) {
	lines := make(chan []byte, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	return lines, ctx
}

// benchRun is the loader that is measured.
type benchRun struct {
	loader *headrace.Loader
}

func newBench(ctx context.Context, line []byte) (*benchRun, error) {
	var order benchOrder
	if err := json.Unmarshal(line, &order); err != nil {
		return nil, fmt.Errorf("headrace: no measurement was requested: %w", err)
	}
	r, err := recipe.Parse(order.Recipe)
	if err != nil {
		return nil, err
	}
	l, err := headrace.Open(ctx, r, order.Config, headrace.Options{})
	if err != nil {
		return nil, err
	}
	if err := someBatch(l.Info()); err != nil {
		l.Close()
		return nil, err
	}
	return &benchRun{l}, nil
}

func (b *benchRun) ready() *benchReady {
	e := inspectEngine(b.loader)
	return &benchReady{Rows: e.Rows, Samples: e.Samples, SampleBytes: e.SampleBytes, BatchBytes: e.BatchBytes}
}

// run measures from one batch to another. What comes before is not counted: the engine
// starts, and fills its queues.
func (b *benchRun) run(ctx context.Context, task benchTask) (benchSlice, error) {
	if err := b.loader.Start(b.loader.State(), nil); err != nil {
		return benchSlice{}, err
	}
	defer b.loader.Stop() // the others have the machine for themselves
	if _, _, err := b.take(ctx, task.Warm); err != nil {
		return benchSlice{}, err
	}
	before := readMeters(b.loader)
	batches, samples, err := b.take(ctx, task.Seconds)
	if err != nil {
		return benchSlice{}, err
	}
	s := readMeters(b.loader).since(before)
	s.Batches, s.Samples = batches, samples
	return s, nil
}

// take lets go of batches at once, for so long, and until the next one: at least one is
// taken.
func (b *benchRun) take(ctx context.Context, seconds float64) (batches, samples int64, err error) {
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	empty := 0
	for {
		batch, err := b.loader.Next(ctx)
		switch {
		case err == io.EOF && empty < 2: // the second one without a batch between ended a whole epoch
			empty++
			continue
		case err == io.EOF:
			return 0, 0, errors.New("headrace: a whole epoch gave no batch: all its samples were lost")
		case err != nil:
			return 0, 0, err
		}

		empty = 0
		batches++
		if n := int64(batch.Rows()); !b.loader.Info().Whole {
			samples += n
		} else {
			samples += batch.Samples()
		}

		batch.Release()
		if !time.Now().Before(end) {
			return batches, samples, nil
		}
	}
}
