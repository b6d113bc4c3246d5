package source

import "github.com/headrace/headrace/order"

// A Course has the samples of an epoch, in their order.
type Course struct {
	share   order.Share
	of      order.Sequence // nil: samples come in the order of their numbers
	part    order.Slice    // of the order's places
	choices *choices
}

// Course returns the course of an epoch, whose order is known.
func (l *Listing) Course(epoch int) *Course {
	c := &Course{share: l.Share(epoch), part: l.slice(epoch), choices: &l.choices}
	switch {
	case l.Lists():
		lists := l.drawnOf(epoch)
		c.of = order.Function(func(place int64) int64 { return lists.numbers[lists.starts[place]] })
	case l.Order != nil:
		c.of = l.Order.Known(epoch)
	case l.Shuffle != nil:
		c.of = l.Shuffle(epoch)
	}
	return c
}

// Run sets indices to the samples at this rank's positions from pos on, and places, of
// which there are as many, to where in the order of all ranks they are. It allocates
// nothing.
func (c *Course) Run(pos int64, places, indices []int64) {
	c.share.Run(places, pos)
	if len(c.choices.after) > 0 {
		c.part.Each(places)
	}
	copy(indices, places)
	if c.of != nil {
		c.of.Each(indices)
	}
	c.choices.each(indices)
}

// At is Run for one position.
func (c *Course) At(pos int64) (place, index int64) {
	place, _ = c.share.At(pos)
	return c.there(place)
}

// there returns where a place of the epoch is in the order that it was chosen from, and
// the sample.
func (c *Course) there(place int64) (in, index int64) {
	in = c.part.At(place)
	index = in
	if c.of != nil {
		index = c.of.At(in)
	}
	return in, c.choices.index(index)
}
