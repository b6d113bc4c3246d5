package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// budget puts numbers together as long as their sum is at most limit; a number beyond it
// stands alone, a zero is left out.
type budget struct {
	limit, sum int
	held       []pipe.Held[int]
	fail       func(v int) error // of Add
	flush      error
}

func (b *budget) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	if b.fail != nil {
		if err := b.fail(v.Value); err != nil {
			return err
		}
	}
	if v.Value == 0 {
		e.Drop(v)
		return nil
	}
	if b.sum+v.Value > b.limit {
		b.emit(e)
	}
	b.held, b.sum = append(b.held, v), b.sum+v.Value
	return nil
}

func (b *budget) Flush(_ context.Context, e *pipe.Emitter[int, []int]) error {
	if b.flush != nil {
		return b.flush
	}
	b.emit(e)
	return nil
}

func (b *budget) emit(e *pipe.Emitter[int, []int]) {
	if len(b.held) > 0 {
		e.Emit(valuesOf(b.held), b.held...)
	}
	b.held, b.sum = nil, 0
}

func valuesOf(held []pipe.Held[int]) (all []int) {
	for _, h := range held {
		all = append(all, h.Value)
	}
	return all
}

func budgets(limit int) func() pipe.Aggregator[int, []int] {
	return func() pipe.Aggregator[int, []int] { return &budget{limit: limit} }
}

func TestE20CustomAggregators(t *testing.T) {
	for dropLast, want := range map[bool]string{
		false: "[[1 2 3 4] [5] [6] [7] [8] [9] [10] [11]]",
		true:  "[[1 2 3 4] [5] [6] [7] [8] [9] [10]]",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 12}), restless, pipe.Opts{Name: "map", Workers: 3, Ordered: true})
			run := start(t, pipe.Aggregate(f, budgets(10), pipe.AggregateOpts{Name: "budget", DropLast: dropLast}), pipe.Config{Epochs: 2})
			defer run.Close()
			for range 2 {
				if got := fmt.Sprint(collect(t, run)); got != want {
					t.Errorf("drop last %v: %s", dropLast, got)
				}
			}
			if s := run.Stats().Stages[2]; s.Kind != "aggregate" || s.In != 24 || !dropLast && s.Skipped != 2 {
				t.Errorf("%+v", s)
			}
		})
	}
	empty := start(t, pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{}), budgets(3), pipe.AggregateOpts{Name: "budget"}), pipe.Config{})
	defer empty.Close()
	if got := collect(t, empty); len(got) > 0 {
		t.Errorf("of nothing it makes %v", got)
	}
}

// An aggregator that fails has failed for its item, under the policy of the stage or the
// run, and the others it holds stay. In SPDL its exception ends the run, whatever
// failures are tolerated.
func TestE21AggregatorErrorsFollowThePolicy(t *testing.T) {
	failing := func(bad error) func() pipe.Aggregator[int, []int] {
		return func() pipe.Aggregator[int, []int] {
			return &budget{limit: 10, fail: func(v int) error {
				switch v {
				case 3:
					return bad
				case 4:
					panic(bad)
				}
				return nil
			}}
		}
	}
	numbers := pipe.From("numbers", pipetest.Numbers{N: 8})
	f := pipe.Aggregate(numbers, failing(errBad), pipe.AggregateOpts{Name: "budget"})
	run := start(t, f, pipe.Config{})
	got, err := drain(run)
	run.Close()
	stage := (*pipe.StageError)(nil)
	if len(got) != 0 || !errors.As(err, &stage) || stage.Stage != "budget" || stage.Pos != 3 || !errors.Is(err, errBad) {
		t.Errorf("%v, %v", got, err)
	}
	own := pipe.Aggregate(numbers, failing(errBad), pipe.AggregateOpts{Name: "budget", Failures: &pipe.Policy{Skip: true, Count: 2}})
	for _, c := range []struct {
		pipe.Flow[[]int]
		pipe.Config
	}{{f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 2}}}, {own, pipe.Config{}}} {
		run := start(t, c.Flow, c.Config)
		if got := fmt.Sprint(collect(t, run)); got != "[[1 2 5] [6] [7]]" {
			t.Error(got)
		}
		if s := run.Stats().Stages[1]; s.Lost != 2 {
			t.Errorf("%+v", s)
		}
		run.Close()
	}
	skips := start(t, pipe.Aggregate(numbers, func() pipe.Aggregator[int, []int] {
		return &budget{limit: 10, fail: func(v int) error {
			if v < 6 {
				return pipe.Skip
			}
			return nil
		}}
	}, pipe.AggregateOpts{Name: "budget"}), pipe.Config{})
	defer skips.Close()
	if got := fmt.Sprint(collect(t, skips)); got != "[[6] [7]]" {
		t.Error(got)
	}
}

