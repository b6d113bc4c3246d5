package pipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// show reads one epoch and prints it.
func show[T any](f pipe.Flow[T]) {
	run, err := pipe.Start(context.Background(), f, pipe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	before := ""
	for v, err := range run.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(before, v)
		before = " "
	}
	fmt.Println()
}

func ExampleFlatMap() {
	lines := pipe.Map(pipe.From("lines", pipetest.Numbers{N: 2}), pipe.At([]string{"one two", "three"}), pipe.Opts{Name: "line"})
	words := func(_ context.Context, line string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for _, word := range strings.Fields(line) {
				if !yield(word, nil) {
					return
				}
			}
		}
	}
	show(pipe.FlatMap(lines, words, pipe.Opts{Name: "words", Workers: 4, Ordered: true}))
	// Output: one two three
}

func ExampleMerge() {
	small := pipe.From("small", pipetest.Numbers{N: 3})
	large := pipe.From("large", pipetest.Numbers{N: 5, Value: func(_ int, pos int64) int { return 100 + int(pos) }})
	show(pipe.Merge([]pipe.Flow[int]{small, large}, pipe.MergeOpts{Name: "mix", Order: pipe.RoundRobin}))
	// Output: 0 100 1 101 2 102 103 104
}

func ExampleMerge_byPick() {
	easy := pipe.From("easy", pipetest.Numbers{N: 4})
	hard := pipe.From("hard", pipetest.Numbers{N: 4, Value: func(_ int, pos int64) int { return 100 + int(pos) }})
	harder := func(_ int, turn int64) int { // two easy ones first, then one of each in turn
		if turn < 2 {
			return 0
		}
		return int(turn % 2)
	}
	show(pipe.Merge([]pipe.Flow[int]{easy, hard}, pipe.MergeOpts{Name: "mix", Order: pipe.ByPick, Pick: harder}))
	// Output: 0 1 2 100 3 101 102 103
}

func ExampleRoute() {
	parity := func(_ context.Context, v int) (int, error) { return v % 2, nil }
	square := func(_ context.Context, v int) (int, error) { return v * v, nil }
	squares := pipe.Mapped(square, pipe.Opts{Name: "square", Workers: 2, Ordered: true})
	show(pipe.Route(pipe.From("numbers", pipe.Count(8)), parity, pipe.Branches(pipe.AsIs, squares), pipe.RouteOpts{Name: "route", Ordered: true}))
	// Output: 0 1 2 9 4 25 6 49
}

func ExampleSlice() {
	words := pipe.From("words", pipe.Slice([]string{"one", "two", "three"}))
	show(pipe.Map(words, func(_ context.Context, w string) (int, error) { return len(w), nil }, pipe.Opts{Name: "length"}))
	// Output: 3 3 5
}

func ExampleSeq() {
	show(pipe.From("lines", pipe.Seq(strings.SplitSeq("one,two,three", ","))))
	// Output: one two three
}

// Batches whose sum is at most 10.
func ExampleAggregate() {
	begin := func() pipe.Aggregator[int, []int] { return &budget{limit: 10} }
	show(pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 8}), begin, pipe.AggregateOpts{Name: "budget"}))
	// Output: [1 2 3 4] [5] [6] [7]
}

func ExampleRetry() {
	tried := 0
	read := func(_ context.Context, v int) (int, error) {
		if tried++; tried == 2 {
			return 0, errors.New("not yet")
		}
		return v, nil
	}
	again := pipe.Retry(read, pipe.Backoff{Times: 3, First: time.Millisecond})
	show(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), again, pipe.Opts{Name: "read"}))
	// Output: 0 1 2
}

func ExampleMap() {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 5})
	square := func(_ context.Context, v int) (int, error) { return v * v, nil }
	show(pipe.Map(numbers, square, pipe.Opts{Name: "square", Workers: 4, Ordered: true}))
	// Output: 0 1 4 9 16
}

// Every worker has a buffer of its own.
func ExampleMapWith() {
	begin := func(context.Context) (func(context.Context, int) (string, error), func(), error) {
		var text strings.Builder
		write := func(_ context.Context, v int) (string, error) {
			text.Reset()
			fmt.Fprintf(&text, "<%d>", v)
			return text.String(), nil
		}
		return write, nil, nil
	}
	numbers := pipe.From("numbers", pipetest.Numbers{N: 3})
	show(pipe.MapWith(numbers, begin, pipe.Opts{Name: "write", Workers: 2, Ordered: true}))
	// Output: <0> <1> <2>
}

func ExampleFilter() {
	odd := func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }
	show(pipe.Filter(pipe.From("numbers", pipetest.Numbers{N: 6}), odd, pipe.Opts{Name: "odd"}))
	// Output: 1 3 5
}

