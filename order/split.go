package order

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// A Split is one rank's share of an epoch that is cut into global batches.
//
// Global batch k holds the places [k·Batch, (k+1)·Batch) of the epoch, and each rank
// takes a contiguous part of it: the ranks' rows, one rank after the other, are the
// global batch, for every number of ranks. Where the ranks do not divide the batch
// evenly, the first ones have a row more. All ranks have the same number of batches,
// since one with fewer would leave the others waiting for its gradients.
//
// What remains at the end of an epoch is dropped (DropLast), or becomes a smaller last
// batch that is split in the same way. Where there are fewer samples left than ranks,
// places from the epoch's start follow, one sample per rank: they are wrapped, and
// counted. Uneven has the other ranks go without a batch instead, for anyone who can do
// with that.
type Split struct {
	Samples  int64 // places in an epoch
	Batch    int64 // rows of a global batch
	World    int   // number of ranks
	Rank     int   // this one, from 0
	DropLast bool  // no smaller last batch
	Uneven   bool  // nothing is wrapped: the last ranks may have a batch less
	Before   int64 // places of the epoch before these: they are a part of it, see [Split.Part]
}

// Part returns the split of part i of n of these places. The parts, one after the other,
// are all of them, and begin where global batches do: those of all parts are the batches
// of the whole, and none or one is smaller in each.
func (s Split) Part(i, n int) Split {
	batches := (s.Samples + s.Batch - 1) / s.Batch
	begin := func(i int) int64 {
		hi, lo := bits.Mul64(uint64(batches), uint64(i)) // also of places that nobody counts
		k, _ := bits.Div64(hi, lo, uint64(n))
		return min(s.Samples, int64(k)*s.Batch)
	}
	first, end := begin(i), begin(i+1)
	s.Before, s.Samples = s.Before+first, end-first
	return s
}

// Check says what is wrong with s, all of it. The other methods expect that nothing is.
func (s Split) Check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("order: "+format, args...)) }
	if s.Samples < 0 {
		wrong("the number of samples is %d", s.Samples)
	}
	if s.Before < 0 {
		wrong("the number of places before is %d", s.Before)
	}
	if s.World < 1 {
		wrong("the world size is %d; it must be at least 1", s.World)
	} else if s.Rank < 0 || s.Rank >= s.World {
		wrong("the rank is %d; with a world size of %d it must be from 0 to %d", s.Rank, s.World, s.World-1)
	}
	switch {
	case s.Batch < 1:
		wrong("the global batch size is %d; it must be at least 1", s.Batch)
	case s.World >= 1 && s.Batch < int64(s.World):
		wrong("a global batch of %d leaves some of %d ranks without a sample", s.Batch, s.World)
	case s.Batch > math.MaxInt32:
		wrong("the global batch size is %d; it must be below 2³¹", s.Batch)
	}
	return errors.Join(errs...)
}

// Len returns the number of samples in this rank's epoch.
func (s Split) Len() int64 {
	return s.full()*s.share() + s.tailRows()
}

// Batches returns the number of batches in an epoch, the same for all ranks unless they
// are Uneven.
func (s Split) Batches() int64 {
	if s.tailRows() > 0 {
		return s.full() + 1
	}
	return s.full()
}

// BatchSize returns the rows of this rank in every batch but a smaller last one, which
// has no more.
func (s Split) BatchSize() int { return int(s.share()) }

// Rows returns the rows of this rank in batch number k.
func (s Split) Rows(k int64) int {
	if k < s.full() {
		return int(s.share())
	}
	return int(s.tailRows())
}

// At returns the place in the epoch of this rank's sample number pos, and whether the
// epoch had to begin again for it.
func (s Split) At(pos int64) (place int64, wrapped bool) {
	place, wrapped = s.row(pos)
	if wrapped {
		place %= s.Samples
	}
	return s.Before + place, wrapped
}

// row is the place of a sample as if the epoch went on after its end, and whether it
// has come to that.
func (s Split) row(pos int64) (place int64, wrapped bool) {
	share := s.share()
	if k := pos / share; k < s.full() {
		return k*s.Batch + s.cut(s.Batch, s.Rank) + pos%share, false
	}
	rest := pos - s.full()*share
	if t := s.tail(); t >= int64(s.World) {
		return s.full()*s.Batch + s.cut(t, s.Rank) + rest, false
	}
	// One sample per rank, so rest is 0.
	place = s.full()*s.Batch + int64(s.Rank)
	return place, place >= s.Samples
}

// rows are the places that row returns for a run of samples.
func (s Split) rows(rows []int64, pos int64) {
	share := s.share()
	batch, in := pos/share, pos%share
	for row := batch*s.Batch + s.cut(s.Batch, s.Rank); batch < s.full() && len(rows) > 0; batch++ {
		n := min(share-in, int64(len(rows)))
		for i := range rows[:n] {
			rows[i] = row + in + int64(i)
		}
		rows, pos, row, in = rows[n:], pos+n, row+s.Batch, 0
	}
	for i := range rows { // of a smaller last batch
		rows[i], _ = s.row(pos + int64(i))
	}
}

// Wrapped returns how many samples of this rank's epoch come from the epoch's start
// once more.
func (s Split) Wrapped() int64 {
	if t := s.tail(); t > 0 && t < int64(s.World) && int64(s.Rank) >= t && !s.Uneven {
		return 1
	}
	return 0
}

func (s Split) full() int64 { return s.Samples / s.Batch }

func (s Split) share() int64 { return s.cut(s.Batch, s.Rank+1) - s.cut(s.Batch, s.Rank) }

// tail returns the places that are left for a smaller last batch.
func (s Split) tail() int64 {
	if s.DropLast {
		return 0
	}
	return s.Samples % s.Batch
}

func (s Split) tailRows() int64 {
	switch t := s.tail(); {
	case t == 0, s.Uneven && int64(s.Rank) >= t:
		return 0
	case t < int64(s.World):
		return 1
	default:
		return s.cut(t, s.Rank+1) - s.cut(t, s.Rank)
	}
}

// cut returns where rank r begins in a batch of n rows. That the first ranks take what
// is over, and not those that r·n/World would choose, makes no rank's part of a smaller
// batch larger than its part of a full one.
func (s Split) cut(n int64, r int) int64 {
	world := int64(s.World)
	return n/world*int64(r) + min(n%world, int64(r))
}
