package pipe

import "math/bits"

// fair says which of several inputs is next, so that each has its share of all that was
// given: in items, bytes, or whatever their lengths count.
//
// Of the inputs that are not ahead of their share, the next one is that whose next item
// would be due first, if each gave its share steadily. That is worst-case fair weighted
// fair queueing: no input is ahead of its share by more than its longest item, and none
// short of it by more than the longest item of any.
//
// Shares may change. An input stays as far ahead or short as it was, so nothing adds up
// over many changes; one without a share then waits for another change.
type fair struct {
	shares []uint64
	all    uint64  // their sum
	given  []int64 // since the last change; what it was ahead is in it, or less if it was short
	sum    int64
}

func newFair(shares []uint64) *fair {
	f := &fair{given: make([]int64, len(shares))}
	f.share(shares)
	return f
}

func (f *fair) share(shares []uint64) {
	f.shares, f.all = shares, 0
	for _, s := range shares {
		f.all += s
	}
}

// reset begins with the sums that were given before.
func (f *fair) reset(given []int64) {
	f.sum = 0
	for i, n := range given {
		f.given[i] = n
		f.sum += n
	}
}

// change goes on with other shares. It returns the amount that each input was due until
// now, in whole numbers, which counts no more; their sum is the sum of all lengths.
func (f *fair) change(shares []uint64) (due []int64) {
	due = make([]int64, len(f.given))
	upTo, before := uint64(0), int64(0)
	for i, s := range f.shares {
		upTo += s
		hi, lo := bits.Mul64(uint64(f.sum), upTo)
		all, _ := bits.Div64(hi, lo, f.all)
		due[i] = int64(all) - before
		before = int64(all)
		f.given[i] -= due[i]
	}
	f.sum = 0
	f.share(shares)
	return due
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
		ok := f.given[i] <= 0 || !less(uint64(f.sum), f.shares[i], uint64(f.given[i]), f.all)
		if eligible && !ok {
			continue
		}
		if best < 0 || ok && !eligible || sooner(f.given[i]+n, f.shares[i], f.given[best]+lengths[best], f.shares[best]) {
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

// sooner tells whether a ÷ share is less than b ÷ other.
func sooner(a int64, share uint64, b int64, other uint64) bool {
	switch {
	case a < 0 && b < 0:
		return less(uint64(-b), share, uint64(-a), other)
	case a < 0 || b < 0:
		return a < b
	}
	return less(uint64(a), other, uint64(b), share)
}

// less tells whether a × b < c × d.
func less(a, b, c, d uint64) bool {
	hi, lo := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	return hi < hi2 || hi == hi2 && lo < lo2
}
