package pipe

import "math/bits"

// fair says which of several inputs is next, so that each has its share of all that was
// given: in items, bytes, or whatever their lengths count.
//
// Of the inputs that are not ahead of their share, the next one is that whose next item
// would be due first, if each gave its share steadily. That is worst-case fair weighted
// fair queueing: no input is ahead of its share by more than its longest item, and none
// short of it by more than the longest item of any.
type fair struct {
	shares []uint64
	all    uint64 // their sum
	given  []int64
	sum    int64
}

func newFair(shares []uint64) *fair {
	f := &fair{shares: shares, given: make([]int64, len(shares))}
	for _, s := range shares {
		f.all += s
	}
	return f
}

// reset begins with the sums that were given before.
func (f *fair) reset(given []int64) {
	f.sum = 0
	for i, n := range given {
		f.given[i] = n
		f.sum += n
	}
}

// next is the input whose turn it is; -1: none has an item. Lengths are those of their
// next items; below 0: it has none.
func (f *fair) next(lengths []int64) int {
	best, eligible := -1, false
	for i, n := range lengths {
		if n < 0 || f.shares[i] == 0 {
			continue
		}
		// given ÷ share ≤ sum ÷ all
		ok := !less(uint64(f.sum), f.shares[i], uint64(f.given[i]), f.all)
		if eligible && !ok {
			continue
		}
		if best < 0 || ok && !eligible ||
			less(uint64(f.given[i]+n), f.shares[best], uint64(f.given[best]+lengths[best]), f.shares[i]) {
			best, eligible = i, ok
		}
	}
	return best
}

// give notes what an input has given.
func (f *fair) give(input int, length int64) {
	f.given[input] += length
	f.sum += length
}

// less tells whether a × b < c × d.
func less(a, b, c, d uint64) bool {
	hi, lo := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	return hi < hi2 || hi == hi2 && lo < lo2
}
