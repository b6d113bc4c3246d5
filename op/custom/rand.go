package custom

import "github.com/headrace/headrace/order"

// Rand gives an operation the random numbers of its sample: a field of this type in In is
// filled. They depend on nothing but the recipe's seed, the epoch, the sample, the name
// of the step, and how many were drawn before, so a sample gets the same again after a
// restart and with any number of workers. A copy goes on by itself.
//
// It is a rand.Source: rand.New(&in.Rand) has the distributions that are missing here.
type Rand struct {
	key   order.Key
	op    uint64
	drawn uint32
	log   *drawLog // nil: nobody wants to know
}

// NewRand returns the numbers of a step for the sample with this key.
func NewRand(key order.Key, step uint64) Rand { return Rand{key: key, op: step} }

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 {
	n := r.key.Uint64(r.op, r.next())
	if r.log != nil {
		r.log.add(n)
	}
	return n
}

// Float64 returns a number in [0, 1).
func (r *Rand) Float64() float64 {
	x := r.key.Float64(r.op, r.next())
	if r.log != nil {
		r.log.add(x)
	}
	return x
}

// IntN returns a number in [0, n), and 0 for n < 1.
func (r *Rand) IntN(n int) int {
	i := r.key.Intn(r.op, r.next(), n)
	if r.log != nil {
		r.log.add(i)
	}
	return i
}

func (r *Rand) next() uint32 {
	r.drawn++
	return r.drawn - 1
}
