package pipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
)

// chooser chooses inputs by a number that changes with each turn, and that a state has.
// It is asked for a few turns at a time, as many as it likes.
func chooser(inputs int) func(context.Context, pipe.Turn) (pipe.Chosen, error) {
	return func(_ context.Context, at pipe.Turn) (c pipe.Chosen, err error) {
		number := at.Epoch + 1
		if at.Said != "" {
			if number, err = strconv.Atoi(at.Said); err != nil {
				return c, err
			}
		}
		for range 1 + number%5 {
			number = (number*1103515245 + 12345) & (1<<31 - 1)
			c.Inputs = append(c.Inputs, number>>16%inputs)
		}
		c.Says = strconv.Itoa(number)
		return c, nil
	}
}

// chosen are the inputs of the first turns of an epoch: a loop, and no pipeline.
func chosen(inputs, epoch, turns int) (all []int) {
	choose, said := chooser(inputs), ""
	for len(all) < turns {
		c, _ := choose(nil, pipe.Turn{Epoch: epoch, Turn: int64(len(all)), Said: said})
		all, said = append(all, c.Inputs...), c.Says
	}
	return all[:turns]
}

func byChoice(inputs int, items int64) pipe.Flow[measured] {
	return pipe.Merge(lengths(slices.Repeat([]int64{9}, inputs)...), pipe.MergeOpts{
		Name: "mix", Order: pipe.ByChoice, Items: items, FailFast: true, Choose: chooser(inputs)})
}

func TestInputsComeAsTheyAreChosen(t *testing.T) {
	took := make([]int, 3)
	flow := pipe.Merge(lengths(9, 9, 9), pipe.MergeOpts{Name: "mix", Order: pipe.ByChoice, Items: 200, Choose: chooser(3),
		Took: func(input int) { took[input]++ }})
	run := start(t, flow, pipe.Config{Epochs: 2})
	defer run.Close()
	count := make([]int, 3)
	for epoch := range 2 {
		var got []int
		for _, m := range collect(t, run) {
			got = append(got, m.input)
			count[m.input]++
		}
		if want := chosen(3, epoch, 200); !slices.Equal(got, want) {
			t.Errorf("epoch %d: %v, wanted %v", epoch, got, want)
		}
	}
	if !slices.Equal(count, took) {
		t.Errorf("%v came, and %v were told", count, took)
	}
}

// A run goes on at every cut with the same items, although turns finish out of order, and
// although the chooser is ahead and would choose otherwise now.
func TestChoicesGoOn(t *testing.T) {
	held := func(f pipe.Flow[measured]) pipe.Flow[measured] {
		return pipe.Aggregate(f, func() pipe.Aggregator[measured, measured] { return new(odds) }, pipe.AggregateOpts{Name: "odds"})
	}
	run := start(t, held(byChoice(3, 60)), pipe.Config{Epochs: 2})
	whole := append(collect(t, run), collect(t, run)...)
	run.Close()
	for cut := range len(whole) {
		run := start(t, held(byChoice(3, 60)), pipe.Config{Epochs: 2})
		for range cut {
			if _, err := run.Next(t.Context()); err != nil {
				if _, err = run.Next(t.Context()); err != nil { // of the next epoch
					t.Fatal(err)
				}
			}
		}
		text, err := json.Marshal(run.State())
		run.Close()
		if err != nil {
			t.Fatal(err)
		}
		var state pipe.State
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
		run = start(t, held(byChoice(3, 60)), pipe.Config{Until: 2, Resume: state})
		rest := collect(t, run)
		if len(rest) < len(whole)-cut {
			rest = append(rest, collect(t, run)...)
		}
		run.Close()
		if !slices.Equal(rest, whole[cut:]) {
			t.Fatalf("after %d items: %v, wanted %v", cut, rest, whole[cut:])
		}
	}
}

