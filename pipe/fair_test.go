package pipe

import (
	"slices"
	"testing"
)

// BenchmarkFairOf100 measures whose turn it is among 100 inputs.
func BenchmarkFairOf100(b *testing.B) {
	f := newFair(append(slices.Repeat([]uint64{1}, 99), 99))
	lengths := make([]int64, 100)
	for i := range lengths {
		lengths[i] = int64(i * 37 % 512)
	}
	for b.Loop() {
		at := f.next(lengths)
		f.give(at, lengths[at])
		lengths[at] = (lengths[at]*5 + 7) % 512
	}
}
