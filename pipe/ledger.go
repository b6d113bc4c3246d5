package pipe

import (
	"slices"
	"sort"
)

// A ledger records which positions of one epoch of a source are finished.
type ledger struct {
	epoch int
	low   int64
	ahead []span // beyond low, in order, apart from each other
	lost  []int64
	known map[int64]struct{} // the same
}

// newLedger goes on where a state was.
func newLedger(s SourceState) *ledger {
	l := &ledger{epoch: s.Epoch, low: s.Low}
	for _, r := range s.Ahead {
		l.finish(span{r[0], r[1]})
	}
	for _, pos := range s.Lost {
		l.lose(pos)
		if !slices.Contains(s.Open, pos) {
			l.finish(span{pos, pos + 1})
		}
	}
	return l
}

func (p Progress) ledger() ledger {
	return *newLedger(SourceState{Low: p.Low, Ahead: p.Ahead})
}

// finish records positions; those that are recorded already do no harm.
func (l *ledger) finish(s span) {
	s.lo = max(s.lo, l.low)
	switch {
	case s.lo >= s.hi:
		return
	case s.lo > l.low:
		l.insert(s)
		return
	}
	l.low = s.hi
	done := 0
	for done < len(l.ahead) && l.ahead[done].lo <= l.low {
		l.low = max(l.low, l.ahead[done].hi)
		done++
	}
	l.ahead = slices.Delete(l.ahead, 0, done)
}

// insert puts a span among those ahead and joins it with those that it touches.
func (l *ledger) insert(s span) {
	from := sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i].hi >= s.lo })
	to := from
	for to < len(l.ahead) && l.ahead[to].lo <= s.hi {
		s.lo, s.hi = min(s.lo, l.ahead[to].lo), max(s.hi, l.ahead[to].hi)
		to++
	}
	l.ahead = slices.Replace(l.ahead, from, to, s)
}

// has tells whether a position is finished.
func (l *ledger) has(pos int64) bool {
	if pos < l.low {
		return true
	}
	i := sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i].hi > pos })
	return i < len(l.ahead) && l.ahead[i].lo <= pos
}

// end is the first position behind a finished one that is not finished, or low.
func (l *ledger) end(pos int64) int64 {
	i := sort.Search(len(l.ahead), func(i int) bool { return l.ahead[i].hi > pos })
	if i < len(l.ahead) && l.ahead[i].lo <= pos {
		return l.ahead[i].hi
	}
	return l.low
}

// top is the end of what is finished.
func (l *ledger) top() int64 {
	if n := len(l.ahead); n > 0 {
		return l.ahead[n-1].hi
	}
	return l.low
}

// finished counts the positions.
func (l *ledger) finished() int64 {
	n := l.low
	for _, s := range l.ahead {
		n += s.hi - s.lo
	}
	return n
}

// next begins the next epoch.
func (l *ledger) next() {
	*l = ledger{epoch: l.epoch + 1, ahead: l.ahead[:0]}
}

// lostAt tells whether something of a position was lost.
func (l *ledger) lostAt(pos int64) bool {
	_, lost := l.known[pos]
	return lost
}

// lose notes that something of a position was lost.
func (l *ledger) lose(pos int64) {
	if l.lostAt(pos) {
		return
	}
	if l.known == nil {
		l.known = make(map[int64]struct{})
	}
	l.known[pos] = struct{}{}
	l.lost = append(l.lost, pos)
}

func (l *ledger) state() SourceState {
	p := l.progress()
	s := SourceState{Epoch: l.epoch, Low: p.Low, Ahead: p.Ahead, Lost: slices.Clone(l.lost)}
	for _, pos := range l.lost {
		if !l.has(pos) {
			s.Open = append(s.Open, pos)
		}
	}
	return s
}

func (l *ledger) progress() Progress {
	p := Progress{Low: l.low}
	if len(l.ahead) > 0 {
		p.Ahead = make([][2]int64, len(l.ahead))
	}
	for i, a := range l.ahead {
		p.Ahead[i] = [2]int64{a.lo, a.hi}
	}
	return p
}
