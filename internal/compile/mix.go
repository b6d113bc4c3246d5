package compile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// unknown is a length from which on nobody has counted a source.
const unknown = 1 << 40

// Mix is a merge by weights.
type Mix struct {
	Name    string
	Weights []float64
	Samples []int64 // of each source in an epoch, on this rank; -1: unknown
	Most    int64   // of all together; 0: as many as there are
	All     bool    // nothing else comes into batches
}

// mixes appends the merges by weights that go on when one of their sources has ended.
func (n *line) mixes(all []Mix, only bool) []Mix {
	if n.batches != nil {
		all = n.batches.line.mixes(all, false)
	}
	for _, of := range n.of {
		all = of.mixes(all, false)
	}
	if n.merge == nil || n.merge.Order != "weights" || n.merge.Until == "shortest" {
		return all
	}
	m := Mix{Name: n.merge.Name, Weights: n.merge.Weights, Most: n.most, All: only}
	for i, of := range n.of {
		samples, exact := of.epoch()
		if !exact || samples >= unknown || changes(n.merge.Of[i]) {
			samples = -1
		}
		m.Samples = append(m.Samples, samples)
	}
	return append(all, m)
}

// changes tells whether a flow may have another number of samples than its source.
func changes(f fuse.Flow) bool {
	if f.Batches != nil {
		return true
	}
	if f.Merge != nil {
		for _, of := range f.Merge.Of {
			if changes(of) {
				return true
			}
		}
	}

	for _, n := range f.Nodes {
		switch {
		case n.Route != nil:
			for _, b := range n.Route.Branches {
				if changes(b.Flow) {
					return true
				}
			}
		case n.Part.Step != nil:
			for _, s := range append(n.Part.Then[:len(n.Part.Then):len(n.Part.Then)], *n.Part.Step) {
				switch recipe.TraitsOf(s.Args).Count {
				case recipe.Fewer, recipe.More, recipe.Gathers:
					return true
				}
			}
		}
	}
	return false
}

// Lost says that the weights do not hold for a whole epoch, and which shares come
// instead. An epoch has so many samples at most, if that is not 0; empty: the weights
// hold, as far as is known.
func (m Mix) Lost(most int64) string {
	if m.All && most > 0 && (m.Most == 0 || most < m.Most) {
		m.Most = most
	}
	sum, all := 0.0, int64(0)
	for i, w := range m.Weights {
		sum += w
		if m.Samples[i] < 0 {
			if m.Most > 0 {
				return "" // who counts the samples of what has no end is not to be told of its end
			}
			return fmt.Sprintf("%s: its weights hold until a source ends\n  until=\"shortest\" ends the epoch there", m.Name)
		}
		all += m.Samples[i]
	}
	if m.Most == 0 || m.Most > all {
		m.Most = all
	}

	first, counts := m.counts(sum)
	asked, given, worst := make([]string, len(counts)), make([]string, len(counts)), 0.0
	for i, w := range m.Weights {
		share := counts[i] / float64(m.Most)
		asked[i], given[i] = percent(w/sum), percent(share)
		worst = max(worst, math.Abs(share-w/sum))
	}
	// Samples are whole, so shares are always off by a little, which is no news.
	if m.Most == 0 || worst < 0.01 {
		return ""
	}
	return fmt.Sprintf("%s: its weights hold for about %s of %s samples\n  asked: %s %%; "+
		"in the whole epoch: %s %%\n  until=\"shortest\" ends the epoch with the first source",
		m.Name, words.Thousands(first), words.Thousands(m.Most), strings.Join(asked, ", "), strings.Join(given, ", "))
}

// counts returns the number of samples that have come when the first source ends, and
// that of each source at the end of an epoch, on average.
func (m Mix) counts(sum float64) (first int64, counts []float64) {
	counts = make([]float64, len(m.Weights))
	for left := float64(m.Most); left > 1e-6 && sum > 0; {
		// The next one to end, or the epoch.
		n, next := left, -1
		for i, w := range m.Weights {
			if rest := float64(m.Samples[i]) - counts[i]; rest > 0 && rest*sum/w < n {
				n, next = rest*sum/w, i
			}
		}
		rest := 0.0
		for i, w := range m.Weights {
			if counts[i] >= float64(m.Samples[i]) {
				continue
			}
			if counts[i] += n * w / sum; i == next {
				counts[i] = float64(m.Samples[i])
			} else {
				rest += w
			}
		}
		left -= n
		if sum = rest; first == 0 {
			first = int64(n)
		}
		if next < 0 {
			break
		}
	}
	return first, counts
}

func percent(share float64) string {
	digits := 0
	if share < 0.01 {
		digits = 1
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64)
}
