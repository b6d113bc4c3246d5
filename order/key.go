package order

// A Key is the chance of one sample in one epoch: a source of random numbers that has
// no state.
//
// A number is a function of the key, the operation that asks, and which of its draws it
// is. So an operation gets the same numbers on any worker, in any order, again after a
// restart; and adding an operation does not change what another one draws.
type Key struct {
	key  uint64
	salt uint32
}

// NewKey returns the key of a sample. Source is [SourceID] of the source's name, index
// the sample's place in that source.
func NewKey(seed uint64, epoch int, source uint64, index int64) Key {
	b := philox(epochKey(seed, epoch, purposeDraw), pair(source, uint64(index)))
	return Key{b.low(), b[2]}
}

// Output returns the key of one of the samples that a step makes of this one, by its
// number from 0. It has an Output for each of its own in turn. Draws of all of them are
// unrelated, and unrelated to those of the sample that they are made of.
func (k Key) Output(number int64) Key {
	// The complement keeps these blocks apart from those of the sample's draws.
	b := philox(^k.key, block{uint32(number), uint32(number >> 32), k.salt, purposeOutput})
	return Key{b.low(), b[2]}
}

// OpID turns the name of an operation ("random_flip_2") into the number that [Key]
// takes. Make it once, not per sample.
func OpID(name string) uint64 { return hash(name) }

// SourceID turns the name of a source into the number that [NewKey] takes.
func SourceID(name string) uint64 { return hash(name) }

// Uint64 returns 64 random bits.
func (k Key) Uint64(op uint64, draw uint32) uint64 { return k.block(op, draw).low() }

// Float64 returns a number in [0, 1), a multiple of 2⁻⁵³.
func (k Key) Float64(op uint64, draw uint32) float64 {
	return float64(k.Uint64(op, draw)>>11) / (1 << 53)
}

// Intn returns a number in [0, n), and 0 for n < 1. Its bias is below n / 2⁶⁴.
func (k Key) Intn(op uint64, draw uint32, n int) int {
	if n < 1 {
		return 0
	}
	return int(below(k.Uint64(op, draw), uint64(n)))
}

func (k Key) block(op uint64, draw uint32) block {
	return philox(k.key, block{uint32(op), uint32(op >> 32), draw, k.salt})
}

// hash is FNV-1a of 64 bits: short, fixed for ever, and names are few.
func hash(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h
}
