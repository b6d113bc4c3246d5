package pipetest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"headrace/pipe"
)

// Resume runs a flow, then cuts it at every item: it restores the state that the run had there, and compares what still comes
// with what came in the uninterrupted run. parts says what an item consists of, as text; it may also dispose of it.
//
// The flow is ordered if its items come in the same order each time. Of other flows, the parts that still come have to be
// those that had not come, each once, however they are composed.
func Resume[T any](t testing.TB, f pipe.Flow[T], c pipe.Config, ordered bool, parts func(T) []string) {
	t.Helper()
	whole, err := record(f, c, parts)
	if err != nil {
		t.Fatalf("the uninterrupted run: %v", err)
	}
	for i, at := range whole {
		rest := c
		rest.Resume = roundTrip(t, at.state)
		if c.Epochs >= 0 {
			rest.Epochs = max(1, c.Epochs) - (epochOf(at.state) - epochOf(whole[0].state))
		}
		if rest.Epochs == 0 {
			continue // the last epoch is over
		}
		got, err := record(f, rest, parts)
		if err != nil {
			t.Fatalf("resumed at step %d, %+v: %v", i, at.state, err)
		}
		if diff := compare(whole[i+1:], got[1:], ordered); diff != "" {
			t.Fatalf("resumed at step %d, %+v: %s", i, at.state, diff)
		}
	}
}

// A step is what a consumer saw last, and the state then. The first step is the beginning, where it saw nothing.
type step struct {
	parts string
	epoch int // whose end this is, or -1
	all   []string
	state pipe.State
}

func record[T any](f pipe.Flow[T], c pipe.Config, parts func(T) []string) ([]step, error) {
	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	steps := []step{{epoch: -1, state: run.State()}}
	for {
		v, err := run.Next(context.Background())
		switch {
		case err == nil:
			all := parts(v)
			steps = append(steps, step{strings.Join(all, " "), -1, all, run.State()})
		case err == io.EOF:
			steps = append(steps, step{"the end of an epoch", epochOf(run.State()) - 1, nil, run.State()})
		case errors.Is(err, pipe.ErrDone):
			return steps, nil
		default:
			return steps, err
		}
	}
}

func compare(want, got []step, ordered bool) string {
	if ordered {
		return compareSteps(want, got)
	}
	return compareEpochs(want, got)
}

func compareSteps(want, got []step) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return "then comes nothing, instead of " + want[i].parts
		case i >= len(want):
			return "then comes " + got[i].parts + ", instead of nothing"
		case want[i].parts != got[i].parts:
			return "then comes " + got[i].parts + ", instead of " + want[i].parts
		}
	}
	return ""
}

// compareEpochs compares which parts come in each epoch, in any order.
func compareEpochs(want, got []step) string {
	for len(want) > 0 || len(got) > 0 {
		w, g := epochParts(&want), epochParts(&got)
		if !slices.Equal(w, g) {
			return "then come " + strings.Join(g, " ") + ", instead of " + strings.Join(w, " ")
		}
	}
	return ""
}

func epochParts(steps *[]step) (all []string) {
	for len(*steps) > 0 {
		s := (*steps)[0]
		*steps = (*steps)[1:]
		all = append(all, s.all...)
		if s.epoch >= 0 {
			break
		}
	}
	slices.Sort(all)
	return all
}

func epochOf(s pipe.State) int {
	for _, source := range s.Sources {
		return source.Epoch
	}
	return 0
}

// roundTrip returns the state as it comes out of a file.
func roundTrip(t testing.TB, s pipe.State) (back pipe.State) {
	t.Helper()
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}