func ExampleBatch() {
	show(pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 5}), 2, pipe.BatchOpts{Name: "batch"}))
	// Output: [0 1] [2 3] [4]
}

func ExampleUnbatch() {
	pairs := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 5}), 2, pipe.BatchOpts{Name: "pairs"})
	show(pipe.Unbatch(pairs, pipe.UnbatchOpts{Name: "flat"}))
	// Output: 0 1 2 3 4
}

// Operations write into the rows of a batch.
func ExampleFill() {
	write := func(_ context.Context, v int, batch []int, row int) error {
		batch[row] = 10 * v
		return nil
	}
	numbers := pipe.From("numbers", pipetest.Numbers{N: 4})
	show(pipe.Fill(numbers, 2, plainStore{2}, write, pipe.FillOpts{Name: "fill", Workers: 4, Ordered: true}))
	// Output: [0 10] [20 30]
}

// A batch's even numbers go one way and its odd ones another.
func ExampleRouteBatch() {
	even := func(_ context.Context, v int) (int, error) { return v % 2, nil }
	asIs := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	sums := func(f pipe.Flow[[]int]) pipe.Flow[[]int] {
		return pipe.Map(f, func(_ context.Context, list []int) ([]int, error) {
			sum := 0
			for _, v := range list {
				sum += v
			}
			return []int{sum}, nil
		}, pipe.Opts{Name: "sum", Workers: 2, Ordered: true})
	}
	batches := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 8}), 4, pipe.BatchOpts{Name: "batch"})
	show(pipe.RouteBatch(batches, even, []func(pipe.Flow[[]int]) pipe.Flow[[]int]{asIs, sums}, pipe.RouteBatchOpts{Name: "route"}))
	// Output: [0 2 4] [4 6 12]
}

// What takes too long is replaced.
func ExampleLimit() {
	slow := func(ctx context.Context, v int) (int, error) {
		if v == 1 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return v, nil
	}
	within := pipe.Limit(slow, 10*time.Millisecond, nil)
	instead := func(_ context.Context, v int, _ error) (int, error) { return -v, nil }
	show(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), pipe.Replace(within, instead), pipe.Opts{Name: "slow"}))
	// Output: 0 -1 2
}

func ExampleDeadLetters() {
	parse := func(_ context.Context, v int) (int, error) {
		if v == 1 {
			return 0, errors.New("no number")
		}
		return v, nil
	}
	var dead []int
	kept := pipe.DeadLetters(parse, func(_ context.Context, v int, err error) { dead = append(dead, v) })
	tolerant := pipe.Policy{Skip: true, Count: 10}
	show(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 3}), kept, pipe.Opts{Name: "parse", Failures: &tolerant}))
	fmt.Println("dead:", dead)
	// Output:
	// 0 2
	// dead: [1]
}

func ExampleHooks() {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 3})
	double := pipe.Map(numbers, func(_ context.Context, v int) (int, error) { return 2 * v, nil }, pipe.Opts{Name: "double"})
	hooks := pipe.Hooks{Task: func(ctx context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
		if t.Stage == "numbers" {
			return nil, nil // nothing is to be reported of the source
		}
		return ctx, func(o pipe.Outcome) { fmt.Println(t.Stage, "of", t.In, "is", o.Out) }
	}}
	run, err := pipe.Start(context.Background(), double, pipe.Config{Hooks: hooks})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for _, err := range run.All() {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// double of 0 is 0
	// double of 1 is 2
	// double of 2 is 4
}

// Reading waits, and has many workers; when most of it is in memory, few are enough.
func ExampleRun_SetWorkers() {
	read := func(_ context.Context, v int) (int, error) { return v * v, nil }
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 6}), read, pipe.Opts{Name: "read", Workers: 64, Ordered: true})
	run, err := pipe.Start(context.Background(), f, pipe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for v, err := range run.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if v == 4 {
			run.SetWorkers("read", 2)
		}
		fmt.Print(v, " ")
	}
	fmt.Println("with", run.Stats().Stages[1].Workers, "workers at last")
	fmt.Println(run.SetWorkers("reed", 2))
	// Output:
	// 0 1 4 9 16 25 with 2 workers at last
	// pipe: there is no stage "reed"; there are read, numbers
}

