package order

import "math/bits"

// Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel
// random numbers: as easy as 1, 2, 3", 2011): a keyed bijection of 128 bits. Chosen
// because any draw can be computed on its own, it passes the known test suites, and
// published vectors prove an implementation.

const (
	philoxRounds = 10
	philoxM0     = 0xD2511F53
	philoxM1     = 0xCD9E8D57
	philoxW0     = 0x9E3779B9 // golden ratio
	philoxW1     = 0xBB67AE85 // square root of three, less one
)

// block is a counter, or what the generator makes of it.
type block [4]uint32

func philox(key uint64, c block) block {
	k0, k1 := uint32(key), uint32(key>>32)
	for range philoxRounds {
		h0, l0 := bits.Mul32(philoxM0, c[0])
		h1, l1 := bits.Mul32(philoxM1, c[2])
		c = block{h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0}
		k0 += philoxW0
		k1 += philoxW1
	}
	return c
}

// pair makes a block of two numbers of 64 bits.
func pair(a, b uint64) block {
	return block{uint32(a), uint32(a >> 32), uint32(b), uint32(b >> 32)}
}

func (b block) low() uint64 { return uint64(b[0]) | uint64(b[1])<<32 }

// below maps 64 random bits to [0, n) by their high part. The bias is below n / 2⁶⁴.
func below(random, n uint64) uint64 {
	hi, _ := bits.Mul64(random, n)
	return hi
}

// Purposes keep numbers that are drawn from the same seed apart.
const (
	purposeShuffle  = 1
	purposeDraw     = 2
	purposeOutput   = 3
	purposeWeighted = 4
	purposeBlocks   = 5
	purposeWindow   = 6
	purposeSide     = 7
	purposeMix      = 8
)

// epochKey is the root of everything that is random in an epoch, for one purpose.
func epochKey(seed uint64, epoch int, purpose uint32) uint64 {
	e := uint64(int64(epoch))
	return philox(seed, block{uint32(e), uint32(e >> 32), 0, purpose}).low()
}
