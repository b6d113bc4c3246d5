package compile

import (
	"math"
	"slices"

	"github.com/headrace/headrace/internal/source"
)

// epoch returns the number of samples in an epoch of the line, on this rank, when none is
// lost. If it is not exact, it is an upper bound.
func (n *line) epoch() (samples int64, exact bool) { return n.epochOf(ofRank) }

// part counts the samples of an epoch that belong to a rank, or to a lane.
type part struct {
	source func(*source.Listing) int64
	merge  func(*line) int64 // that ends after a number of them
}

var ofRank = part{(*source.Listing).Expected, func(n *line) int64 { return n.most }}

func (n *line) epochOf(p part) (samples int64, exact bool) {
	switch {
	case n.source != nil:
		return p.source(n.source) * max(1, n.clips), true
	case n.batches != nil:
		if samples, exact = n.batches.epochOf(p); slices.ContainsFunc(n.steps, step.unbatches) {
			samples, exact = n.batches.taken(p)
		}
		return samples * max(1, n.clips), exact
	}
	if n.merge.Mix != nil { // its sources have no end
		return p.merge(n), true
	}
	// By arrival, speed decides which source ends first.
	exact = n.merge.Until != "shortest" || n.merge.Order == "round_robin"
	turns := int64(math.MaxInt64)
	for i, of := range n.of {
		s, known := of.epochOf(p)
		exact = exact && known
		samples += s
		if k := int64(len(n.of)); s < math.MaxInt64/k-k { // the first turn for which this one has nothing left
			turns = min(turns, s*k+int64(i))
		}
	}

	if n.merge.Until == "shortest" && n.merge.Order == "round_robin" {
		return min(samples, turns), exact
	}
	if n.counts() {
		samples = min(samples, p.merge(n))
	}
	return samples, exact
}

// counts reports whether an epoch of the merge ends after a number of samples, which may
// be none of this rank's.
func (n *line) counts() bool {
	_, counts := n.merge.Until.Samples()
	return counts
}

// epoch returns the number of batches in an epoch of the section, when nothing is lost.
// If it is not exact, it is an upper bound.
func (s *section) epoch() (batches int64, exact bool) { return s.epochOf(ofRank) }

func (s *section) epochOf(p part) (batches int64, exact bool) {
	samples, exact := s.line.epochOf(p)
	rows := int64(s.Rows)
	switch {
	case s.plan.Single:
		return samples, exact
	case s.plan.Batch.Lists:
		return s.line.source.Split.Len(), true
	case s.Groups:
		return MostBatches(s.Layout, *s.plan, samples), false
	case s.plan.Batch.MaxWait > 0: // there may be a batch for each
		return samples, false
	case s.plan.Batch.DropLast:
		return samples / rows, exact
	}
	return (samples + rows - 1) / rows, exact
}

// needs returns the most samples, or rows, that a batch is made of.
func (s *section) needs() int {
	if s.Groups {
		return slices.Max(s.Layout.Full())
	}
	return s.Rows
}

// taken returns the number of samples that come into batches.
func (s *section) taken(p part) (samples int64, exact bool) {
	if samples, exact = s.line.epochOf(p); s.plan.Batch.DropLast && !s.Groups {
		samples -= samples % int64(s.Rows)
	}
	return samples, exact && !s.Groups
}