func ExampleProfile() {
	numbers := pipe.From("numbers", pipetest.Numbers{N: -1})
	slow := pipe.Map(numbers, func(ctx context.Context, v int) (int, error) {
		return v, pipetest.Sleep(ctx, time.Millisecond)
	}, pipe.Opts{Name: "slow"})
	batches := pipe.Batch(slow, 8, pipe.BatchOpts{Name: "batch"})
	report, err := pipe.Profile(context.Background(), batches, pipe.ProfileOpts{Items: 40, Workers: []int{1, 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// fmt.Print(report) shows all of it.
	fmt.Println(report.Slowest().Name, "is the slowest, best with", report.Slowest().Best().Workers, "workers")
	// Output: slow is the slowest, best with 4 workers
}

// Batches end where the caller says: here after every number that divides by three. Rows
// are written where the store has reserved them.
func ExampleFillGroups() {
	write := func(_ context.Context, v int, b *page, row int) error { b.rows[row] = 10 * v; return nil }
	ends := func(v int) bool { return v%3 == 0 }
	numbers := pipe.From("numbers", pipetest.Numbers{N: 8})
	show(pipe.FillGroups(numbers, 4, ends, pages{4}, write, pipe.FillOpts{Name: "fill", Workers: 2}))
	// Output: [0] [10 20 30] [40 50 60] [70]
}

// A page is a batch that knows how many of its rows are written.
type page struct{ rows []int }

func (p *page) String() string { return fmt.Sprint(p.rows) }

// pages is a store of pages of so many rows.
type pages struct{ n int }

func (s pages) Reserve(context.Context) (*page, error)    { return &page{make([]int, s.n)}, nil }
func (pages) Move(dst *page, to int, src *page, from int) { dst.rows[to] = src.rows[from] }
func (pages) Seal(p *page, rows int) error                { p.rows = p.rows[:rows]; return nil }
func (pages) Drop(*page)                                  {}

func ExampleLookup() {
	ages := map[string]int{"ann": 31, "bob": 57}
	names := pipe.Map(pipe.From("positions", pipetest.Numbers{N: 2}), pipe.At([]string{"bob", "ann"}), pipe.Opts{Name: "name"})
	show(pipe.Map(names, pipe.Lookup(ages), pipe.Opts{Name: "age"}))
	// Output: 57 31
}

// Two stages of four workers each, and never more than two operations at once.
func ExampleNewGate() {
	var running, most atomic.Int64
	op := func(_ context.Context, v int) (int, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		return v, nil
	}
	gate := pipe.NewGate(2)
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 5}), op, pipe.Opts{Name: "first", Workers: 4, Ordered: true, Gate: gate})
	show(pipe.Map(f, op, pipe.Opts{Name: "second", Workers: 4, Ordered: true, Gate: gate}))
	fmt.Println(most.Load() <= 2)
	// Output:
	// 0 1 2 3 4
	// true
}

// Two who want to know of the same losses.
func ExampleTee() {
	log := func(who string) pipe.Hooks {
		return pipe.Hooks{Lost: func(l pipe.Loss) { fmt.Println(who, "hears of position", l.Pos) }}
	}
	odd := func(_ context.Context, v int) (int, error) {
		if v == 2 {
			return 0, errors.New("even")
		}
		return v, nil
	}
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 4}), odd, pipe.Opts{Name: "odd"})
	run, err := pipe.Start(context.Background(), f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}, Hooks: pipe.Tee(log("one"), log("other"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for _, err := range run.All() {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// one hears of position 2
	// other hears of position 2
}

// How much faster a program would be if its items cost nothing.
func ExampleMeasureHeadspace() {
	slow := func(ctx context.Context, v int) (int, error) { return v, pipetest.Sleep(ctx, 5*time.Millisecond) }
	f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 100}), slow, pipe.Opts{Name: "slow"})
	step := func(context.Context, int) error { return nil } // a program that only waits
	h, err := pipe.MeasureHeadspace(context.Background(), f, step, pipe.HeadspaceOpts{Items: 10, Cached: 2})
	fmt.Println(err, h.Items, h.Flow > 10*h.Cached)
	// Output: <nil> 10 true
}

// A run that ended, and its state as JSON, with which another goes on.
func ExampleConfig_resume() {
	f := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 7}), 2, pipe.BatchOpts{Name: "batch"})
	run, err := pipe.Start(context.Background(), f, pipe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := run.Next(context.Background())
	saved, _ := json.Marshal(run.State())
	run.Close()
	fmt.Println(first, string(saved))

	var state pipe.State
	if err := json.Unmarshal(saved, &state); err != nil {
		fmt.Println(err)
		return
	}
	if run, err = pipe.Start(context.Background(), f, pipe.Config{Resume: state}); err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for rest, err := range run.All() {
		fmt.Println(rest, err)
	}
	// Output:
	// [0 1] {"version":1,"sources":{"numbers":{"epoch":0,"low":2}}}
	// [2 3] <nil>
	// [4 5] <nil>
	// [6] <nil>
}
