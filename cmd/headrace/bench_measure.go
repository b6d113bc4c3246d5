package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// benchPlan says what to measure.
type benchPlan struct {
	recipe  recipe.Recipe
	config  headrace.Config
	workers []int
	rounds  int
	seconds float64 // of each number of workers, in all
	warm    float64 // before each slice
}

// benchColumn is what was measured with one number of workers.
type benchColumn struct {
	workers int
	slices  []benchSlice
}

// benchResult is what bench found out, be it that it was interrupted.
type benchResult struct {
	plan    benchPlan
	ready   benchReady
	columns []benchColumn
}

// measure starts a process for each number of workers and has them run in turns: A B C,
// B C A, C A B. What happens to the machine meanwhile happens to all of them. What was
// measured before an error is in the result.
func measure(ctx context.Context, plan benchPlan, open func(workers int),
	tell func(round, workers int, s benchSlice)) (benchResult, error) {
	m := benchResult{plan: plan}
	var all []*benchProcess
	defer func() {
		for _, p := range all {
			p.end()
		}
	}()

	for _, n := range plan.workers {
		open(n)
		p, err := startBenchProcess(ctx, plan.recipe, withWorkers(plan.config, n))
		if err != nil {
			return m, err
		}
		all, m.ready = append(all, p), p.ready
		m.columns = append(m.columns, benchColumn{workers: n})
	}

	task := benchTask{Warm: plan.warm, Seconds: plan.seconds / float64(plan.rounds)}
	for round := range plan.rounds {
		for k := range all {
			k = (k + round) % len(all)
			s, err := all[k].run(task)
			if err != nil {
				return m, err
			}
			m.columns[k].slices = append(m.columns[k].slices, s)
			tell(round, plan.workers[k], s)
		}
	}
	return m, nil
}

func withWorkers(c headrace.Config, n int) headrace.Config {
	c.Workers, c.Epochs = &n, nil
	return c
}

// benchProcess is a process that measures when it is asked to.
type benchProcess struct {
	ctx     context.Context
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	ready   benchReady
}

func startBenchProcess(ctx context.Context, r recipe.Recipe, c headrace.Config) (*benchProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}

	p := &benchProcess{ctx: ctx, command: exec.CommandContext(ctx, self, "bench-worker")}
	p.command.Stderr = os.Stderr
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)

	if err := p.command.Start(); err != nil {
		return nil, err
	}

	text, err := json.Marshal(r)
	if err == nil {
		var a benchAnswer
		if a, err = p.ask(benchOrder{text, c}); err == nil {
			p.ready = *a.Ready
		}
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func (p *benchProcess) run(task benchTask) (benchSlice, error) {
	a, err := p.ask(task)
	if err != nil {
		return benchSlice{}, err
	}
	return *a.Slice, nil
}

// ask waits for an answer.
func (p *benchProcess) ask(question any) (benchAnswer, error) {
	var a benchAnswer
	err := json.NewEncoder(p.in).Encode(question)
	if err == nil {
		var line []byte
		if line, err = p.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &a)
		}
	}
	switch {
	case p.ctx.Err() != nil:
		return a, p.ctx.Err()
	case err != nil:
		p.in.Close()
		return a, fmt.Errorf("headrace: a process that was measured ended: %w", errors.Join(p.command.Wait(), err))
	case a.Error != "" && a.Usage:
		return a, wrongUse(errors.New(a.Error))
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (p *benchProcess) end() {
	p.in.Close()
	p.command.Wait() // it ends with its input
}

// total is what all slices of a column come to.
func (c benchColumn) total() benchSlice {
	var sum benchSlice
	for k, s := range c.slices {
		sum.Seconds += s.Seconds
		sum.Batches += s.Batches
		sum.Samples += s.Samples
		sum.CPUSeconds += s.CPUSeconds
		switch {
		case k == 0:
			sum.Delayed, sum.DiskBytes, sum.Stats = s.Delayed, s.DiskBytes, s.Stats
		default:
			sum.Stats = sum.Stats.Plus(s.Stats)
			sum.Delayed = addKnown(sum.Delayed, s.Delayed)
			sum.DiskBytes = addKnown(sum.DiskBytes, s.DiskBytes)
		}
		sum.PeakRSS = max(sum.PeakRSS, s.PeakRSS)
		sum.PeakBudget = max(sum.PeakBudget, s.PeakBudget)
		sum.Budget = s.Budget
	}
	return sum
}

// addKnown adds readings that the system may not give.
func addKnown[T int64 | float64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// slowest and fastest are the rates of slices, in samples a second.
func (c benchColumn) slowest() float64 { return slices.Min(c.rates()) }
func (c benchColumn) fastest() float64 { return slices.Max(c.rates()) }

func (c benchColumn) rates() []float64 {
	all := make([]float64, len(c.slices))
	for k, s := range c.slices {
		all[k] = s.rate()
	}
	return all
}

// begun are the columns of which something was measured.
func (m benchResult) begun() []benchColumn {
	return slices.DeleteFunc(slices.Clone(m.columns), func(c benchColumn) bool { return len(c.slices) == 0 })
}

// bytesRead is what the stages say that they read.
func bytesRead(s pipe.Stats) (n int64) {
	for _, t := range s.Stages {
		n += t.Bytes
	}
	return n
}

func lostIn(s pipe.Stats) (n int64) {
	for _, t := range s.Stages {
		n += t.Lost
	}
	return n
}
