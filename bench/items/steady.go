package main

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/pipe"
)

// rate is what a running pipeline costs per item.
type rate struct {
	Items  int64   `json:"items"`
	Rate   float64 `json:"items_per_s"`
	CPU    float64 `json:"cpu_us_per_item"`
	Allocs float64 `json:"allocs_per_item"`
}

// glance is how many items are between two looks at the clock, a multiple of a batch. A
// consumer saves a state as often, and looks at the statistics.
const glance = 1 << 16

// steady measures the middle of an epoch without an end: what comes before has warmed
// up, what is left is discarded.
func steady(f form) (rate, error) {
	switch {
	case f.channels:
		items := channels(f)
		return middle(func() error {
			for range glance {
				<-items
			}
			return nil
		})
	case f.batch > 0:
		return read(f, batches(f), glance/f.batch)
	default:
		return read(f, chain(f), glance)
	}
}

// read takes so many at a glance.
func read[T any](f form, flow pipe.Flow[T], n int) (rate, error) {
	run, err := pipe.Start(context.Background(), flow, pipe.Config{})
	if err != nil {
		return rate{}, err
	}
	defer run.Close()
	r, err := middle(func() error {
		for range n {
			if _, err := run.Next(context.Background()); err != nil {
				return err
			}
		}
		if len(run.State().Sources) != 1 || len(run.Stats().Stages) < f.stages {
			return errors.New("no state, or no statistics")
		}
		return nil
	})
	return r, errors.Join(err, run.Close())
}

// middle measures for a while, once everything has warmed up. What it calls takes a
// glance of items.
func middle(take func() error) (rate, error) {
	if err := take(); err != nil {
		return rate{}, err
	}
	before, err := spent()
	if err != nil {
		return rate{}, err
	}
	items := int64(0)
	for time.Since(before.at) < *lasting {
		if err := take(); err != nil {
			return rate{}, err
		}
		items += glance
	}
	after, err := spent()
	if err != nil {
		return rate{}, err
	}
	n := float64(items)
	return rate{
		Items:  items,
		Rate:   n / after.at.Sub(before.at).Seconds(),
		CPU:    float64((after.cpu - before.cpu).Nanoseconds()) / 1e3 / n,
		Allocs: float64(after.mallocs-before.mallocs) / n,
	}, nil
}
