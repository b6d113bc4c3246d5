package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"headrace/pipe"
	"headrace/pipe/pipetest"
)

// show reads one epoch and prints it.
func show[T any](f pipe.Flow[T]) {
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
		fmt.Print(v, " ")
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

func ExampleRoute() {
	even := func(_ context.Context, v int) (int, error) { return v % 2, nil }
	asIs := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	squares := func(f pipe.Flow[int]) pipe.Flow[int] {
		return pipe.Map(f, func(_ context.Context, v int) (int, error) { return v * v, nil }, pipe.Opts{Name: "square", Workers: 2, Ordered: true})
	}
	numbers := pipe.From("numbers", pipetest.Numbers{N: 8})
	show(pipe.Route(numbers, even, []func(pipe.Flow[int]) pipe.Flow[int]{asIs, squares}, pipe.RouteOpts{Name: "route", Ordered: true}))
	// Output: 0 1 2 9 4 25 6 49
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
