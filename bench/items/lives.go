package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/headrace/headrace/pipe"
)

// spans is how long short pipelines live.
type spans struct {
	Items  int     `json:"items"`
	Lives  int     `json:"lives"`
	Median float64 `json:"median_us"`
	P90    float64 `json:"p90_us"`
	First  float64 `json:"first_us"` // the very first one, in a new process
}

// lives describes, starts, reads and closes short pipelines, one after the other.
func lives(f form) (spans, error) {
	f.items = *life
	took := []float64{}
	for begun := time.Now(); time.Since(begun) < *lasting; {
		began := time.Now()
		if err := live(f); err != nil {
			return spans{}, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e3)
	}
	first := took[0]
	slices.Sort(took)
	return spans{*life, len(took), took[len(took)/2], took[len(took)*9/10], first}, nil
}

func live(f form) (err error) {
	run, err := pipe.Start(context.Background(), chain(f), pipe.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	for n := 0; ; n++ {
		switch _, err := run.Next(context.Background()); {
		case errors.Is(err, io.EOF) && n == f.items:
			return nil
		case err != nil:
			return fmt.Errorf("after %d items: %w", n, err)
		}
	}
}
