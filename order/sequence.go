package order

// A Sequence has a number at each place, as an epoch's order has samples. Any number of
// goroutines may use it.
type Sequence interface {
	At(place int64) int64
	// Each replaces places by the numbers there. Many at once cost a fraction of as many
	// calls of At, most so if they are neighbours.
	Each(places []int64)
}

// Numbers are a [Sequence] that is written out.
type Numbers []int64

// At returns the number at a place.
func (n Numbers) At(place int64) int64 { return n[place] }

// Each implements [Sequence].
func (n Numbers) Each(places []int64) {
	for i, place := range places {
		places[i] = n[place]
	}
}

// A Function is a [Sequence] that knows nothing that places share.
type Function func(place int64) int64

// At returns the number at a place.
func (f Function) At(place int64) int64 { return f(place) }

// Each implements [Sequence].
func (f Function) Each(places []int64) {
	for i, place := range places {
		places[i] = f(place)
	}
}