// What is not finished is not chosen again: the next run asks for later turns only.
func TestChoicesAreInTheState(t *testing.T) {
	run := start(t, byChoice(2, 100), pipe.Config{})
	for range 17 {
		if _, err := run.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	state := run.State()
	run.Close()
	first := int64(-1)
	flow := pipe.Merge(lengths(9, 9), pipe.MergeOpts{Name: "mix", Order: pipe.ByChoice, Items: 100,
		Choose: func(_ context.Context, at pipe.Turn) (pipe.Chosen, error) {
			if first < 0 {
				first = at.Turn
			}
			return pipe.Chosen{Inputs: []int{0}}, nil
		}})
	run = start(t, flow, pipe.Config{Resume: state})
	defer run.Close()
	all := collect(t, run)
	if first < 17 || first > 17+5 || first != state.Memories["mix"].Groups {
		t.Errorf("turn %d was asked for first, and the state goes on at %d", first, state.Memories["mix"].Groups)
	}
	for i, want := range chosen(2, 0, int(first))[17:] {
		if all[i].input != want {
			t.Errorf("turn %d is of input %d, wanted %d", 17+i, all[i].input, want)
		}
	}
}

func TestNobodyChosenEndsTheEpoch(t *testing.T) {
	choose := func(_ context.Context, at pipe.Turn) (c pipe.Chosen, err error) {
		if at.Turn < int64(3+at.Epoch) {
			c.Inputs = []int{1}
		}
		return c, nil
	}
	flow := pipe.Merge(lengths(9, 9), pipe.MergeOpts{Name: "mix", Order: pipe.ByChoice, Choose: choose})
	run := start(t, flow, pipe.Config{Epochs: 2})
	defer run.Close()
	for epoch := range 2 {
		if n := len(collect(t, run)); n != 3+epoch {
			t.Errorf("epoch %d has %d items", epoch, n)
		}
	}
}

func TestWrongChoicesEndTheRun(t *testing.T) {
	for want, choose := range map[string]func(context.Context, pipe.Turn) (pipe.Chosen, error){
		"stage mix: epoch 0: input 2 of 2 was chosen for turn 1": func(context.Context, pipe.Turn) (pipe.Chosen, error) {
			return pipe.Chosen{Inputs: []int{0, 2}}, nil
		},
		"input -1 of 2 was chosen for turn 0": func(context.Context, pipe.Turn) (pipe.Chosen, error) {
			return pipe.Chosen{Inputs: []int{-1}}, nil
		},
		"does not know": func(context.Context, pipe.Turn) (pipe.Chosen, error) {
			return pipe.Chosen{}, errors.New("does not know")
		},
		"panic: bad": func(context.Context, pipe.Turn) (pipe.Chosen, error) { panic(errBad) },
	} {
		synctest.Test(t, func(t *testing.T) {
			o := pipe.MergeOpts{Name: "mix", Order: pipe.ByChoice, Items: 9, Choose: choose}
			run := start(t, pipe.Merge(lengths(9, 9), o), pipe.Config{})
			defer run.Close()
			if _, err := drain(run); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, wanted %s", err, want)
			}
		})
	}
}

// A run that is closed while somebody chooses ends.
func TestChoosingIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		choose := func(ctx context.Context, _ pipe.Turn) (c pipe.Chosen, err error) {
			<-ctx.Done()
			return c, ctx.Err()
		}
		o := pipe.MergeOpts{Name: "mix", Order: pipe.ByChoice, Items: 9, Choose: choose}
		run := start(t, pipe.Merge(lengths(9, 9), o), pipe.Config{})
		synctest.Wait()
		run.Close()
	})
}

func TestChoicesRefuseStatesOfOthers(t *testing.T) {
	run := start(t, byChoice(3, 50), pipe.Config{})
	for range 10 {
		if _, err := run.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	good := run.State()
	run.Close()
	for _, text := range []string{"", "{}", "[", `{"chosen":"AAAAAAAAAAAAAAAAAAAA"}`, `{"chosen":"CQkJ"}`, `{"chosen":"gA=="}`} {
		state := good
		state.Memories = map[string]pipe.Memory{"mix": {Groups: good.Memories["mix"].Groups, State: text}}
		if text == "" {
			state.Memories = nil
		}
		expectFailure(t, state, "does not say which inputs were chosen")
	}
	of := good // of other ranks, as it is when it is put together of theirs
	of.Merges, of.Memories = map[string]pipe.Progress{"mix": {}, pipe.CountOf("mix"): good.Merges["mix"]}, nil
	expectFailure(t, of, "the state is of another number of ranks")
}

func expectFailure(t *testing.T, state pipe.State, why string) {
	t.Helper()
	run := start(t, byChoice(3, 50), pipe.Config{Resume: state})
	defer run.Close()
	if _, err := run.Next(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v: %v, wanted %s", state.Memories, err, why)
	}
}

func TestMergesByChoiceAreChecked(t *testing.T) {
	for _, o := range []pipe.MergeOpts{{Order: pipe.ByChoice}, {Order: pipe.RoundRobin, Choose: chooser(2)}} {
		o.Name = "mix"
		err := pipe.Merge(lengths(1, 1), o).Check()
		if err == nil || !strings.Contains(err.Error(), "Choose is for ByChoice, and ByChoice needs one") {
			t.Errorf("%v: %v", o.Order, err)
		}
	}
	if got := fmt.Sprint(pipe.ByChoice); got != "by choice" {
		t.Error(got)
	}
}
