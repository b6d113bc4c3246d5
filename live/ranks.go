package live

import "slices"

// A rank is late if it spends at least this share of its loop on getting batches, and
// so many times the share of the median rank.
const (
	lateFrom  = 0.10
	lateTimes = 1.5
)

// Late reports which of some loaders are ranks that hold up the others of their loader.
// Ranks that train in step end each step together, so the others wait for a late one
// within their own steps: it is the one whose loader is worth making faster.
func Late(all []*Moment) []bool {
	out := make([]bool, len(all))
	done := make([]bool, len(all))
	for i, first := range all {
		if done[i] || first.Ranks < 2 {
			continue
		}
		var members []int
		var shares []float64
		for k, m := range all[i:] {
			if m.Program == first.Program && m.Name == first.Name && m.Ranks == first.Ranks {
				members, done[i+k] = append(members, i+k), true
				shares = append(shares, m.Loop.Share+m.Loop.MainShare)
			}
		}
		for k, isLate := range late(shares) {
			out[members[k]] = isLate
		}
	}
	return out
}

// late is the rule, of the shares of the ranks' time. The Python client has it, too, for
// ranks of other machines; testdata/ranks.json holds both to the same answers.
func late(shares []float64) []bool {
	// Of two in the middle the lower one: of two ranks one may be late.
	median := slices.Sorted(slices.Values(shares))[(len(shares)-1)/2]
	out := make([]bool, len(shares))
	for i, share := range shares {
		out[i] = share >= lateFrom && share >= lateTimes*median
	}
	return out
}
