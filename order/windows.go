package order

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"sync/atomic"
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
// As [Permutation], it is computed, and not stored, but for 8 bytes a block, and
// tables of the window that was last asked for.
type Windows struct {
	blocks Blocks
	order  Permutation // of blocks
	places []int64     // at which these begin, and the number of samples
	first  []int64     // of each window, the place of its first block in the order; and the number of blocks
	key    uint64
	last   atomic.Pointer[window]
}

// PermuteWindows returns the order of an epoch in windows of at least so many samples. It
// depends on its arguments only. The last window may have fewer.
func PermuteWindows(b Blocks, window int64, seed uint64, epoch int) *Windows {
	n := b.Len()
	w := &Windows{
		blocks: b, order: permute(n, epochKey(seed, epoch, purposeBlocks)).Tabulated(),
		places: make([]int64, n+1), key: epochKey(seed, epoch, purposeWindow),
	}
	for k := range n {
		w.places[k] = k
	}
	w.order.Each(w.places[:n])

	full := int64(math.MinInt64) // the place at which the next window begins
	end := int64(0)
	for k := range n {
		if end >= full {
			w.first = append(w.first, k)
			full = end + min(max(window, 1), math.MaxInt64-end)
		}
		i := w.places[k]
		w.places[k] = end
		end += b.start(i+1) - b.start(i)
	}
	w.places[n] = end
	w.first = append(w.first, n)
	return w
}

// Len returns the number of samples.
func (w *Windows) Len() int64 { return w.places[len(w.places)-1] }

// At returns the sample at a place. Like an index into a slice, a place outside panics.
func (w *Windows) At(place int64) int64 {
	w.check(place)
	if now := w.last.Load(); now.has(place) {
		return now.at(now.from + now.order.At(place-now.from))
	}
	i := w.of(place)
	from, end, p := w.first[i], w.first[i+1], w.permutation(i)
	place = w.places[from] + p.At(place-w.places[from])
	k := from + int64(sort.Search(int(end-from), func(k int) bool { return w.places[from+int64(k)] > place })) - 1
	return w.blocks.start(w.order.At(k)) + place - w.places[k]
}

// Each replaces places by the samples there, as [Windows.At] has them. It allocates only
// if it comes to another window.
func (w *Windows) Each(places []int64) {
	for len(places) > 0 {
		now := w.last.Load()
		if !now.has(places[0]) {
			w.check(places[0])
			i := w.of(places[0])
			from, end := w.places[w.first[i]], w.places[w.first[i+1]]
			if !worth(places, from, end) {
				places[0] = w.At(places[0])
				places = places[1:]
				continue
			}
			now = w.window(i)
			w.last.Store(now)
		}
		n := 1
		for n < len(places) && now.has(places[n]) {
			n++
		}
		now.each(places[:n])
		places = places[n:]
	}
}

// worth tells whether a window is asked for so many places that it is made for them.
func worth(places []int64, from, end int64) bool {
	const enough = 16
	n := int64(0)
	for n < int64(len(places)) && n < enough && places[n] >= from && places[n] < end {
		n++
	}
	return n == min(enough, end-from)
}

// of returns the window of a place.
func (w *Windows) of(place int64) int {
	return sort.Search(len(w.first), func(i int) bool { return w.places[w.first[i]] > place }) - 1
}

// permutation returns the order of a window's samples.
func (w *Windows) permutation(i int) Permutation {
	return permute(w.places[w.first[i+1]]-w.places[w.first[i]], philox(w.key, pair(uint64(i), 0)).low())
}

func (w *Windows) check(i int64) {
	if i < 0 || i >= w.Len() {
		panic(fmt.Sprintf("order: place %d outside windows of %d", i, w.Len()))
	}
}

// window makes a window.
func (w *Windows) window(i int) *window {
	first, end := w.first[i], w.first[i+1]
	all := &window{from: w.places[first], end: w.places[end], order: w.permutation(i).Tabulated(),
		places: w.places[first : end+1], ahead: make([]int64, end-first)}
	for k := range all.ahead {
		all.ahead[k] = first + int64(k)
	}
	w.order.Each(all.ahead)
	for k, block := range all.ahead {
		all.ahead[k] = w.blocks.start(block) - all.places[k]
	}

	// About two stretches for each block, so that few stretches have several.
	size := uint64(all.end - all.from)
	all.shift = max(0, bits.Len64(size/uint64(2*(end-first)))-1)
	all.block = make([]int32, size>>all.shift+1)
	k := int32(0)
	for c := range all.block {
		for place := all.from + int64(c)<<all.shift; place < all.end && all.places[k+1] <= place; {
			k++
		}
		all.block[c] = k
	}
	return all
}

// A window has what all places of a window need.
type window struct {
	from, end int64 // its places
	order     Permutation
	places    []int64 // at which its blocks begin, and at which the last one ends
	ahead     []int64 // of each block: the first sample, less its place
	shift     int     // the logarithm of places in a stretch
	block     []int32 // in which each stretch begins
}

func (w *window) has(place int64) bool { return w != nil && place >= w.from && place < w.end }

func (w *window) each(places []int64) {
	for i := range places {
		places[i] -= w.from
	}
	w.order.Each(places)
	for i, place := range places {
		places[i] = w.at(w.from + place)
	}
}

// at returns the sample at a place of its blocks, before the samples are permuted.
func (w *window) at(place int64) int64 {
	k := w.block[(place-w.from)>>w.shift]
	for w.places[k+1] <= place {
		k++
	}
	return place + w.ahead[k]
}
