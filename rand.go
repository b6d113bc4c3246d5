package headrace

import "headrace/order"

// Rand gives an operation the random numbers of its sample: a field of this type in In is filled. They depend on nothing but the recipe's seed,
// the epoch, the sample, the name of the step, and how many were drawn before, so a sample gets the same again after a restart and with any
// number of workers. A copy goes on by itself.
//
// It is a rand.Source: rand.New(&in.Rand) has the distributions that are missing here.
type Rand struct {
	key   order.Key
	op    uint64
	drawn uint32
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 { return r.key.Uint64(r.op, r.next()) }

// Float64 returns a number in [0, 1).
func (r *Rand) Float64() float64 { return r.key.Float64(r.op, r.next()) }

// IntN returns a number in [0, n), and 0 for n < 1.
func (r *Rand) IntN(n int) int { return r.key.Intn(r.op, r.next(), n) }

func (r *Rand) next() uint32 {
	r.drawn++
	return r.drawn - 1
}
