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
}

// A run is so many words that finding a member in one costs less than finding the run.
const wordsOfRun = 8

// MembersOf returns the numbers below n for which is reports true.
func MembersOf(n int64, is func(i int64) bool) *Members {
	m := &Members{words: make([]uint64, (max(n, 0)+63)/64)}
	for i := range n {
		if is(i) {
			m.words[i/64] |= 1 << (i % 64)
		}
	}
	count := int64(0)
	for k, w := range m.words {
		if k%wordsOfRun == 0 {
			m.before = append(m.before, count)
		}
		count += int64(bits.OnesCount64(w))
	}
	m.before = append(m.before, count)
	return m
}

// Len returns how many there are.
func (m *Members) Len() int64 { return m.before[len(m.before)-1] }

// At returns member k, from 0. Like an index into a slice, k outside panics.
func (m *Members) At(k int64) int64 {
	run := sort.Search(len(m.before), func(i int) bool { return m.before[i] > k }) - 1
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
	for i, k := range all {
		all[i] = m.At(k)
	}
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
