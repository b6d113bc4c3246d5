package source

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// sharesOf returns the turns of an epoch, and the shares of sources of these lengths.
func sharesOf(m *fuse.Merge, lengths []int64, batches order.Split) (turns int64, all []order.Stretch, err error) {
	until, counted := m.Until.Samples()
	if m.Mix.Schedule != nil {
		steps := order.Split{Samples: until, Batch: 1, World: 1}
		if m.Mix.In == "steps" {
			steps.Batch, steps.DropLast = batches.Batch, batches.DropLast
		}
		for _, s := range m.Mix.Schedule {
			from, ok := turnOf(s.From, steps)
			if !ok {
				return 0, nil, fmt.Errorf("its weights from step %d on are after more samples than can be counted", s.From)
			}
			if err := some(m.Names, lengths, s.Weights); err != nil {
				return 0, nil, err
			}
			all = append(all, order.Stretch{From: from, Shares: order.Shares(s.Weights)})
		}
		return until, all, nil
	}

	weights, counts := weightsOf(m.Mix, lengths)
	if err := some(m.Names, lengths, weights); err != nil {
		return 0, nil, err
	}
	if slices.Max(weights) == 0 {
		return 0, nil, errors.New("an epoch has no samples: repeat more, or give the sources more samples")
	}
	if counted {
		shares := counts
		if shares == nil {
			shares = order.Shares(weights)
		}
		return until, []order.Stretch{{Shares: shares}}, nil
	}

	if m.Until != "" {
		counts = ending(lengths, weights, m.Until == "longest")
	}
	total := 0.0
	for _, n := range counts {
		turns += int64(n)
		total += float64(n)
	}
	if total > recipe.MostSamples {
		return 0, nil, fmt.Errorf("an epoch until %s would have more than %d samples: give until a number of samples, or other weights",
			m.Until, int64(recipe.MostSamples))
	}
	return turns, []order.Stretch{{Shares: counts}}, nil
}

// turnOf returns the turn with which a step begins, of those of all epochs; false: it
// comes after more than can be counted. The last batch of an epoch may be smaller, or
// dropped with its turns.
func turnOf(step int64, epoch order.Split) (turn int64, ok bool) {
	each := max(1, epoch.Batches())
	if float64(step/each)*float64(epoch.Samples) > recipe.MostSamples {
		return 0, false
	}
	turn = step/each*epoch.Samples + step%each*epoch.Batch
	return turn, turn <= recipe.MostSamples
}

// some refuses weights for sources without samples.
func some(names []string, lengths []int64, weights []float64) error {
	for i, w := range weights {
		if w > 0 && lengths[i] == 0 {
			return fmt.Errorf("source %q has no samples: leave it out, or give it the weight 0", names[i])
		}
	}
	return nil
}

// weightsOf returns how often each source comes, relative to the others. Counts are the
// same, if they are numbers of samples.
func weightsOf(m *recipe.Mixing, lengths []int64) (weights []float64, counts []uint64) {
	switch {
	case m.Choose != "":
		return slices.Repeat([]float64{1}, len(lengths)), nil // each may come
	case m.Weights != nil:
		return m.Weights, nil
	case m.Temperature > 0:
		longest := 0.0
		for _, n := range lengths {
			longest = max(longest, float64(n))
		}
		for _, n := range lengths {
			// Coarse, so that the last bits of a power do not matter, which differ
			// between machines.
			w := math.Round(math.Pow(float64(n)/max(1, longest), 1/m.Temperature) * (1 << 24))
			if weights = append(weights, w); n > 0 {
				weights[len(weights)-1] = max(1, w)
			}
		}
		return weights, nil
	}

	for i, n := range lengths {
		w := float64(n)
		if m.Repeat != nil {
			w = math.Round(w * m.Repeat[i])
			if n == 0 && m.Repeat[i] > 0 {
				w = 1 // which is refused
			}
		}
		w = min(w, recipe.MostSamples)
		weights, counts = append(weights, w), append(counts, uint64(w))
	}
	return weights, counts
}

// ending returns how many turns each source has in an epoch that ends when all have come
// at least once, or before the first one would begin again.
func ending(lengths []int64, weights []float64, longest bool) []uint64 {
	last := -1
	for i, n := range lengths {
		if weights[i] == 0 {
			continue
		}
		if last < 0 || (float64(n)/weights[i] > float64(lengths[last])/weights[last]) == longest {
			last = i
		}
	}
	times := float64(lengths[last]) / weights[last]
	counts := make([]uint64, len(lengths))
	for i, w := range weights {
		n := min(math.Round(times*w), recipe.MostSamples)
		if !longest {
			n = min(n, float64(lengths[i]))
		}
		if counts[i] = uint64(n); longest && w > 0 {
			counts[i] = max(counts[i], 1)
		}
	}
	counts[last] = uint64(lengths[last])
	return counts
}

// partsOf are shares as parts of one.
func partsOf(shares []uint64) []float64 {
	sum := 0.0
	for _, s := range shares {
		sum += float64(s)
	}
	all := make([]float64, len(shares))
	for i, s := range shares {
		all[i] = float64(s) / sum
	}
	return all
}
