package pipe_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// What a state costs while a thousand items are in flight: ns/op is for one call of
// Run.State.
func BenchmarkState(b *testing.B) {
	const flight = 1000
	for name, f := range map[string]pipe.Flow[int]{
		"chain":    chainOf(flight),
		"ranges":   everyOther(flight),
		"held":     evensHeld(),
		"families": firstOfEach(flight),
	} {
		b.Run(name, func(b *testing.B) {
			run := start(b, f, pipe.Config{})
			defer run.Close()
			for range flight {
				if _, err := run.Next(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				run.State()
			}
			s := run.State()
			b.ReportMetric(float64(len(s.Sources["numbers"].Ahead)), "ranges")
			b.ReportMetric(float64(len(s.Parts)), "parts")
		})
	}
}

// chainOf has n items under way, in the order of the source.
func chainOf(n int) pipe.Flow[int] {
	f := pipe.From("numbers", pipetest.Numbers{N: -1})
	for i := range 3 {
		f = pipe.Map(f, same, pipe.Opts{Name: fmt.Sprint("map", i), Workers: 4, Buffer: n / 3, Ordered: true})
	}
	return f
}

// everyOther lets n items overtake each the one before it.
func everyOther(n int) pipe.Flow[int] {
	return pipe.Map(pipe.From("numbers", pipetest.Numbers{N: -1}), func(ctx context.Context, v int) (int, error) {
		if v%2 == 0 {
			<-ctx.Done()
		}
		return v, ctx.Err()
	}, pipe.Opts{Name: "map", Workers: n + 1})
}

// evensHeld hands on odd numbers one by one, and holds the even ones.
func evensHeld() pipe.Flow[int] {
	begin := func() pipe.Aggregator[int, int] { return &holdsEvens{} }
	return pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: -1}), begin, pipe.AggregateOpts{Name: "held"})
}

type holdsEvens struct{}

func (holdsEvens) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	if v.Value%2 == 1 {
		e.Emit(v.Value, v)
	}
	return nil
}

func (holdsEvens) Flush(context.Context, *pipe.Emitter[int, int]) error { return nil }

// firstOfEach hands on the first of what n items are made into.
func firstOfEach(n int) pipe.Flow[int] {
	return pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: -1}), func(ctx context.Context, v int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			if yield(v, nil) {
				<-ctx.Done()
				yield(0, ctx.Err())
			}
		}
	}, pipe.Opts{Name: "many", Workers: n + 1})
}

// From Start to the first item and the end of Close, in an epoch of ten million items: at
// its beginning, and resumed far from it.
func BenchmarkResume(b *testing.B) {
	const n = 10_000_000
	numbers := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: n}), same, pipe.Opts{Name: "map", Workers: 4, Ordered: true})
	two := []pipe.Flow[int]{pipe.From("one", pipetest.Numbers{N: n}), pipe.From("two", pipetest.Numbers{N: n})}
	merged := pipe.Merge(two, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
	at := func(s pipe.SourceState) pipe.State {
		return pipe.State{Version: pipe.StateVersion, Sources: map[string]pipe.SourceState{"numbers": s}}
	}
	var holes [][2]int64
	for lo := int64(1); lo < n; lo += n / 1000 {
		holes = append(holes, [2]int64{lo, lo + n/1000 - 1})
	}
	half := map[string]pipe.SourceState{"one": {Low: n / 2}, "two": {Low: n / 2}}
	for _, c := range []struct {
		name string
		flow pipe.Flow[int]
		from pipe.State
	}{
		{"numbers from the beginning", numbers, pipe.State{}},
		{"numbers from the middle", numbers, at(pipe.SourceState{Low: n / 2})},
		{"numbers from the end", numbers, at(pipe.SourceState{Low: n - 1})},
		{"numbers with one hole at the beginning", numbers, at(pipe.SourceState{Low: 0, Ahead: [][2]int64{{1, n - 1}}})},
		{"numbers with a thousand holes", numbers, at(pipe.SourceState{Low: 0, Ahead: holes})},
		{"merge from the beginning", merged, pipe.State{}},
		{"merge from the middle", merged, pipe.State{Version: pipe.StateVersion, Sources: half, Merges: map[string]pipe.Progress{"merge": {Low: n}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run := start(b, c.flow, pipe.Config{Resume: c.from})
				if _, err := run.Next(context.Background()); err != nil {
					b.Fatal(err)
				}
				run.Close()
			}
		})
	}
}
