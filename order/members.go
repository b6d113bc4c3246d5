package order

import (
	"math/bits"
	"sort"
)

// Members are some of the numbers below n, in their order. They take about a bit for each
// of the n.
type Members struct {
	words  []uint64 // a bit for each number
	before []int64  // members before each run of words; then how many there are
	runs   []int32  // the run of each member whose number is a multiple of step; then the last run
}

// A run is so many words that finding a member in one costs less than finding the run.
const wordsOfRun = 8

// step is how many members are found from one place in runs: those of a run in which all
// numbers are members.
const step = 64 * wordsOfRun

// MembersOf returns the numbers below n for which is reports true.
func MembersOf(n int64, is func(i int64) bool) *Members {
	words := make([]uint64, (max(n, 0)+63)/64)
	for i := range n {
		if is(i) {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return MembersIn(words)
}

// MembersIn returns the numbers whose bits are set, of 64 in each word. The words are the
// result's from then on.
func MembersIn(words []uint64) *Members {
	m := &Members{words: words}
	count := int64(0)
	for k, w := range words {
		if k%wordsOfRun == 0 {
			m.before = append(m.before, count)
		}
		count += int64(bits.OnesCount64(w))
		for int64(len(m.runs))*step < count {
			m.runs = append(m.runs, int32(k/wordsOfRun))
		}
	}
	m.runs = append(m.runs, int32(max(0, len(m.before)-1)))
	m.before = append(m.before, count)
	return m
}

// Len returns how many there are.
func (m *Members) Len() int64 { return m.before[len(m.before)-1] }

// At returns member k, from 0. Like an index into a slice, k outside panics.
func (m *Members) At(k int64) int64 {
	near := m.before[m.runs[k/step] : m.runs[k/step+1]+1]
	run := int(m.runs[k/step]) + sort.Search(len(near), func(i int) bool { return near[i] > k }) - 1
	k -= m.before[run]
	for i := run * wordsOfRun; ; i++ {
		w := m.words[i]
		if n := int64(bits.OnesCount64(w)); k >= n {
			k -= n
			continue
		}
		for range k {
			w &= w - 1
		}
		return int64(i)*64 + int64(bits.TrailingZeros64(w))
	}
}

// Each implements [Sequence].
func (m *Members) Each(all []int64) {
	last := int64(-2)
	for i, k := range all {
		if all[i] = -1; k == last+1 {
			all[i] = m.soonAfter(all[i-1])
		}
		if all[i] < 0 {
			all[i] = m.At(k)
		}
		last = k
	}
}

// soonAfter returns the member after a number, if it is in one of the next words; -1: it
// is not.
func (m *Members) soonAfter(i int64) int64 {
	word := int(i / 64)
	w := m.words[word] &^ (1<<(i%64+1) - 1)
	for ends := min(word+wordsOfRun, len(m.words)-1); w == 0 && word < ends; {
		word++
		w = m.words[word]
	}
	if w == 0 {
		return -1
	}
	return int64(word)*64 + int64(bits.TrailingZeros64(w))
}

// Below returns how many of them are below i.
func (m *Members) Below(i int64) int64 {
	if i >= int64(len(m.words))*64 {
		return m.Len()
	}
	word := int(i / 64)
	n := m.before[word/wordsOfRun]
	for k := word / wordsOfRun * wordsOfRun; k < word; k++ {
		n += int64(bits.OnesCount64(m.words[k]))
	}
	return n + int64(bits.OnesCount64(m.words[word]&(1<<(i%64)-1)))
}

// Side returns the place of a name from 0 to 1, below 1, for splits of what has names.
// For a seed it is always the same, whatever other names there are.
func Side(seed uint64, name string) float64 {
	h := hash(name)
	return float64(philox(seed, block{uint32(h), uint32(h >> 32), 0, purposeSide}).low()>>11) / (1 << 53)
}