// When Flush fails, what is held has failed.
func TestE21FlushErrors(t *testing.T) {
	begin := func() pipe.Aggregator[int, []int] { return &budget{limit: 10, flush: errBad} }
	f := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 6}), begin, pipe.AggregateOpts{Name: "budget"})
	run := start(t, f, pipe.Config{})
	got, err := drain(run)
	run.Close()
	stage := (*pipe.StageError)(nil)
	if fmt.Sprint(got) != "[[1 2 3 4]]" || !errors.As(err, &stage) || stage.Pos != 5 || stage.Stage != "budget" {
		t.Errorf("%v, %v", got, err)
	}
	var lost []int64
	run = start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l.Pos) }}})
	defer run.Close()
	if collect(t, run); !slices.Equal(lost, []int64{5}) {
		t.Errorf("%v", lost)
	}
}

// What an aggregator must not do stops the run and is named.
func TestAggregatorMistakes(t *testing.T) {
	for want, add := range map[string]func(v pipe.Held[int], e *pipe.Emitter[int, []int]) error{
		"made of no item": func(v pipe.Held[int], e *pipe.Emitter[int, []int]) error { e.Emit(nil); return nil },
		"does not hold":   func(v pipe.Held[int], e *pipe.Emitter[int, []int]) error { e.Drop(v); e.Emit(nil, v); return nil },
		"that it has used": func(v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
			e.Emit(nil, v)
			return errBad
		},
	} {
		f := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 5}), func() pipe.Aggregator[int, []int] { return adder(add) }, pipe.AggregateOpts{Name: "odd"})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		if _, err := drain(run); !contains(err, want) || !contains(err, "stage odd") {
			t.Errorf("wanted %q, got %v", want, err)
		}
		run.Close()
	}
	if err := pipe.Aggregate[int, int](pipe.From("numbers", pipetest.Numbers{}), nil, pipe.AggregateOpts{Name: "a"}).Check(); !contains(err, "function is nil") {
		t.Error(err)
	}
	run := start(t, pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 2}), func() pipe.Aggregator[int, int] { panic(errBad) }, pipe.AggregateOpts{Name: "a"}), pipe.Config{})
	defer run.Close()
	if _, err := drain(run); !errors.Is(err, errBad) {
		t.Error(err)
	}
}

type adder func(v pipe.Held[int], e *pipe.Emitter[int, []int]) error

func (a adder) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	return a(v, e)
}
func (adder) Flush(context.Context, *pipe.Emitter[int, []int]) error { return nil }

// lingers takes a second over every item before it hands it on, and one after that.
type lingers struct{}

func (lingers) Add(ctx context.Context, v pipe.Held[int], e *pipe.Emitter[int, []int]) error {
	<-time.After(time.Second)
	e.Emit([]int{v.Value}, v)
	<-time.After(time.Second)
	return nil
}

func (lingers) Flush(context.Context, *pipe.Emitter[int, []int]) error { return nil }

// What an aggregator takes for an item is all of it, and not what came after its last
// output.
func TestTimesOfAggregators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := pipe.From("numbers", pipetest.Numbers{N: 20})
		run := start(t, pipe.Aggregate(in, func() pipe.Aggregator[int, []int] { return lingers{} }, pipe.AggregateOpts{Name: "work"}), pipe.Config{})
		defer run.Close()
		if _, err := drain(run); err != io.EOF {
			t.Fatal(err)
		}
		if s := run.Stats().Stages[1]; s.Mean != 2*time.Second || s.P50 < 2*time.Second || s.P50 > 22*time.Second/10 {
			t.Errorf("mean %v, p50 %v", s.Mean, s.P50)
		}
	})
}
