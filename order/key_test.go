package order_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/order"
)

func TestDrawsMatchReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var requests []drawRequest
	for i := range 300 {
		outputs := []int64{}
		for range i % 4 {
			outputs = append(outputs, rng.Int64()>>rng.IntN(63))
		}
		requests = append(requests, drawRequest{
			"draw", rng.Uint64(), int(rng.Int64()) >> rng.IntN(64), fmt.Sprintf("source %d", rng.IntN(9)),
			rng.Int64() >> rng.IntN(63), outputs, fmt.Sprintf("random_flip_%d", rng.IntN(9)), rng.Uint32(),
		})
	}
	for i, want := range reference[uint64](t, requests) {
		r := requests[i]
		k, op := order.NewKey(r.Seed, r.Epoch, order.SourceID(r.Source), r.Index), order.OpID(r.Op)
		for _, n := range r.Outputs {
			k = k.Output(n)
		}
		if got := k.Uint64(op, r.Number); got != want {
			t.Fatalf("%+v: %x, want %x", r, got, want)
		}
		if got := k.Float64(op, r.Number); got != float64(want>>11)/(1<<53) || got < 0 || got >= 1 {
			t.Fatalf("%+v: Float64 is %v for %x", r, got, want)
		}
	}
}

// Whatever is counted up by one, the draws must look unrelated: these are the patterns
// in which an engine asks.
func TestDrawsLookRandomAlongEveryAxis(t *testing.T) {
	op, source := order.OpID("random_flip"), order.SourceID("files")
	axes := map[string]func(i int) float64{
		"index":  func(i int) float64 { return order.NewKey(0, 0, source, int64(i)).Float64(op, 0) },
		"epoch":  func(i int) float64 { return order.NewKey(0, i, source, 0).Float64(op, 0) },
		"seed":   func(i int) float64 { return order.NewKey(uint64(i), 0, source, 0).Float64(op, 0) },
		"draw":   func(i int) float64 { return order.NewKey(0, 0, source, 0).Float64(op, uint32(i)) },
		"op":     func(i int) float64 { return order.NewKey(0, 0, source, 0).Float64(order.OpID(fmt.Sprint("op_", i)), 0) },
		"output": func(i int) float64 { return order.NewKey(0, 0, source, 0).Output(int64(i)).Float64(op, 0) },
		"nested": func(i int) float64 {
			return order.NewKey(0, 0, source, 0).Output(int64(i/4)).Output(int64(i%4)).Float64(op, 0)
		},
		"source": func(i int) float64 { return order.NewKey(0, 0, order.SourceID(fmt.Sprint("s", i)), 0).Float64(op, 0) },
	}
	const n, bins = 200_000, 32
	for name, at := range axes {
		single, pairs := make([]int, bins), make([]int, bins*bins)
		last := int(at(n) * bins)
		for i := range n {
			b := int(at(i) * bins)
			single[b]++
			pairs[last*bins+b]++
			last = b
		}
		if d := deviation(single); d > chance || d < -chance {
			t.Errorf("%s: the draws deviate by %.1f", name, d)
		}
		if d := deviation(pairs); d > chance || d < -chance {
			t.Errorf("%s: pairs of neighbours deviate by %.1f", name, d)
		}
	}
}

func TestIntn(t *testing.T) {
	k, op := order.NewKey(3, 1, 4, 1), order.OpID("crop")
	for _, n := range []int{-5, 0, 1} {
		if got := k.Intn(op, 0, n); got != 0 {
			t.Errorf("Intn(%d) = %d", n, got)
		}
	}
	for _, n := range []int{2, 3, 7, 224, 1 << 40} {
		counts := make([]int, min(n, 16))
		for i := range 50_000 {
			v := k.Intn(op, uint32(i), n)
			if v < 0 || v >= n {
				t.Fatalf("Intn(%d) = %d", n, v)
			}
			if n <= 16 {
				counts[v]++
			} else {
				counts[v/(n/16)]++
			}
		}
		if d := deviation(counts); d > chance || d < -chance {
			t.Errorf("Intn(%d) deviates by %.1f: %v", n, d, counts)
		}
	}
}

func TestDrawingAllocatesNothing(t *testing.T) {
	source, op := order.SourceID("files"), order.OpID("random_flip")
	if n := testing.AllocsPerRun(100, func() {
		k := order.NewKey(1, 2, source, 3)
		_ = k.Float64(op, 0) + float64(k.Intn(op, 1, 224))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
