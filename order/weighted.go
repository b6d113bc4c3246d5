package order

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Weighted are draws of samples by weights.
type Weighted struct {
	weights    []float64
	cumulative []float64
	draws      int64
	again      bool
	seed       uint64
}

// NewWeighted returns so many draws in an epoch, in each of which a sample is as likely
// as its weight is of their sum; unless again, of what was not drawn before. Weights
// must be finite, from 0 on, with a finite sum above 0; unless again, there must be as
// many above 0 as are drawn.
func NewWeighted(weights []float64, draws int64, again bool, seed uint64) *Weighted {
	w := &Weighted{weights: weights, draws: draws, again: again, seed: seed}
	sum := 0.0
	for _, v := range weights {
		sum += v
		w.cumulative = append(w.cumulative, sum)
	}
	return w
}

// Len returns the number of draws in an epoch.
func (w *Weighted) Len() int64 { return w.draws }

// Epoch returns the function from a draw of an epoch to a sample. It depends on nothing
// else, in particular not on earlier epochs.
func (w *Weighted) Epoch(epoch int) func(draw int64) int64 {
	key := epochKey(w.seed, epoch, purposeWeighted)
	uniform := func(i int64) float64 { // above 0, and below 1
		return (float64(philox(key, block{uint32(i), uint32(i >> 32), 0, 0}).low()>>12) + 0.5) / (1 << 52)
	}
	if w.again {
		total := w.cumulative[len(w.cumulative)-1]
		return func(draw int64) int64 {
			x := min(uniform(draw)*total, math.Nextafter(total, 0))
			return int64(sort.Search(len(w.cumulative), func(i int) bool { return w.cumulative[i] > x }))
		}
	}

	// Anyone who waits the shortest is drawn first, where waits are exponential with the
	// weights as rates: as likely as drawing one after the other, and no draw depends
	// on another.
	type waiting struct {
		sample int64
		time   float64
	}
	all := make([]waiting, 0, len(w.weights))
	for i, v := range w.weights {
		if v > 0 {
			all = append(all, waiting{int64(i), -math.Log(uniform(int64(i))) / v})
		}
	}
	slices.SortFunc(all, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.sample, b.sample))
	})
	all = slices.Clip(all[:min(int64(len(all)), w.draws)])
	return func(draw int64) int64 { return all[draw].sample }
}
