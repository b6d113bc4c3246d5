package extern_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// BenchmarkCall measures a function that returns what it is given, and one that returns a
// copy, in two workers. A call's bytes are those that go in and those that come out.
func BenchmarkCall(b *testing.B) {
	for _, function := range []string{"same", "fresh"} {
		for _, size := range []int{1 << 10, 64 << 10, 5_000_000} {
			b.Run(fmt.Sprintf("%s/%d", function, size), func(b *testing.B) { benchmark(b, function, size) })
		}
	}
}

func benchmark(b *testing.B, function string, size int) {
	schema := sample.Schema{{Name: "image", Type: sample.TensorType(tensor.Uint8, size)}}
	pool := open(b, extern.Options{Function: "functions:" + function, In: schema, Gives: schema, Workers: 2})
	heap := heapOf(pool)
	callers := 128
	if size > 1<<20 {
		callers = 8
	}
	run := func(n int) {
		var left atomic.Int64
		left.Store(int64(n))
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				given := heap.Take(size)
				defer heap.Give(given)
				c := &extern.Call{In: []extern.Value{array(tensor.Uint8, given, size)}}
				for left.Add(-1) >= 0 {
					if err := pool.Call(b.Context(), c); err != nil {
						b.Error(err)
						return
					}
					for i, v := range c.Out {
						if c.Same[i] < 0 {
							heap.Give(v.Data)
						}
					}
				}
			})
		}
		all.Wait()
	}
	run(4 * callers)
	b.SetBytes(2 * int64(size))
	b.ResetTimer()
	run(b.N)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkFirst measures the time to the first 64 results of eight workers that import
// NumPy.
func BenchmarkFirst(b *testing.B) {
	for b.Loop() {
		heap, err := extern.NewHeap()
		if err != nil {
			b.Fatal(err)
		}
		pool, err := extern.Open(extern.Options{Stage: "step", Function: "light:same", Kind: extern.Map, Interpreter: interpreter(b), Heap: heap, In: intField, Gives: intField, Workers: 8})
		if err != nil {
			b.Fatal(err)
		}
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				c := &extern.Call{In: []extern.Value{number(1)}}
				if err := pool.Call(b.Context(), c); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		b.StopTimer()
		pool.Close()
		heap.Close()
		b.StartTimer()
	}
}
