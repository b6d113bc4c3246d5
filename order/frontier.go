package order

import (
	"errors"
	"fmt"
	"slices"
)

// A Frontier is how far one rank has come in its [Share]: all positions below Position
// are finished, those in the half-open ranges Ahead, and those in Lost.
type Frontier struct {
	Position int64
	Ahead    [][2]int64
	Lost     []int64
}

// ErrApart marks frontiers that differ so much that what is finished could not be
// reported in a record of sensible size.
var ErrApart = errors.New("order: the ranks are too far apart")

// mostApart bounds the ranges that Finished has for what ranks differ in.
const mostApart = 1 << 20

// After returns the ranges of the epoch that are finished once every rank has had k
// batches of its share.
func (s Share) After(k int64) [][2]int64 {
	switch {
	case k >= s.Batches():
		return s.rest.whole()
	case k <= 0:
		return s.rest.with(nil)
	default:
		return s.rest.with([][2]int64{{0, k * s.Batch}})
	}
}

// Finished returns the ranges of the epoch that are finished once rank r of the share's
// World is at frontiers[r]: what was finished before is among them, and there are
// no more ranges than it takes to tell what the ranks differ in. Samples that filled up
// a batch do not count.
func (s Share) Finished(frontiers []Frontier) ([][2]int64, error) {
	if len(frontiers) != s.World {
		return nil, fmt.Errorf("order: frontiers of %d ranks, with a world size of %d", len(frontiers), s.World)
	}

	var common [][2]int64 // batches of which all ranks have finished their parts
	ranks := make([]progress, s.World)
	over := true
	for r, f := range frontiers {
		s.Rank = r
		p, err := s.progress(f)
		if err != nil {
			return nil, fmt.Errorf("order: rank %d: %w", r, err)
		}
		if ranks[r] = p; r == 0 {
			common = p.batches
		}
		common = both(common, p.batches)
		over = over && p.over
	}

	if over {
		return s.rest.whole(), nil
	}

	var rows [][2]int64
	for _, b := range common {
		rows = append(rows, [2]int64{b[0] * s.Batch, b[1] * s.Batch})
	}

	for r, p := range ranks {
		s.Rank = r
		rows = append(rows, p.rows...)
		for _, b := range without(p.batches, common) {
			if b[1]-b[0] > int64(mostApart-len(rows)) {
				return nil, fmt.Errorf("%w: rank %d alone has finished its part of %d batches", ErrApart, r, b[1]-b[0])
			}
			for k := b[0]; k < b[1]; k++ {
				first := k*s.Batch + s.cut(s.Batch, r)
				rows = append(rows, [2]int64{first, first + s.share()})
			}
		}
	}

	return s.rest.with(rows), nil
}

// progress is what one rank has finished of its share.
type progress struct {
	batches [][2]int64 // its parts of full batches, whole
	rows    [][2]int64 // the remaining places of everything else
	over    bool       // nothing is left
}

func (s Share) progress(f Frontier) (progress, error) {
	done, err := f.ranges(s.Len())
	if err != nil {
		return progress{}, err
	}
	var p progress
	share, full := s.share(), s.full()
	for _, d := range done {
		first, end := min((d[0]+share-1)/share, full), min(d[1]/share, full)
		if first >= end {
			p.rows = s.addRows(p.rows, d[0], d[1])
			continue
		}
		p.batches = append(p.batches, [2]int64{first, end})
		p.rows = s.addRows(p.rows, d[0], first*share)
		p.rows = s.addRows(p.rows, end*share, d[1])
	}
	p.over = s.Len() == 0 || len(done) == 1 && done[0] == [2]int64{0, s.Len()}
	return p, nil
}

// addRows adds what the positions from pos to end mean, which are of two batches
// at most.
func (s Share) addRows(rows [][2]int64, pos, end int64) [][2]int64 {
	for pos < end {
		k, wrapped := s.row(pos)
		n := min(end, s.batchEnd(pos)) - pos
		if !wrapped {
			rows = append(rows, [2]int64{k, k + n})
		}
		pos += n
	}
	return rows
}

// batchEnd is the position after the batch that pos is in.
func (s Share) batchEnd(pos int64) int64 {
	if k := pos / s.share(); k < s.full() {
		return (k + 1) * s.share()
	}
	return s.Len()
}

// ranges returns the positions that are finished of n.
func (f Frontier) ranges(n int64) ([][2]int64, error) {
	if f.Position < 0 || f.Position > n {
		return nil, fmt.Errorf("position %d of %d", f.Position, n)
	}
	done := slices.Clone(f.Ahead)
	for _, p := range f.Lost {
		done = append(done, [2]int64{p, p + 1})
	}
	for _, d := range done {
		if d[0] < 0 || d[1] <= d[0] || d[1] > n {
			return nil, fmt.Errorf("finished positions %v of %d", d, n)
		}
	}
	if f.Position > 0 {
		done = append(done, [2]int64{0, f.Position})
	}
	return joined(done), nil
}

// both returns what is in a and in b. All ranges are in order, and meet no other of
// their list.
func both(a, b [][2]int64) (c [][2]int64) {
	for len(a) > 0 && len(b) > 0 {
		if r := [2]int64{max(a[0][0], b[0][0]), min(a[0][1], b[0][1])}; r[0] < r[1] {
			c = append(c, r)
		}
		if a[0][1] < b[0][1] {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return c
}

// without returns what is in a and not in b, which is a part of it.
func without(a, b [][2]int64) (c [][2]int64) {
	for _, r := range a {
		for ; len(b) > 0 && b[0][1] <= r[1]; b = b[1:] {
			if r[0] < b[0][0] {
				c = append(c, [2]int64{r[0], b[0][0]})
			}
			r[0] = b[0][1]
		}
		if r[0] < r[1] {
			c = append(c, r)
		}
	}
	return c
}
