package headrace

import (
	"fmt"

	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// lanes divide an order among ranks. Each of a rank's lanes is a line of stages of its
// own, with the share of the sources that a rank has in a world of as many ranks as
// there are lanes.
type lanes struct {
	order.Lanes
	first, end int
	of         [][]*source.Listing // of each of the rank's lanes, in the order of the recipe
	batches    bool                // each lane has batches of its own, which come one after the other
}

// any reports whether there are lanes. Without, a rank is one line of stages.
func (l lanes) any() bool { return l.Count > 0 }

// rows returns the most rows of a batch: those of the rank in a global batch, or of a
// lane whose batches are its own.
func (l lanes) rows() int {
	if l.batches {
		return l.Each
	}
	return (l.end - l.first) * l.Each
}

// accumulate returns how many batches of this rank are its part of a global batch.
func (l lanes) accumulate() int {
	if l.batches {
		return l.end - l.first
	}
	return 1
}

// divide gives a rank its lanes of the listed sources, if steps hold, drop or make
// samples before global batches. Samples that pass one by one need no lanes: their rows
// follow from their places in the order.
func (l *listing) divide(d design) error {
	if d.options.trial != nil {
		return nil // a profile measures each stage once, whatever its batches are
	}
	asked := d.plan.Lanes
	if why := l.apart(d); why != "" {
		if asked > 0 {
			return fmt.Errorf("%w: lanes(%d): %s", ErrConfig, asked, why)
		}
		return nil
	}
	if asked == 0 && !l.holds(d) {
		return nil
	}
	batch := d.plan.Batch.GlobalSize
	if batch == 0 { // a lane's batch is as large as one of a rank
		batch = asked * l.size()
	}
	all, err := order.LanesOf(batch, asked)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	first, end, err := all.Of(l.rank, l.world, l.uneven)
	if err != nil {
		if d.plan.Batch.GlobalSize == 0 { // there may be any number of lanes
			batch = asked / gcd(asked, l.world) * l.world
		}
		return refuseRanks(all, batch, l.world, err)
	}

	l.lanes = lanes{Lanes: all, first: first, end: end, batches: alike(d)}
	for lane := first; lane < end; lane++ {
		var mine []*source.Listing
		for _, s := range l.begins {
			mine = append(mine, s.InLane(l.share(s, lane)))
		}
		l.of = append(l.of, mine)
	}
	return nil
}

// share returns a lane's share of a source's order.
func (l *listing) share(s *source.Listing, lane int) order.Split {
	return l.ofLane(lane).divided(s.Places(), l.Count, lane)
}

// as returns the listing of a rank of another world.
func (l listing) as(world, rank int) listing {
	l.world, l.rank, l.of = world, rank, nil
	if l.any() {
		l.first, l.end, _ = l.Lanes.Of(rank, world, true)
	}
	return l
}

// ofLane returns the division of a lane.
func (l *listing) ofLane(lane int) division {
	d := l.division
	d.world, d.rank, d.uneven = l.lanes.Count, lane, true
	return d
}

// agree refuses ranks that would have different numbers of batches, where nothing else
// makes them equal: one that ends would have the others wait for ever.
func (l listing) agree(d design, program *compile.Program) error {
	if !l.any() || !d.config.mustAgree() {
		return nil
	}
	fewest, alike := l.fewest(program)
	if alike {
		return nil
	}
	return fmt.Errorf("%w: with world_size %d ranks would have different numbers of batches, as lanes have of samples: "+
		"set steps_per_epoch, to at most %d, or uneven=True where no rank waits for another; or initialise "+
		"torch.distributed before .loader(), so that ranks agree while they run", ErrConfig, l.world, fewest/int64(l.accumulate()))
}

// fewest returns the number of batches of the rank that has the fewest, or an upper
// bound, and whether all ranks have as many.
func (l listing) fewest(program *compile.Program) (fewest int64, alike bool) {
	fewest, alike = -1, true
	for rank := range l.world {
		first, end, _ := l.Lanes.Of(rank, l.world, true)
		n, known := program.Rounds(first, end)
		alike = alike && known && (fewest < 0 || n == fewest)
		if fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return fewest, alike
}

// apart returns the reason for which global batches depend on the ranks; "": they do not.
func (l *listing) apart(d design) string {
	switch {
	case alike(d) && d.plan.Lanes == 0:
		return "samples of one kind come together, of those that a rank has. With .lanes(n) before it, each of n lanes makes " +
			"batches of its own, and a rank has those of its lanes one after the other"
	case d.plan.Batch.GlobalSize == 0 && !alike(d):
		return "batches are not global"
	case d.config.Order != InputOrder || d.recipe.Overtakes():
		return `samples overtake each other with order="completion"`
	case l.iterated() != nil:
		return fmt.Sprintf("each rank iterates over an object of its own in %q: give the source a length", l.iterated().Name)
	}
	for p := d.plan.Samples.Batches; p != nil; p = p.Samples.Batches {
		if p.Batch.GlobalSize > 0 {
			return fmt.Sprintf("%q, before the last batch, counts the rows of all ranks: give it size", p.Last.Names[len(p.Last.Names)-1])
		}
	}
	for _, m := range d.plan.Samples.Merges() {
		if m.Order == "arrival" {
			return fmt.Sprintf("%q takes samples as they arrive", m.Name)
		}
	}
	return ""
}

// alike reports whether samples of one kind come into a batch, which is padded or shaped
// for them: so it is of one lane.
func alike(d design) bool {
	b := d.plan.Batch
	return b.Pack == nil && !b.Lists && compile.Groups(d.recipe, d.plan)
}

// holds reports whether steps hold, drop or make samples before they come into batches.
func (l *listing) holds(d design) bool {
	if d.plan.Samples.Batches != nil || l.several || l.multiplies || d.plan.Batch.Policy() {
		return true
	}
	for _, s := range d.recipe.All() {
		if recipe.TraitsOf(s.Args).Count == recipe.Fewer {
			return true
		}
	}
	return false
}

// refuseRanks returns the error for ranks that cannot share the lanes, with a remedy.
func refuseRanks(all order.Lanes, batch, world int, err error) error {
	if batch%world == 0 {
		return fmt.Errorf("%w: %w: write .lanes(%d) before the batch, or the number of the largest cluster that is "+
			"ever to have these batches; other lanes make other batches", ErrConfig, err, lanesFor(batch, world))
	}
	if world > all.Count {
		return fmt.Errorf("%w: %w: use at most %d ranks, or a global_size that %d divides", ErrConfig, err, all.Count, world)
	}
	var fit []int
	for n := 1; n <= all.Count; n++ {
		if all.Count%n == 0 {
			fit = append(fit, n)
		}
	}
	return fmt.Errorf("%w: %w: use one of %v ranks, or uneven=True where ranks may have different numbers of rows, "+
		"or a global_size that %d divides", ErrConfig, err, fit, world)
}

// lanesFor returns the largest number of lanes up to the usual one that so many ranks
// divide, or the number of ranks.
func lanesFor(batch, world int) int {
	usual, _ := order.LanesOf(batch, 0)
	for n := usual.Count; n > world; n-- {
		if batch%n == 0 && n%world == 0 {
			return n
		}
	}
	return world
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// keyed calls a function for each source with its key in runs and states: its name, or
// that of each of its lanes.
func (l listing) keyed(each func(key string, s *source.Listing)) {
	if !l.any() {
		for _, s := range l.begins {
			each(s.Name, s)
		}
	}
	for i, all := range l.of {
		for _, s := range all {
			each(pipe.LaneOf(s.Name, l.first+i), s)
		}
	}
}

// compiled returns the lanes for the compiler; nil: there are none. Ranks that agree
// count batches, of which all have as many only after whole steps.
func (l listing) compiled(d design) *compile.Lanes {
	if !l.any() {
		return nil
	}
	return &compile.Lanes{
		Sources: l.of, First: l.first, Count: l.Count, Each: l.Each, Whole: l.batches && d.config.agrees(),
		Part: func(lane int, samples int64) order.Split { return l.ofLane(lane).divided(samples, l.Count, lane) },
	}
}

// told returns a sentence for people: what another number of ranks changes.
func (l listing) told(d design) string {
	const depend = "Another number of ranks has other batches: "
	switch why := l.apart(d); {
	case l.batches:
		return fmt.Sprintf("Global batches are the same for every number of ranks that divides %d, the number of lanes: "+
			"a batch of each lane. "+
			"This rank has lanes %d to %d, whose batches come one after the other: %d are a step (loader.accumulate).",
			l.Count, l.first, l.end-1, l.accumulate())
	case l.any():
		return fmt.Sprintf("Global batches are the same for every number of ranks that divides %d, the number of lanes. "+
			"This rank has lanes %d to %d, %d rows of each in a batch.", l.Count, l.first, l.end-1, l.Each)
	case d.plan.Single:
		return "Ranks share the samples of an epoch; each has others."
	case d.does(Skip):
		return depend + `on_error="skip" has later samples take the rows of those that are lost.`
	case d.plan.Batch.GlobalSize == 0 && !alike(d):
		return depend + "size counts the rows of one rank. global_size counts those of all, and keeps batches the same."
	case why != "":
		return depend + why + "."
	}
	return "Global batches are the same for any number of ranks: a sample's place in the order says its row."
}
