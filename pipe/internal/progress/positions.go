package progress

import (
	"slices"
	"sort"
)

// A PositionSet records which positions of one epoch of a source are finished.
type PositionSet struct {
	epoch int
	Low   int64
	ahead []Range // beyond low, in order, apart from each other
	lost  []int64
	known map[int64]struct{} // the same
}

// NewPositionSet goes on where a state was.
func NewPositionSet(s SourceState) *PositionSet {
	l := &PositionSet{epoch: s.Epoch, Low: s.Low}
	for _, r := range s.Ahead {
		l.finish(Range{r[0], r[1]})
	}
	for _, pos := range s.Lost {
		l.lose(pos)
		if !slices.Contains(s.Open, pos) {
			l.finish(Range{pos, pos + 1})
		}
	}
	return l
}

func (p Progress) positionSet() PositionSet {
	return *NewPositionSet(SourceState{Low: p.Low, Ahead: p.Ahead})
}

// clone is a copy of what is finished.
func (l *PositionSet) clone() PositionSet {
	return PositionSet{Low: l.Low, ahead: slices.Clone(l.ahead)}
}

// finish records positions; those that are recorded already do no harm.
func (l *PositionSet) finish(s Range) {
	s.Lo = max(s.Lo, l.Low)
	switch {
	case s.Lo >= s.Hi:
		return
	case s.Lo > l.Low:
		l.insert(s)
		return
	}
	l.Low = s.Hi
	done := 0
	for done < len(l.ahead) && l.ahead[done].Lo <= l.Low {
		l.Low = max(l.Low, l.ahead[done].Hi)
		done++
	}
	l.ahead = slices.Delete(l.ahead, 0, done)
}

// insert puts a range among those ahead and joins it with those that it touches.
func (l *PositionSet) insert(s Range) {
	from := sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i].Hi >= s.Lo })
	to := from
	for to < len(l.ahead) && l.ahead[to].Lo <= s.Hi {
		s.Lo, s.Hi = min(s.Lo, l.ahead[to].Lo), max(s.Hi, l.ahead[to].Hi)
		to++
	}
	l.ahead = slices.Replace(l.ahead, from, to, s)
}

// Has tells whether a position is finished.
func (l *PositionSet) Has(pos int64) bool {
	if pos < l.Low {
		return true
	}
	i := sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i].Hi > pos })
	return i < len(l.ahead) && l.ahead[i].Lo <= pos
}

// End is the first position after a finished one that is not finished, or low.
func (l *PositionSet) End(pos int64) int64 {
	i := sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i].Hi > pos })
	if i < len(l.ahead) && l.ahead[i].Lo <= pos {
		return l.ahead[i].Hi
	}
	return l.Low
}

// top is the end of what is finished.
func (l *PositionSet) top() int64 {
	if n := len(l.ahead); n > 0 {
		return l.ahead[n-1].Hi
	}
	return l.Low
}

// Finished counts the positions.
func (l *PositionSet) Finished() int64 {
	n := l.Low
	for _, s := range l.ahead {
		n += s.Hi - s.Lo
	}
	return n
}

// next begins the next epoch.
func (l *PositionSet) next() {
	*l = PositionSet{epoch: l.epoch + 1, ahead: l.ahead[:0]}
}

// lostAt tells whether something of a position was lost.
func (l *PositionSet) lostAt(pos int64) bool {
	_, lost := l.known[pos]
	return lost
}

// lose notes that something of a position was lost.
func (l *PositionSet) lose(pos int64) {
	if l.lostAt(pos) {
		return
	}
	if l.known == nil {
		l.known = make(map[int64]struct{})
	}
	l.known[pos] = struct{}{}
	l.lost = append(l.lost, pos)
}

func (l *PositionSet) state() SourceState {
	p := l.progress()
	s := SourceState{Epoch: l.epoch, Low: p.Low, Ahead: p.Ahead, Lost: slices.Clone(l.lost)}
	for _, pos := range l.lost {
		if !l.Has(pos) {
			s.Open = append(s.Open, pos)
		}
	}
	return s
}

func (l *PositionSet) progress() Progress {
	p := Progress{Low: l.Low}
	if len(l.ahead) > 0 {
		p.Ahead = make([][2]int64, len(l.ahead))
	}
	for i, a := range l.ahead {
		p.Ahead[i] = [2]int64{a.Lo, a.Hi}
	}
	return p
}
