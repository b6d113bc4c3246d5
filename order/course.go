package order

// A Course has the samples at a rank's positions of an epoch, by steps of arithmetic: a
// position is a place in the epoch of all ranks, that a place in its order, and there is
// a number, of which a selection makes the sample.
type Course struct {
	Share Share
	Part  Slice      // of the order's places
	Order Sequence   // nil: numbers come in their order
	From  []Sequence // what numbers are numbers of: the last of these says which of the one before it
}

// Run sets indices to the samples at positions from pos on, and places, of which there
// are as many, to their places in the order. It allocates nothing.
func (c *Course) Run(pos int64, places, indices []int64) {
	c.Share.Run(places, pos)
	c.Part.Each(places)
	copy(indices, places)
	if c.Order != nil {
		c.Order.Each(indices)
	}
	for i := len(c.From) - 1; i >= 0; i-- {
		c.From[i].Each(indices)
	}
}

// At is Run for one position.
func (c *Course) At(pos int64) (place, index int64) {
	place, _ = c.Share.At(pos)
	place = c.Part.At(place)
	return place, c.Sample(place)
}

// Sample returns the sample at a place in the order.
func (c *Course) Sample(place int64) int64 {
	if c.Order != nil {
		place = c.Order.At(place)
	}
	for i := len(c.From) - 1; i >= 0; i-- {
		place = c.From[i].At(place)
	}
	return place
}
