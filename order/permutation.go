package order

import (
	"fmt"
	"math"
	"math/bits"
)

// A Permutation is an order of the numbers from 0 to n-1 that is computed and not stored.
//
// It is a Feistel network over pairs: a number is split into (left, right) with left <
// a and right < b, a·b just above n, and each round adds a keyed hash of one half to
// the other. That is a bijection of a·b; a result of n or above is sent through again
// until it falls below n, which is a bijection of n. As a·b exceeds n by less than √n,
// that is rare.
//
// Halves of a few bits give such a network little to mix. Orders of up to [smallest]
// numbers are therefore drawn by Fisher and Yates into a table, whose size has a bound.
type Permutation struct {
	n, a, b uint64
	keys    [feistelRounds]uint64
	table   []uint8
	rounds  *rounds // nil: not tabulated
}

const (
	// Every half is changed five times. Three rounds make such a network pseudorandom
	// in theory; eight already pass the tests beside this file at all sizes.
	feistelRounds = 10
	// The largest number of values whose order is stored. A value fits a byte.
	smallest = 256
)

// Permute returns the order of n samples in an epoch. It depends on its arguments only,
// not on earlier epochs; n below 1 gives an empty order.
func Permute(n int64, seed uint64, epoch int) Permutation {
	return permute(n, epochKey(seed, epoch, purposeShuffle))
}

func permute(n int64, key uint64) Permutation {
	p := Permutation{n: uint64(max(n, 0))}
	draw := p.drawer(key)
	if p.n <= smallest {
		p.table = fisherYates(int(p.n), draw)
		return p
	}
	p.a = rootAbove(p.n)
	p.b = (p.n + p.a - 1) / p.a
	for i := range p.keys {
		p.keys[i] = draw(uint32(i))
	}
	return p
}

// drawer returns the random numbers that this order is made of. They differ for every
// n: orders of n and n+1 samples must have nothing in common.
func (p *Permutation) drawer(key uint64) func(i uint32) uint64 {
	return func(i uint32) uint64 {
		return philox(key, block{uint32(p.n), uint32(p.n >> 32), i, 0}).low()
	}
}

func fisherYates(n int, draw func(i uint32) uint64) []uint8 {
	t := make([]uint8, n)
	for i := range t {
		j := below(draw(uint32(i)), uint64(i+1))
		t[i] = t[j]
		t[j] = uint8(i)
	}
	return t
}

// rootAbove returns the smallest a with a·a ≥ n.
func rootAbove(n uint64) uint64 {
	a := uint64(math.Sqrt(float64(n)))
	// The square root of a float is off by one at most, but it may be off.
	for a > 0 && (a-1)*(a-1) >= n {
		a--
	}
	for a*a < n {
		a++
	}
	return a
}

// At returns the number at place i. Like an index into a slice, i outside [0, n) panics.
func (p *Permutation) At(i int64) int64 {
	x := p.check(i)
	if p.table != nil {
		return int64(p.table[x])
	}
	for x = p.forth(x); x >= p.n; {
		x = p.forth(x)
	}
	return int64(x)
}

func (p *Permutation) check(i int64) uint64 {
	if uint64(i) >= p.n {
		panic(fmt.Sprintf("order: place %d outside a permutation of %d", i, p.n))
	}
	return uint64(i)
}

func (p *Permutation) forth(x uint64) uint64 {
	left, right := x/p.b, x%p.b
	for i := 0; i < feistelRounds; i += 2 {
		left = add(left, round(right, p.keys[i], p.a), p.a)
		right = add(right, round(left, p.keys[i+1], p.b), p.b)
	}
	return left*p.b + right
}

// round hashes half a number to [0, n): Stafford's thirteenth mixer, and its high bits.
func round(half, key, n uint64) uint64 {
	z := half ^ key
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	hi, _ := bits.Mul64(z^z>>31, n)
	return hi
}

// add is modulo n, for x and y below n ≤ 2³².
func add(x, y, n uint64) uint64 {
	if x += y; x >= n {
		x -= n
	}
	return x
}
