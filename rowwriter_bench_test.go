//go:build cgo

package headrace_test

import (
	"fmt"
	"syscall"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// BenchmarkRows puts arrays of 1 MiB, which a function returns as they are, into
// batches of 8: written there by the worker, with and without out; and stored, and
// copied there by the engine (split). Beside the time of an array is the CPU time
// of this process and of the worker: copying, and all else that they do. One worker
// that does all of the copying may well be slower than two processes that do more of
// it.
func BenchmarkRows(b *testing.B) {
	for _, function := range []string{"stored", "stored_out"} {
		for _, fuse := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/fuse=%v", function, fuse), func(b *testing.B) {
				r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"steps":[{"source":{"function":"rows:Thousand","length":1000}},
					{"map":{"function":"rows:%s","workers":1,"gives":{"large":{"dtype":"float32","shape":[512,512]}}}},{"batch":{"size":8}}]}`, function))
				if err != nil {
					b.Fatal(err)
				}
				benchmarkBatches(b, r, Config{Fuse: new(fuse)}, "map", 8)
				b.SetBytes(1 << 20)
			})
		}
	}
}

// BenchmarkWholeBatches has a function make batches of 16 MiB, which it has ready:
// written by the worker into their slots; and where slots are too small for them, as if
// they had been laid out by a first batch of next to nothing: then they come through
// the heap, and are copied into memory of their own.
func BenchmarkWholeBatches(b *testing.B) {
	for name, function := range map[string]string{"fit": "whole", "too large": "whole_but_the_first"} {
		b.Run(name, func(b *testing.B) {
			r, err := recipe.Parse(fmt.Appendf(nil, `{"headrace":1,"steps":[{"source":{"function":"rows:Thousand","length":1000}},
				{"batch":{"size":2,"collate":{"function":"rows:%s","workers":1}}}]}`, function))
			if err != nil {
				b.Fatal(err)
			}
			benchmarkBatches(b, r, Config{}, "batch", 1)
			b.SetBytes(16 << 20)
		})
	}
}

// benchmarkBatches takes b.N items, so many of them in a batch.
func benchmarkBatches(b *testing.B, r recipe.Recipe, c Config, step string, items int) {
	l, err := Open(b.Context(), r, c, Options{Python: pythonHere(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if err := l.Start(l.Info().State, nil); err != nil {
		b.Fatal(err)
	}
	next := func() {
		batch, err := l.Next(b.Context())
		for err != nil && err.Error() == "EOF" {
			batch, err = l.Next(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		batch.Release()
	}
	for range 20 { // slots have their pages
		next()
	}
	engine, worker := processTime(b), workerTime(l, step)
	b.ResetTimer()
	for n := 0; n < b.N; n += items {
		next()
	}
	b.StopTimer()
	b.ReportMetric(float64(processTime(b)-engine)/float64(b.N), "engine-ns/op")
	b.ReportMetric(float64(workerTime(l, step)-worker)/float64(b.N), "worker-ns/op")
}

// workerTime is the CPU time of the workers of a step, in nanoseconds.
func workerTime(l *Loader, step string) (n int64) {
	for _, p := range l.Stats().Resources.Processes {
		if p.Name == step {
			n += int64(p.User + p.System)
		}
	}
	return n
}

// processTime is the CPU time of this process, in nanoseconds.
func processTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
