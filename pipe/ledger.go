package pipe

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// StateVersion is what State.Version says.
const StateVersion = 1

// A State is where a run stands: everything that its consumer was given, or was told to be lost, and nothing else. The zero
// State is the beginning.
type State struct {
	Version int                    `json:"version"`
	Sources map[string]SourceState `json:"sources"`
}

// A SourceState is how far one source was read. All positions below Low are finished, and those in the half-open ranges
// Ahead; finished are also the positions in Lost, which were lost in this epoch. What is finished is not tried again
// after a resume.
type SourceState struct {
	Epoch int        `json:"epoch"`
	Low   int64      `json:"low"`
	Ahead [][2]int64 `json:"ahead,omitempty"`
	Lost  []int64    `json:"lost,omitempty"`
}

func (s SourceState) check() error {
	var all []error
	if s.Epoch < 0 {
		all = append(all, fmt.Errorf("epoch %d", s.Epoch))
	}
	if s.Low < 0 {
		all = append(all, fmt.Errorf("position %d", s.Low))
	}
	for _, r := range s.Ahead {
		if r[0] < 0 || r[0] >= r[1] {
			all = append(all, fmt.Errorf("the range [%d, %d)", r[0], r[1]))
		}
	}
	for _, pos := range s.Lost {
		if pos < 0 {
			all = append(all, fmt.Errorf("the lost position %d", pos))
		}
	}
	return errors.Join(all...)
}

// A ledger records which positions of one epoch of a source are finished.
type ledger struct {
	epoch int
	low   int64
	ahead []span // beyond low, in order, apart from each other
	lost  []int64
}

func newLedger(s SourceState) *ledger {
	l := &ledger{epoch: s.Epoch, low: s.Low, lost: slices.Clone(s.Lost)}
	for _, r := range s.Ahead {
		l.finish(span{r[0], r[1]})
	}
	for _, pos := range s.Lost {
		l.finish(span{pos, pos + 1})
	}
	return l
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

func (l *ledger) state() SourceState {
	s := SourceState{Epoch: l.epoch, Low: l.low, Lost: slices.Clone(l.lost)}
	for _, a := range l.ahead {
		s.Ahead = append(s.Ahead, [2]int64{a.lo, a.hi})
	}
	return s
}
