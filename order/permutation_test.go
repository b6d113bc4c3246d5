package order_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headrace/headrace/order"

	"pgregory.net/rapid"
)

// checkWhole goes through all places, and back by Inverse.
func checkWhole(t *testing.T, n int64, seed uint64, epoch int) {
	p := order.Permute(n, seed, epoch)
	seen := make([]bool, n)
	for i := range n {
		v := p.At(i)
		if v < 0 || v >= n || seen[v] {
			t.Fatalf("n %d, seed %d, epoch %d: place %d holds %d, which is outside or there already", n, seed, epoch, i, v)
		}
		seen[v] = true
		if back := p.Inverse(v); back != i {
			t.Fatalf("n %d, seed %d, epoch %d: At(%d) is %d, whose Inverse is %d", n, seed, epoch, i, v, back)
		}
	}
}

func TestEverySmallSizeIsPermuted(t *testing.T) {
	for n := range int64(1100) {
		checkWhole(t, n, 42, int(n%5))
	}
	for shift := 2; shift <= 17; shift++ {
		for d := int64(-1); d <= 1; d++ {
			checkWhole(t, 1<<shift+d, uint64(shift), -3)
		}
	}
	// Squares and their neighbours, where both halves are full.
	for _, a := range []int64{17, 18, 99, 100, 255, 256, 257} {
		for d := int64(-1); d <= 1; d++ {
			checkWhole(t, a*a+d, 0, 0)
		}
	}
}

func TestRandomSizesArePermuted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.Int64Range(0, 30_000).Draw(r, "n")
		checkWhole(t, n, rapid.Uint64().Draw(r, "seed"), rapid.Int().Draw(r, "epoch"))
	})
}

func TestLargeSizesHaveTheirInverse(t *testing.T) {
	for _, n := range []int64{1e7, 1<<31 - 1, 1 << 31, 1<<32 + 1, 1e12, 1<<53 - 1, 1<<62 + 12345, math.MaxInt64} {
		p := order.Permute(n, 7, 1)
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		halves := make([]int, 16)
		for i := range 20_000 {
			at := rng.Int64N(n)
			switch i {
			case 0:
				at = 0
			case 1:
				at = n - 1
			}
			v := p.At(at)
			if v < 0 || v >= n || p.Inverse(v) != at {
				t.Fatalf("n %d: At(%d) is %d, whose Inverse is %d", n, at, v, p.Inverse(v))
			}
			halves[int(float64(v)/float64(n)*16)&15]++
		}
		if d := deviation(halves); d > chance || d < -chance {
			t.Errorf("n %d: the numbers deviate by %.1f: %v", n, d, halves)
		}
	}
}

func TestPermutationsMatchReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var requests []permutationRequest
	for _, n := range []int64{1, 2, 3, 10, 255, 256, 257, 258, 1000, 1 << 16, 1281167, 1e7, 1<<31 + 7, 1 << 40, math.MaxInt64} {
		r := permutationRequest{"permutation", n, rng.Uint64(), int(rng.Int64()) >> rng.IntN(64), nil}
		for range 40 {
			r.Places = append(r.Places, rng.Int64N(n))
		}
		requests = append(requests, r)
	}
	for i, want := range reference[[]int64](t, requests) {
		r := requests[i]
		p := order.Permute(r.N, r.Seed, r.Epoch)
		for j, place := range r.Places {
			if got := p.At(place); got != want[j] {
				t.Fatalf("n %d, seed %d, epoch %d: At(%d) is %d, want %d", r.N, r.Seed, r.Epoch, place, got, want[j])
			}
		}
	}
}

// Over many seeds every number is equally often at every place, and over many epochs too.
func TestEveryNumberComesToEveryPlace(t *testing.T) {
	vary := map[string]func(n int64, i int) order.Permutation{
		"seed":  func(n int64, i int) order.Permutation { return order.Permute(n, uint64(i), 0) },
		"epoch": func(n int64, i int) order.Permutation { return order.Permute(n, 0, i) },
	}
	for name, permute := range vary {
		for _, n := range []int64{2, 3, 4, 7, 16, 100, 255, 256, 257, 289, 300, 400} {
			counts := make([]int, n*n)
			for i := range int(2_000_000 / n) {
				p := permute(n, i)
				for place := range n {
					counts[place*n+p.At(place)]++
				}
			}
			if d := deviation(counts); d > chance || d < -chance {
				t.Errorf("n %d over %ss: places deviate by %.1f", n, name, d)
			}
		}
	}
}

// Of few numbers, all orders come equally often.
func TestAllOrdersOfFewNumbersComeEquallyOften(t *testing.T) {
	factorial := 1
	for n := int64(2); n <= 6; n++ {
		factorial *= int(n)
		seen := make(map[string]int)
		for seed := range uint64(100 * factorial) {
			p := order.Permute(n, seed, 1)
			text := ""
			for i := range n {
				text += fmt.Sprint(p.At(i))
			}
			seen[text]++
		}
		var counts []int
		for _, c := range seen {
			counts = append(counts, c)
		}
		if len(counts) != factorial {
			t.Fatalf("n %d: %d orders of %d", n, len(counts), factorial)
		}
		if d := deviation(counts); n > 2 && (d > chance || d < -chance) {
			t.Errorf("n %d: orders deviate by %.1f", n, d)
		}
	}
}

// Two epochs have nothing in common, nor have neighbours within one, nor the orders of
// two datasets that differ by a sample, nor those of two seeds.
func TestOrdersHaveNothingInCommon(t *testing.T) {
	for _, n := range []int64{200, 256, 257, 1000, 4096, 50_000} {
		p := order.Permute(n, 9, 4)
		next, other, larger := order.Permute(n, 9, 5), order.Permute(n, 10, 4), order.Permute(n+1, 9, 4)
		for name, distance := range map[string]func(i int64) int64{
			"the next epoch":     func(i int64) int64 { return next.At(i) - p.At(i) },
			"another seed":       func(i int64) int64 { return other.At(i) - p.At(i) },
			"one sample more":    func(i int64) int64 { return larger.At(i)%n - p.At(i) },
			"the neighbour":      func(i int64) int64 { return p.At((i+1)%n) - p.At(i) },
			"the place itself":   func(i int64) int64 { return p.At(i) - i },
			"the next epoch − 1": func(i int64) int64 { return next.Inverse(p.At(i)) - i },
		} {
			bins := make([]int, 20)
			for i := range n {
				bins[((distance(i)+n)%n)*int64(len(bins))/n]++
			}
			if d := deviation(bins); d > chance {
				t.Errorf("n %d: distances to %s deviate by %.1f: %v", n, name, d, bins)
			}
		}
	}
}

func TestPermuteDependsOnNothingElse(t *testing.T) {
	first := order.Permute(1000, 1, 3)
	for e := range 3 {
		p := order.Permute(1000, 1, e)
		p.At(5)
	}
	again := order.Permute(1000, 1, 3)
	for i := range int64(1000) {
		if first.At(i) != again.At(i) {
			t.Fatalf("place %d differs", i)
		}
	}
}

func TestPlacesOutsidePanic(t *testing.T) {
	for _, n := range []int64{-1, 0, 5, 1000} {
		p := order.Permute(n, 0, 0)
		for _, at := range []int64{-1, max(n, 0), math.MaxInt64, math.MinInt64} {
			for name, f := range map[string]func(int64) int64{"At": p.At, "Inverse": p.Inverse} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("n %d: %s(%d) did not panic", n, name, at)
						}
					}()
					f(at)
				}()
			}
		}
	}
}
