package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// upwards makes v outputs of v: 100v, 100v+1, …; each takes a while.
func upwards(ctx context.Context, v int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range v {
			if _, err := restless(ctx, v+3*i); err != nil {
				yield(0, err)
				return
			}
			if !yield(100*v+i, nil) {
				return
			}
		}
	}
}

// What an operation yields is handed on before it returns, and it waits while the queue
// is full.
func TestE4OutputsAreStreamedAndBlock(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int64
			endless := func(context.Context, int) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) {
					for ; yield(int(made.Load()), nil); made.Add(1) {
						<-time.After(time.Second)
					}
				}
			}
			f := pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 1}), endless, pipe.Opts{Name: "many", Buffer: 5, Ordered: ordered})
			run := start(t, f, pipe.Config{})
			defer run.Close()
			began := time.Now()
			for i := range 3 {
				if v, err := run.Next(context.Background()); v != i || err != nil || time.Since(began) != time.Duration(i)*time.Second {
					t.Fatalf("%v, %v after %v", v, err, time.Since(began))
				}
			}
			<-time.After(time.Hour)
			if made.Load() != 3+5 { // and one more is yielded, for which there is no room
				t.Errorf("with an idle consumer %d outputs are made and handed on", made.Load())
			}
		})
	}
}

// What was made before the failure is kept, also of the item that fails; the item is one
// loss.
func TestE5OutputsBeforeAFailureAreKept(t *testing.T) {
	breaks := func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if yield(10*v, nil) && yield(10*v+1, nil) && v == 2 {
				yield(0, errBad)
			} else if v == 3 {
				panic(errBad)
			}
		}
	}
	for _, workers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 5}), breaks, pipe.Opts{Name: "many", Workers: workers, Ordered: true})
			run := start(t, f, pipe.Config{})
			defer run.Close()
			got, err := drain(run)
			stage := (*pipe.StageError)(nil)
			if !slices.Equal(got, []int{0, 1, 10, 11, 20, 21}) || !errors.As(err, &stage) || stage.Stage != "many" || stage.Pos != 2 || stage.Source != "numbers" {
				t.Errorf("%v, %v", got, err)
			}
			if s := run.State(); s.Sources["numbers"].Low != 2 || len(s.Parts) != 1 || s.Parts[0].Low != 2 {
				t.Errorf("%+v", s)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			var lost []pipe.Loss
			f := pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 5}), breaks, pipe.Opts{Name: "many", Workers: workers, Ordered: true})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 2}, Hooks: pipe.Hooks{Lost: func(l pipe.Loss) { lost = append(lost, l) }}})
			defer run.Close()
			if got := collect(t, run); !slices.Equal(got, []int{0, 1, 10, 11, 20, 21, 30, 31, 40, 41}) {
				t.Errorf("%v", got)
			}
			if len(lost) != 2 || lost[0].Pos != 2 || lost[1].Pos != 3 {
				t.Errorf("%+v", lost)
			}
			if s := run.Stats().Stages[1]; s.Lost != 2 || s.In != 5 || s.Out != 10 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A state whose half finished items do not come again is refused at the end of the epoch,
// and not forgotten.
func TestResumeRefusesOtherItems(t *testing.T) {
	f := pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 6}), upwards, pipe.Opts{Name: "many"})
	saved := pipe.State{Version: 1, Sources: map[string]pipe.SourceState{"numbers": {Low: 3}}, Parts: []pipe.PartState{
		{Stage: "many", Source: "numbers", Item: []int64{6}, Progress: pipe.Progress{Low: 1}},
	}}
	run := start(t, f, pipe.Config{Resume: saved})
	defer run.Close()
	if _, err := drain(run); !contains(err, "item [6] of source numbers were finished before") {
		t.Error(err)
	}
	for want, change := range map[string]func(*pipe.PartState){
		"outputs of a stage other, which the flow lacks": func(p *pipe.PartState) { p.Stage = "other" },
		"of source other, which cannot be":               func(p *pipe.PartState) { p.Source = "other" },
		"of an item []":                                  func(p *pipe.PartState) { p.Item = nil },
		"stage many: position -1":                        func(p *pipe.PartState) { p.Low = -1 },
	} {
		bad := saved
		bad.Parts = slices.Clone(saved.Parts)
		change(&bad.Parts[0])
		if _, err := pipe.Start(context.Background(), f, pipe.Config{Resume: bad}); !contains(err, want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
}

var twice = each(func(v int) []int { return []int{10 * v, 10*v + 1} })

func printAll(vs []int) (all []string) {
	for _, v := range vs {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// At most Workers sequences run at once, and a gate of one lets two such stages work,
// although their outputs wait for each other.
func TestE12FlatMapWorkers(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var gauge, gated pipetest.Gauge
			gate := pipe.NewGate(1)
			counted := func(g *pipetest.Gauge) func(ctx context.Context, v int) iter.Seq2[int, error] {
				return func(ctx context.Context, v int) iter.Seq2[int, error] {
					return func(yield func(int, error) bool) {
						for i := range v % 5 {
							leave := g.Enter()
							_, err := restless(ctx, v+i)
							leave()
							if !yield(v, err) {
								return
							}
						}
					}
				}
			}
			f := pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 30}), counted(&gauge), pipe.Opts{Name: "one", Workers: 4, Ordered: ordered})
			f = pipe.FlatMap(f, counted(&gated), pipe.Opts{Name: "two", Workers: 4, Ordered: ordered, Gate: gate, Buffer: 1})
			f = pipe.FlatMap(f, counted(&gated), pipe.Opts{Name: "three", Workers: 3, Ordered: ordered, Gate: gate})
			run := start(t, f, pipe.Config{})
			defer run.Close()
			collect(t, run)
			if gauge.Max() > 4 || gauge.Max() < 2 || gated.Max() != 1 {
				t.Errorf("ordered %v: %d and %d at once", ordered, gauge.Max(), gated.Max())
			}
		})
	}
}

