package pipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// countingStages are flows with a stage that tolerates three losses of an epoch: items 2,
// 5, 8 and so on are bad.
func countingStages() map[string]pipe.Flow[string] {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 20})
	policy := &pipe.Policy{Skip: true, Count: 3}
	bad := func(v int) error {
		if v%3 == 2 {
			return fmt.Errorf("%d: %w", v, errBad)
		}
		return nil
	}
	op := func(_ context.Context, v int) (int, error) { return v, bad(v) }
	text := func(f pipe.Flow[int]) pipe.Flow[string] {
		return pipe.Map(f, func(_ context.Context, v int) (string, error) { return fmt.Sprint(v), nil }, pipe.Opts{Name: "text"})
	}
	write := func(_ context.Context, v int, b *numbered, row int) error {
		b.rows[row] = v
		return bad(v)
	}
	rows := func(f pipe.Flow[*numbered]) pipe.Flow[string] {
		return pipe.Map(f, func(_ context.Context, b *numbered) (string, error) { return fmt.Sprint(b.rows), nil }, pipe.Opts{Name: "rows"})
	}
	many := func(_ context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if yield(10*v, nil) && yield(10*v+1, bad(v)) {
				yield(10*v+2, nil)
			}
		}
	}
	pick := func(_ context.Context, v int) (int, error) { return v % 2, bad(v) }
	branches := []func(pipe.Flow[int]) pipe.Flow[int]{
		func(f pipe.Flow[int]) pipe.Flow[int] { return f },
		func(f pipe.Flow[int]) pipe.Flow[int] { return pipe.Map(f, same, pipe.Opts{Name: "odd"}) },
	}
	return map[string]pipe.Flow[string]{
		"map":         text(pipe.Map(numbers, op, pipe.Opts{Name: "counts", Workers: 3, Ordered: true, Failures: policy})),
		"flatmap":     text(pipe.FlatMap(numbers, many, pipe.Opts{Name: "counts", Workers: 2, Ordered: true, Failures: policy})),
		"fill":        rows(pipe.Fill(numbers, 2, &spyStore{n: 2}, write, pipe.FillOpts{Name: "counts", Workers: 2, Ordered: true, Failures: policy})),
		"fill groups": rows(pipe.FillGroups(numbers, 4, multipleOf(4), &spyStore{n: 4}, write, pipe.FillOpts{Name: "counts", Workers: 2, Failures: policy})),
		"route":       text(pipe.Route(numbers, pick, branches, pipe.RouteOpts{Name: "counts", Ordered: true, Failures: policy})),
		"in a branch": text(pipe.Route(numbers, func(_ context.Context, v int) (int, error) { return v % 2, nil }, []func(pipe.Flow[int]) pipe.Flow[int]{
			branches[0], func(f pipe.Flow[int]) pipe.Flow[int] {
				return pipe.Map(f, op, pipe.Opts{Name: "counts", Failures: &pipe.Policy{Skip: true, Count: 1}})
			},
		}, pipe.RouteOpts{Name: "route", Ordered: true})),
	}
}

// A stage that tolerates some losses tolerates no more of them in an epoch that was cut
// and gone on with, wherever that was.
func TestStagesCountTheirLossesOverAResume(t *testing.T) {
	for name, f := range countingStages() {
		synctest.Test(t, func(t *testing.T) {
			all, end := goOn(t, f, pipe.State{}, -1)
			stage := (*pipe.StageError)(nil)
			if !errors.As(end, &stage) || stage.Stage != "counts" || len(all) == 0 {
				t.Fatalf("%s: %v after %v", name, end, all)
			}
			for cut := range len(all) + 1 {
				run := start(t, f, pipe.Config{})
				for range cut {
					if _, err := run.Next(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				text, err := json.Marshal(run.State())
				run.Close()
				var from pipe.State
				if err := errors.Join(err, json.Unmarshal(text, &from)); err != nil {
					t.Fatal(err)
				}
				rest, again := goOn(t, f, from, -1)
				other := (*pipe.StageError)(nil)
				if !errors.As(again, &other) || other.Pos != stage.Pos || !slices.Equal(append(all[:cut:cut], rest...), all) {
					t.Errorf("%s, cut after %d: %v and %v, not %v and %v\n%s", name, cut, rest, again, all[cut:], end, text)
				}
			}
		})
	}
}

// goOn reads a run up to its failure.
func goOn[T any](t *testing.T, f pipe.Flow[T], from pipe.State, epochs int) (all []T, err error) {
	run := start(t, f, pipe.Config{Resume: from, Epochs: epochs})
	defer run.Close()
	for {
		v, err := run.Next(context.Background())
		switch {
		case err == nil:
			all = append(all, v)
		case err != io.EOF:
			return all, err
		}
	}
}

// The next epoch has its losses before it.
func TestLossesOfStagesEndWithTheEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(_ context.Context, v int) (int, error) {
			if v == 3 {
				return 0, errBad
			}
			return v, nil
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), op, pipe.Opts{Name: "map", Failures: &pipe.Policy{Skip: true, Count: 1}})
		run := start(t, f, pipe.Config{Epochs: 2})
		defer run.Close()
		for _, want := range []map[string]int64{nil, nil, nil, {"map": 1}} {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := run.State().Losses; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, not %v", got, want)
			}
		}
		if _, err := run.Next(context.Background()); err != io.EOF || len(run.State().Losses) > 0 {
			t.Errorf("%v, %v", err, run.State())
		}
		if got := len(collect(t, run)); got != 4 {
			t.Errorf("%d items in the next epoch", got)
		}
	})
}

func TestLossesOfStatesThatCannotBe(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 5})
	f := pipe.Map(numbers, same, pipe.Opts{Name: "map", Failures: &pipe.Policy{Skip: true, Count: 1}})
	sources := map[string]pipe.SourceState{"numbers": {}}
	for want, losses := range map[string]map[string]int64{
		"has losses of a stage numbers, and no stage of that name counts its own": {"numbers": 1},
		"has losses of a stage other, and no stage of that name counts its own":   {"other": 0},
		"is not valid: -1 losses of the stage map":                                {"map": -1},
	} {
		if err := f.Fits(pipe.State{Version: pipe.StateVersion, Sources: sources, Losses: losses}); !contains(err, want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
