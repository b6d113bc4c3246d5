package order

import (
	"fmt"
	"math"
	"sort"
)

// Blocks are neighbours that are cheap to read together: samples of one compressed
// range, or as many as are worth one seek.
type Blocks struct {
	samples int64
	run     int64   // samples of each block but the last, where starts is nil
	starts  []int64 // the first sample of each block
}

// runsOfWindow is how many runs of neighbours meet in a window, where blocks could be of
// any size: enough to mix what is next to each other, and each still worth a seek.
const runsOfWindow = 64

// Run is how many samples a block should have, for windows of so many, where nothing else
// decides.
func Run(window int64) int64 { return max(1, window/runsOfWindow+min(1, window%runsOfWindow)) }

// Runs are blocks of [Run] samples.
func Runs(samples, window int64) Blocks { return Blocks{samples: samples, run: Run(window)} }

// BlocksAt are blocks that begin with these samples: 0 is the first of them, and each is
// larger than the one before it, and below samples. The slice must not be changed.
func BlocksAt(starts []int64, samples int64) Blocks { return Blocks{samples: samples, starts: starts} }

// Len returns how many blocks there are.
func (b Blocks) Len() int64 {
	switch {
	case b.starts != nil:
		return int64(len(b.starts))
	case b.samples < 1:
		return 0
	}
	return (b.samples-1)/b.run + 1
}

// start is the first sample of a block; after the last it is the number of samples.
func (b Blocks) start(i int64) int64 {
	switch {
	case i == b.Len():
		return b.samples
	case b.starts != nil:
		return b.starts[i]
	}
	return i * b.run
}

// Windows is an order of samples for which each block is read once, by anyone who can
// hold the blocks of one window. Blocks are permuted, as many as have a number of samples
// are a window, and the samples of each window are permuted.
//
// As [Permutation], it is computed, and not stored, but for 8 bytes a block.
type Windows struct {
	blocks Blocks
	order  Permutation // of blocks
	places []int64     // at which these begin, and the number of samples
	first  []int64     // of each window, the place of its first block in the order; and the number of blocks
	key    uint64
}

// PermuteWindows returns the order of an epoch in windows of at least so many samples. It
// depends on its arguments only. The last window may have fewer.
func PermuteWindows(b Blocks, window int64, seed uint64, epoch int) *Windows {
	n := b.Len()
	w := &Windows{
		blocks: b, order: permute(n, epochKey(seed, epoch, purposeBlocks)),
		places: make([]int64, 1, n+1), key: epochKey(seed, epoch, purposeWindow),
	}
	full := int64(math.MinInt64) // the place at which the next window begins
	end := int64(0)
	for k := range n {
		if end >= full {
			w.first = append(w.first, k)
			full = end + min(max(window, 1), math.MaxInt64-end)
		}
		i := w.order.At(k)
		end += b.start(i+1) - b.start(i)
		w.places = append(w.places, end)
	}
	w.first = append(w.first, n)
	return w
}

// Len returns the number of samples.
func (w *Windows) Len() int64 { return w.places[len(w.places)-1] }

// At returns the sample at a place. Like an index into a slice, a place outside panics.
func (w *Windows) At(place int64) int64 {
	from, end, p := w.window(place)
	place = w.places[from] + p.At(place-w.places[from])
	k := from + int64(sort.Search(int(end-from), func(k int) bool { return w.places[from+int64(k)] > place })) - 1
	return w.blocks.start(w.order.At(k)) + place - w.places[k]
}

// window returns which blocks are in the window of a place, and the order of its samples.
func (w *Windows) window(place int64) (from, end int64, p Permutation) {
	w.check(place)
	i := sort.Search(len(w.first), func(i int) bool { return w.places[w.first[i]] > place }) - 1
	from, end = w.first[i], w.first[i+1]
	return from, end, permute(w.places[end]-w.places[from], philox(w.key, pair(uint64(i), 0)).low())
}

func (w *Windows) check(i int64) {
	if i < 0 || i >= w.Len() {
		panic(fmt.Sprintf("order: place %d outside windows of %d", i, w.Len()))
	}
}