// Unbatch flattens one level and keeps order; an empty slice is nothing.
func TestE22Unbatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slice := func(ctx context.Context, v int) ([][]int, error) {
			_, err := restless(ctx, v)
			return slices.Repeat([][]int{{v}, {}}, v%3), err
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), slice, pipe.Opts{Name: "slice", Workers: 3, Ordered: true})
		run := start(t, pipe.Unbatch(f, pipe.UnbatchOpts{Name: "flat"}), pipe.Config{})
		defer run.Close()
		if got := fmt.Sprint(collect(t, run)); got != "[[1] [] [2] [] [2] [] [4] [] [5] [] [5] [] [7] [] [8] [] [8] []]" {
			t.Error(got)
		}
	})
	batches := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 10}), 4, pipe.BatchOpts{Name: "batch"})
	pipetest.Resume(t, pipe.Unbatch(batches, pipe.UnbatchOpts{Name: "flat"}), pipe.Config{}, true, func(v int) []string { return []string{fmt.Sprint(v)} })
}

// Filter drops what it does not keep, and whatever it drops is disposed of.
func TestE3Filter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var owner pipetest.Owner[int]
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), func(_ context.Context, v int) (int, error) { return owner.Made(v), nil }, pipe.Opts{Name: "make"})
		f = pipe.Filter(pipe.Discard(f, owner.Gone), func(ctx context.Context, v int) (bool, error) {
			if v == 7 {
				return true, errBad
			}
			if v == 8 {
				panic(errBad)
			}
			_, err := restless(ctx, v)
			return v%2 == 0, err
		}, pipe.Opts{Name: "even", Workers: 3, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		got := collect(t, run)
		run.Close()
		if !slices.Equal(got, []int{0, 2, 4, 6, 10, 12, 14, 16, 18}) || owner.Held() != len(got) {
			t.Errorf("%v, %d are held", got, owner.Held())
		}
		if s := run.Stats().Stages[2]; s.Kind != "filter" || s.Skipped != 9 || s.Lost != 2 {
			t.Errorf("%+v", s)
		}
	})
	if err := pipe.Filter(pipe.From("numbers", pipetest.Numbers{}), nil, pipe.Opts{Name: "even"}).Check(); !contains(err, "function is nil") {
		t.Error(err)
	}
}

// Collections are looked up by index or key; what is not there is the item's failure, and
// the error says which.
func TestE3Lookup(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 4})
	words := pipe.Map(numbers, pipe.At([]string{"zero", "", "two"}), pipe.Opts{Name: "word", Workers: 2, Ordered: true})
	lengths := pipe.Map(words, pipe.Lookup(map[string]int{"zero": 4, "": 0, "two": 3}), pipe.Opts{Name: "length"})
	run := start(t, lengths, pipe.Config{})
	defer run.Close()
	got, err := drain(run)
	key := (*pipe.KeyError)(nil)
	if !slices.Equal(got, []int{4, 0, 3}) || !errors.As(err, &key) || key.Key != 3 || !strings.Contains(err.Error(), "no item 3") {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := pipe.Lookup(map[string]int{})(context.Background(), "x"); !contains(err, "no item x") {
		t.Error(err)
	}
}
