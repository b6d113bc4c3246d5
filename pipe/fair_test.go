package pipe

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// scanned is the input whose turn it is, by the rule itself, for all of them.
func scanned(f *fair) int {
	best, eligible := -1, false
	for i, n := range f.lengths {
		if n < 0 || f.shares[i] == 0 {
			continue
		}
		due := f.given[i] <= 0 || compare(f.given[i], f.shares[i], f.sum, f.all) <= 0
		if eligible && !due {
			continue
		}
		if best < 0 || due && !eligible || compare(f.given[i]+n, f.shares[i], f.given[best]+f.lengths[best], f.shares[best]) < 0 {
			best, eligible = i, due
		}
	}
	return best
}

// Whose turn it is does not depend on how it is found: with inputs that end, wait without
// a share, give nothing, and shares that change.
func TestFairIsTheRule(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		inputs, longest := 1+r.IntN(12), 1+r.Int64N(5)
		if seed%3 == 0 {
			longest = 1 << 39
		}
		draw := func() (shares []uint64) {
			for range inputs {
				shares = append(shares, r.Uint64N(4))
			}
			shares[r.IntN(inputs)] = 1 + r.Uint64N(1<<uint(r.IntN(32)))
			return shares
		}
		f := newFair(draw())
		over := make([]bool, inputs)
		for turn := range 200 {
			if r.IntN(40) == 0 {
				f.change(draw())
			}
			for i := range inputs {
				over[i] = over[i] || r.IntN(400) == 0
				if !over[i] && f.lengths[i] < 0 && f.shares[i] > 0 {
					f.offer(i, r.Int64N(longest+1))
				}
			}
			want, at := scanned(f), f.next()
			if at != want {
				t.Fatalf("seed %d, turn %d: input %d, wanted %d: %+v", seed, turn, at, want, f)
			}
			if at >= 0 {
				f.give(at, f.lengths[at])
			}
		}
	}
}

// BenchmarkFairOf100 measures whose turn it is among 100 inputs.
func BenchmarkFairOf100(b *testing.B) {
	f := newFair(append(slices.Repeat([]uint64{1}, 99), 99))
	for i := range 100 {
		f.offer(i, int64(i*37%512))
	}
	for b.Loop() {
		at := f.next()
		n := f.lengths[at]
		f.give(at, n)
		f.offer(at, (n*5+7)%512)
	}
}
