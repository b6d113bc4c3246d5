package source

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe/fuse"
)

// Arrivals are the sources of a mix that counts samples as they arrive there, after steps
// of their own that leave some out or make several. So how many a source has to give is
// not known before, and each is a listing of its own, which restarts whenever it has
// given all: its epoch has no end.
type Arrivals struct {
	Name      string // of the mix
	Stretches []order.Stretch
	*Mixed
	digest string // of all its sources: in states, those of each say the same
}

// newArrivals returns the listings of a mix's sources.
func newArrivals(m *fuse.Merge, c *Mixed, stretches []order.Stretch) (all []*Listing) {
	in := &Arrivals{m.Name, stretches, c, c.Digest()}
	for _, of := range c.Of {
		turns := passesOf(of.Drawn())
		again := &Mixed{Of: []*Listing{of}, mix: turns, In: in}
		l := &Listing{Source: record.Source{Name: of.Name, Draws: of.Draws, First: of.First, Samples: turns.Turns()},
			Names: of.Names, Contents: again}
		l.Key = again.Key
		all = append(all, l)
	}
	return all
}

// Turns returns the function from a place of an epoch to the source that is next there.
func (a *Arrivals) Turns(epoch int) func(place int64) int {
	at := a.mix.Epoch(epoch)
	return func(place int64) int {
		source, _ := at(place)
		return source
	}
}

// Stretch returns the number of the stretch that a turn is of, counted over all epochs.
func (a *Arrivals) Stretch(turn int64) int {
	n, found := slices.BinarySearchFunc(a.Stretches, turn, func(s order.Stretch, turn int64) int { return cmp.Compare(s.From, turn) })
	if found {
		return n
	}
	return n - 1
}

// Without returns an error when so many samples of a source in a row have not arrived:
// it would go on for ever.
func (a *Arrivals) Without(source int, lost int64) error {
	samples := a.Of[source].Drawn()
	if lost < max(2*samples, leastLost) {
		return nil
	}
	return fmt.Errorf("%w: mix %q: none of the last %d samples of source %q came through its steps, and it has %d: "+
		"give it the weight 0, or check its filter", core.ErrConfig, a.Name, lost, a.Names[source], samples)
}

// leastLost is how many samples have to be lost at least, for steps may decide by chance.
const leastLost = 10_000

// ArrivalsOf returns the mixes of these listings that take samples as they arrive.
func ArrivalsOf(begins []*Listing) (all []*Arrivals) {
	for _, l := range begins {
		if m, ok := l.Contents.(*Mixed); ok && m.In != nil && !slices.Contains(all, m.In) {
			all = append(all, m.In)
		}
	}
	return all
}

// again says that all turns of an epoch are one source's, which begins an epoch with a
// pass that it has not begun before.
type again struct{ turns int64 }

// passesOf returns more passes of so many samples than an epoch has.
func passesOf(samples int64) again {
	const most = 1 << 40
	if samples == 0 {
		return again{}
	}
	return again{samples * max(1, most/samples)}
}

func (a again) Turns() int64 { return a.turns }

func (a again) Epoch(epoch int) func(place int64) (int, int64) {
	first := a.Before(epoch)[0]
	return func(place int64) (int, int64) { return 0, first + place }
}

// After 2²⁰ epochs their passes come again.
func (a again) Before(epoch int) []int64 { return []int64{int64(epoch&(1<<20-1)) * a.turns} }
