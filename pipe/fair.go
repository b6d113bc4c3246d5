package pipe

import (
	"cmp"
	"math/bits"
	"slices"
)

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

	// Inputs that have an item are in one of two heaps. As the sum only grows, one that
	// is not ahead stays so until it gives.
	lengths []int64 // of their next items; below 0: none is there
	due     []int   // those that are not ahead: first whose next item is due first
	ahead   []int   // and those that are: first who will be the first that is not
}

func newFair(shares []uint64) *fair {
	f := &fair{given: make([]int64, len(shares)), lengths: make([]int64, len(shares))}
	f.clear()
	f.share(shares)
	return f
}

// share has these shares from now on, whatever was given before.
func (f *fair) share(shares []uint64) {
	f.shares, f.all = shares, 0
	for _, s := range shares {
		f.all += s
	}
	f.sort()
}

// sort puts all that have an item where they belong.
func (f *fair) sort() {
	f.due, f.ahead = f.due[:0], f.ahead[:0]
	for i, n := range f.lengths {
		if n >= 0 {
			f.offer(i, n)
		}
	}
}

// clear forgets the items.
func (f *fair) clear() {
	for i := range f.lengths {
		f.lengths[i] = -1
	}
	f.due, f.ahead = f.due[:0], f.ahead[:0]
}

// reset begins with the sums that were given before. There are no items then.
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

// offer notes the length of an input's next item.
func (f *fair) offer(input int, length int64) {
	f.lengths[input] = length
	switch {
	case f.shares[input] == 0: // until shares change
	case f.isDue(input):
		f.due = push(f.due, input, f.sooner)
	default:
		f.ahead = push(f.ahead, input, f.earlier)
	}
}

// isDue tells whether an input is not ahead: given ÷ share ≤ sum ÷ all.
func (f *fair) isDue(i int) bool {
	return f.given[i] <= 0 || compare(f.given[i], f.shares[i], f.sum, f.all) <= 0
}

// next is the input whose turn it is; -1: none has an item.
func (f *fair) next() int {
	for len(f.ahead) > 0 && f.isDue(f.ahead[0]) {
		i := f.ahead[0]
		f.ahead = remove(f.ahead, 0, f.earlier)
		f.due = push(f.due, i, f.sooner)
	}
	if len(f.due) > 0 {
		return f.due[0]
	}
	best := -1 // inputs without items are those that are short
	for _, i := range f.ahead {
		if best < 0 || f.sooner(i, best) {
			best = i
		}
	}
	return best
}

// give notes what an input has given: its item, if it has one.
func (f *fair) give(input int, length int64) {
	if f.lengths[input] >= 0 {
		f.lengths[input] = -1
		if at := slices.Index(f.due, input); at >= 0 { // the first, if it is the next
			f.due = remove(f.due, at, f.sooner)
		} else if at := slices.Index(f.ahead, input); at >= 0 {
			f.ahead = remove(f.ahead, at, f.earlier)
		}
	}
	f.given[input] += length
	f.sum += length
}

// sooner orders inputs by when their next items would be due, if each gave steadily.
func (f *fair) sooner(a, b int) bool {
	c := compare(f.given[a]+f.lengths[a], f.shares[a], f.given[b]+f.lengths[b], f.shares[b])
	return c < 0 || c == 0 && a < b
}

// earlier orders inputs by when they will not be ahead.
func (f *fair) earlier(a, b int) bool {
	return compare(f.given[a], f.shares[a], f.given[b], f.shares[b]) < 0
}

// compare compares a ÷ share with b ÷ other.
func compare(a int64, share uint64, b int64, other uint64) int {
	switch {
	case a < 0 && b < 0:
		return compareProducts(uint64(-b), share, uint64(-a), other)
	case a < 0 || b < 0:
		return cmp.Compare(a, b)
	}
	return compareProducts(uint64(a), other, uint64(b), share)
}

// compareProducts compares a × b with c × d. It is called some ten times a turn, which
// package cmp would double.
func compareProducts(a, b, c, d uint64) int {
	hi, lo := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	switch {
	case hi == hi2 && lo == lo2:
		return 0
	case hi < hi2 || hi == hi2 && lo < lo2:
		return -1
	}
	return 1
}
