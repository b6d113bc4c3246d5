package order

import (
	"errors"
	"fmt"
)

// Lanes divide an order into fixed shares: lane l has the share that rank l has in a
// world of as many ranks as lanes. A step that holds samples holds those of one lane, and
// each rank has some of the lanes. So no result depends on the number of ranks.
type Lanes struct {
	Count int // of lanes
	Each  int // samples, or rows, of each in a global batch
}

// mostLanes bounds the default number of lanes: most runs have fewer ranks, and each lane
// costs something.
const mostLanes = 256

// LanesOf returns the lanes of a global batch: as many as can be, up to 256, or count,
// which has to divide it.
func LanesOf(batch, count int) (Lanes, error) {
	if count > 0 {
		if batch%count != 0 {
			return Lanes{}, fmt.Errorf("order: %d lanes do not divide a global batch of %d", count, batch)
		}
		return Lanes{count, batch / count}, nil
	}
	for count = min(batch, mostLanes); batch%count != 0; {
		count--
	}
	return Lanes{count, batch / count}, nil
}

// ErrLanes marks a number of ranks that cannot share the lanes.
var ErrLanes = errors.New("order: lanes")

// Of returns the lanes of a rank, from first up to, but without, end. Where not all ranks
// have as many, uneven has to say that they need not.
func (l Lanes) Of(rank, world int, uneven bool) (first, end int, err error) {
	switch {
	case world > l.Count:
		err = fmt.Errorf("%w: %d ranks, and only %d lanes", ErrLanes, world, l.Count)
	case !uneven && l.Count%world != 0:
		err = fmt.Errorf("%w: %d ranks do not divide %d lanes", ErrLanes, world, l.Count)
	}
	cut := func(r int) int { return l.Count/world*r + min(l.Count%world, r) }
	return cut(rank), cut(rank + 1), err
}
