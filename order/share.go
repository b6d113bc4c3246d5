package order

import (
	"fmt"
	"slices"
	"sort"
)

// A Share is one rank's part of what remains of an epoch, when some of its places are
// finished already: under another number of ranks, as a rule. [Split.Over] makes it.
//
// The remaining places, in their order, are cut into global batches as [Split] cuts a
// whole epoch, and Samples counts them. So where all finished places are at the epoch's
// start, at the end of a global batch, the batches to come are those that would have
// come anyway. Samples that fill up the last batch come from the start of the whole
// epoch.
type Share struct {
	Split
	rest rest
}

// Over returns the share of an epoch of s.Samples places, of which those in the
// half-open ranges done are finished. The ranges must be in order, and within the
// epoch. Finding a place takes time in the logarithm of their number.
func (s Split) Over(done [][2]int64) (Share, error) {
	r := rest{places: s.Samples, done: done, gone: make([]int64, len(done)+1)}
	end := int64(0)
	for i, d := range done {
		if d[0] < end || d[1] <= d[0] || d[1] > s.Samples {
			return Share{}, fmt.Errorf("order: the finished range %v is not after %d, in order, and within %d places", d, end, s.Samples)
		}
		end = d[1]
		r.gone[i+1] = r.gone[i] + d[1] - d[0]
	}
	s.Samples -= r.gone[len(done)]
	return Share{s, r}, nil
}

// At returns the place in the epoch of this rank's remaining sample number pos, and
// whether the epoch had to begin again for it.
func (s Share) At(pos int64) (place int64, wrapped bool) {
	k, wrapped := s.row(pos)
	if wrapped {
		return s.Before + (k-s.Samples)%s.rest.places, true
	}
	return s.Before + s.rest.at(k), false
}

// Run sets places to those of this rank's remaining samples from number pos on, as
// [Share.At] has them.
func (s Share) Run(places []int64, pos int64) {
	s.rows(places, pos)
	done := s.rest.done
	i := 0 // of these ranges are before the place
	for j, k := range places {
		if k >= s.Samples { // wrapped
			places[j] = s.Before + (k-s.Samples)%s.rest.places
			continue
		}
		for i < len(done) && done[i][0]-s.rest.gone[i] <= k {
			i++
		}
		places[j] = s.Before + k + s.rest.gone[i]
	}
}

// Places is the number of places in the whole epoch, or in this part of it, the finished
// ones included.
func (s Share) Places() int64 { return s.rest.places }

// Done returns the ranges that the share was made with. The slice must not be changed.
func (s Share) Done() [][2]int64 { return s.rest.done }

// rest is what remains of an epoch.
type rest struct {
	places int64
	done   [][2]int64 // in order, disjoint
	gone   []int64    // places in the ranges before the i-th
}

// at returns the place of the k-th of those that remain.
func (r rest) at(k int64) int64 {
	i := sort.Search(len(r.done), func(i int) bool { return r.done[i][0]-r.gone[i] > k })
	return k + r.gone[i]
}

// whole is the epoch as a finished range.
func (r rest) whole() [][2]int64 {
	if r.places == 0 {
		return nil
	}
	return [][2]int64{{0, r.places}}
}

// with returns the finished ranges and some more, as few as there can be. More are of
// the places that remain: their number, not themselves.
func (r rest) with(more [][2]int64) [][2]int64 {
	all := slices.Clone(r.done)
	for _, m := range more {
		all = append(all, [2]int64{r.at(m[0]), r.at(m[1]-1) + 1}) // what else this covers was finished before
	}
	return joined(all)
}

// joined puts ranges in order, and makes one of those that meet.
func joined(ranges [][2]int64) [][2]int64 {
	slices.SortFunc(ranges, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	n := 0
	for _, r := range ranges {
		if n > 0 && r[0] <= ranges[n-1][1] {
			ranges[n-1][1] = max(ranges[n-1][1], r[1])
			continue
		}
		ranges[n] = r
		n++
	}
	return ranges[:n]
}
