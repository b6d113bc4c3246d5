package main

import (
	"context"
	"errors"
	"time"

	"headrace/pipe"
)

// rate is what a running pipeline costs per item.
type rate struct {
	Items  int64   `json:"items"`
	Rate   float64 `json:"items_per_s"`
	CPU    float64 `json:"cpu_us_per_item"`
	Allocs float64 `json:"allocs_per_item"`
}

// glance is how many items lie between two looks at the clock. A consumer saves a state as often, and looks at the statistics.
const glance = 1 << 16

// steady measures the middle of an epoch without an end: what comes before has warmed up, what is left is discarded.
func steady(f form) (rate, error) {
	if f.batch > 0 {
		return read(f, batches(f), f.batch)
	}
	return read(f, chain(f), 1)
}

func read[T any](f form, flow pipe.Flow[T], of int) (rate, error) {
	run, err := pipe.Start(context.Background(), flow, pipe.Config{})
	if err != nil {
		return rate{}, err
	}
	defer run.Close()
	if err := take(run, glance/of); err != nil {
		return rate{}, err
	}
	before, err := spent(0)
	if err != nil {
		return rate{}, err
	}
	items := int64(0)
	for time.Since(before.at) < *lasting {
		if err := take(run, glance/of); err != nil {
			return rate{}, err
		}
		items += int64(glance / of * of)
		if len(run.State().Sources) != 1 || len(run.Stats().Stages) < f.stages {
			return rate{}, errors.New("no state, or no statistics")
		}
	}
	after, err := spent(items)
	if err != nil {
		return rate{}, err
	}
	n := float64(items)
	return rate{
		Items:  items,
		Rate:   n / after.at.Sub(before.at).Seconds(),
		CPU:    float64((after.cpu - before.cpu).Nanoseconds()) / 1e3 / n,
		Allocs: float64(after.mallocs-before.mallocs) / n,
	}, run.Close()
}

func take[T any](run *pipe.Run[T], n int) error {
	for range n {
		if _, err := run.Next(context.Background()); err != nil {
			return err
		}
	}
	return nil
}
