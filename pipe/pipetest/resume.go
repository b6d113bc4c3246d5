package pipetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/pipe"
)

// Resume runs a flow, then cuts it at every item: it restores the state that the run
// had there, and compares what still comes with what came in the uninterrupted run.
// parts says what an item consists of, as text; it may also dispose of it.
//
// The flow is ordered if its items come in the same order each time. Then what is lost
// has to be the same too, and to be reported at the same place. Of other flows, the parts
// that still come have to be those that had not come, each once, however they are
// composed.
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

// A step is what a consumer saw last, and the state then. The first step is the
// beginning, where it saw nothing.
type step struct {
	parts string
	epoch int // whose end this is, or -1
	all   []string
	lost  []string // before it
	state pipe.State
}

// what is what a consumer saw, with the losses before it.
func (s step) what() string {
	if len(s.lost) == 0 {
		return s.parts
	}
	return s.parts + " after the loss of " + strings.Join(s.lost, ", ")
}

func record[T any](f pipe.Flow[T], c pipe.Config, parts func(T) []string) ([]step, error) {
	var lost []string
	c.Hooks = pipe.Tee(c.Hooks, pipe.Hooks{Lost: func(l pipe.Loss) {
		lost = append(lost, fmt.Sprintf("%s %d of epoch %d in %s", l.Source, l.Pos, l.Epoch, l.Stage))
	}})

	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		return nil, err
	}
	defer run.Close()

	steps := []step{{epoch: -1, state: run.State()}}
	for {
		v, err := run.Next(context.Background())
		at := step{epoch: -1, lost: lost, state: run.State()}
		lost = nil

		switch {
		case err == nil:
			at.all = parts(v)
			at.parts = strings.Join(at.all, " ")
		case err == io.EOF:
			at.parts, at.epoch = "the end of an epoch", epochOf(at.state)-1
		case errors.Is(err, pipe.ErrDone):
			return steps, nil
		default:
			return steps, err
		}
		steps = append(steps, at)
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
			return "then comes nothing, instead of " + want[i].what()
		case i >= len(want):
			return "then comes " + got[i].what() + ", instead of nothing"
		case want[i].what() != got[i].what():
			return "then comes " + got[i].what() + ", instead of " + want[i].what()
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
