package pipe_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// What an item costs on its way, with operations that do nothing: ns/op is per item. E18.

func BenchmarkSource(b *testing.B) {
	consume(b, numbers(b), b.N)
}

func BenchmarkMap(b *testing.B) {
	for _, o := range []pipe.Opts{
		{Name: "workers=1", Workers: 1, Buffer: 64},
		{Name: "workers=1,ordered", Workers: 1, Buffer: 64, Ordered: true},
		{Name: "workers=4", Workers: 4, Buffer: 64},
		{Name: "workers=4,ordered", Workers: 4, Buffer: 64, Ordered: true},
		{Name: "workers=4,ordered,buffer=2", Workers: 4, Ordered: true},
		{Name: "workers=4,ordered,gate", Workers: 4, Buffer: 64, Ordered: true, Gate: pipe.NewGate(2)},
	} {
		b.Run(o.Name, func(b *testing.B) { consume(b, pipe.Map(numbers(b), same, o), b.N) })
	}
}

func BenchmarkThreeMaps(b *testing.B) {
	f := numbers(b)
	for _, name := range []string{"one", "two", "three"} {
		f = pipe.Map(f, same, pipe.Opts{Name: name, Workers: 4, Buffer: 64, Ordered: true})
	}
	consume(b, f, b.N)
}

// Three stages with one worker each, which need not keep an order.
func BenchmarkThreeMapsInAnyOrder(b *testing.B) {
	f := numbers(b)
	for _, name := range []string{"one", "two", "three"} {
		f = pipe.Map(f, same, pipe.Opts{Name: name, Buffer: 64})
	}
	consume(b, f, b.N)
}

// Depth and width: an item's cost per stage, and among many workers.
func BenchmarkStages(b *testing.B) {
	for _, n := range []int{1, 5, 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := numbers(b)
			for i := range n {
				f = pipe.Map(f, same, pipe.Opts{Name: fmt.Sprint(i), Buffer: 64})
			}
			consume(b, f, b.N)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/stage")
		})
	}
	for _, n := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("workers=", n), func(b *testing.B) {
			consume(b, pipe.Map(numbers(b), same, pipe.Opts{Name: "map", Workers: n, Buffer: 64}), b.N)
		})
	}
}

// A thousand items through three stages, from Start to the end of Close: ns/op is for all
// of it.
func BenchmarkThousandFromStartToClose(b *testing.B) {
	f := pipe.From("numbers", pipetest.Numbers{N: 1000})
	for _, name := range []string{"one", "two", "three"} {
		f = pipe.Map(f, same, pipe.Opts{Name: name, Buffer: 64})
	}
	for b.Loop() {
		run := start(b, f, pipe.Config{})
		collect(b, run)
		if err := run.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRouteBatch(b *testing.B) {
	asIs := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	f := pipe.Batch(numbers(b), 32, pipe.BatchOpts{Name: "batch"})
	pick := func(_ context.Context, v int) (int, error) { return v & 1, nil }
	consume(b, pipe.RouteBatch(f, pick, batchBranches{asIs, asIs}, pipe.RouteBatchOpts{Name: "route"}), (b.N+31)/32)
}

func BenchmarkBatch(b *testing.B) {
	consume(b, pipe.Batch(numbers(b), 32, pipe.BatchOpts{Name: "batch"}), (b.N+31)/32)
}

func BenchmarkFill(b *testing.B) {
	for _, o := range []pipe.FillOpts{
		{Name: "workers=1,ordered", Workers: 1, Ordered: true},
		{Name: "workers=4,ordered", Workers: 4, Ordered: true},
		{Name: "workers=4", Workers: 4},
	} {
		b.Run(o.Name, func(b *testing.B) {
			write := func(_ context.Context, v int, batch []int, row int) error {
				batch[row] = v
				return nil
			}
			consume(b, pipe.Fill(numbers(b), 32, plainStore{32}, write, o), (b.N+31)/32)
		})
	}
}

func same(_ context.Context, v int) (int, error) { return v, nil }

func numbers(b *testing.B) pipe.Flow[int] { return pipe.From("numbers", pipetest.Numbers{N: b.N}) }

func consume[T any](b *testing.B, f pipe.Flow[T], want int) { consumeWith(b, f, want, pipe.Config{}) }

func consumeWith[T any](b *testing.B, f pipe.Flow[T], want int, c pipe.Config) {
	b.ReportAllocs()
	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		b.Fatal(err)
	}
	defer run.Close()
	got := 0
	for {
		_, err := run.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		got++
	}
	if got != want {
		b.Fatalf("%d items, wanted %d", got, want)
	}
}

// plainStore is a store of plain slices.
type plainStore struct{ n int }

func (s plainStore) Reserve(context.Context) ([]int, error)      { return make([]int, s.n), nil }
func (s plainStore) Move(dst []int, to int, src []int, from int) { dst[to] = src[from] }
func (s plainStore) Seal([]int, int) error                       { return nil }
func (s plainStore) Drop([]int)                                  {}

// What hooks cost: without them nothing is different from BenchmarkMap.
func BenchmarkHooks(b *testing.B) {
	task := pipe.Hooks{Task: func(context.Context, pipe.Task) (context.Context, func(pipe.Outcome)) {
		return nil, func(pipe.Outcome) {}
	}}
	for name, hooks := range map[string]pipe.Hooks{"none": {}, "task": task, "two": pipe.Tee(task, task)} {
		b.Run(name, func(b *testing.B) {
			consumeWith(b, pipe.Map(numbers(b), same, pipe.Opts{Name: "map", Buffer: 64}), b.N, pipe.Config{Hooks: hooks})
		})
	}
}

func BenchmarkLimit(b *testing.B) {
	consume(b, pipe.Map(numbers(b), pipe.Limit(same, time.Second, nil), pipe.Opts{Name: "map", Buffer: 64}), b.N)
}
