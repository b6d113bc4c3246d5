package headrace

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
)

// listing is the first result of assemble: the samples, and this rank's share of them.
type listing struct {
	sources []*source.Listing // in the order of the recipe
	begins  []*source.Listing // where samples get their positions: those of sources that are in no mix, and mixes that are in none
	classes []recipe.Path     // the names of labels; nil: they have none
	division
	lanes
}

// division says how ranks share samples and batches.
type division struct {
	world, rank int
	batch       recipe.Batches // the first that are made of samples
	uneven      bool           // ranks may have different numbers of batches
	part, parts int            // of each epoch, if there are several
	several     bool           // there is more than one source
	groups      bool           // samples come into batches by what they are
	multiplies  bool           // a sample may become several, or several one
}

// listSources lists the sources of a plan, and gives each this rank's share.
func listSources(ctx context.Context, d design, lists *source.Lister, most int64) (l listing, err error) {
	if l.sources, l.classes, err = lists.List(ctx, d.plan, d.config.Rank, d.config.WorldSize); err != nil {
		return l, err
	}
	l.division = divisionOf(d, d.plan.Samples.Begins())
	if l.begins, err = lists.Begins(d.plan, l.sources, l.global(l.world, l.rank)); err != nil {
		return l, err
	}
	for _, s := range l.begins {
		s.Most = most
	}
	if err := checkRanks(d); err != nil {
		return l, err
	}
	if err := l.divide(d); err != nil {
		return l, err
	}
	if d.config.Parts > 1 {
		if err := l.checkParts(); err != nil {
			return l, err
		}
	}
	for _, s := range l.begins {
		if s.Split, err = l.split(s, l.world, l.rank); err != nil {
			return l, err
		}
		s.ShareOut()
	}
	return l, nil
}

func divisionOf(d design, sources int) division {
	first := d.plan.First()
	batch := first.Batch
	if batch.Policy() {
		batch = recipe.Batches{Size: 1}
	}
	return division{
		world: d.config.WorldSize, rank: d.config.Rank, batch: batch, uneven: d.config.Uneven,
		part: d.config.Part, parts: d.config.Parts,
		several: sources > 1, groups: compile.Groups(d.recipe, *first), multiplies: multiplies(d.recipe),
	}
}

// multiplies reports whether samples of batches are others than those of the source.
func multiplies(r recipe.Recipe) bool {
	for _, s := range r.All() {
		switch recipe.TraitsOf(s.Args).Count {
		case recipe.More, recipe.Gathers, recipe.Times:
			return true
		}
	}
	return false
}

// split returns a rank's share of the epoch of a source. If there are lanes, its length
// alone counts: that of the rank's lanes together, or one more.
func (l listing) split(from *source.Listing, world, rank int) (order.Split, error) {
	if l.any() {
		return order.Split{Samples: from.Places(), Batch: int64(world), World: world, Rank: rank, Uneven: true}, nil
	}
	return l.division.split(from, world, rank)
}

// rowsOf returns the number of samples, or rows, that a full batch of a plan has on this
// rank.
func (l listing) rowsOf(p *fuse.Plan) int {
	if l.any() && p.Batch.GlobalSize > 0 {
		return l.rows()
	}
	return l.division.rowsOf(p)
}

// split returns a rank's share of the epoch of a source. One source is cut into global
// batches. Several are dealt to the ranks sample by sample, so that they are equally long
// on all of them, and merges take the same turns.
func (d division) split(from *source.Listing, world, rank int) (order.Split, error) {
	s := d.divided(from.Places(), world, rank)
	if err := d.check(s.Samples, world, rank); err != nil {
		return s, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if from.Iterated() { // each rank has one of its own
		return order.Split{Samples: source.Endless, Batch: 1, World: 1}, nil
	}
	if d.parts > 1 {
		s = s.Part(d.part, d.parts)
	}
	return s, nil
}

// check refuses batches that the ranks of a world cannot share.
func (d division) check(samples int64, world, rank int) error {
	all := d.global(world, rank)
	all.Samples = samples
	if err := all.Check(); err != nil {
		return err
	}
	if d.several && all.Batch%int64(world) != 0 {
		return fmt.Errorf("a global batch of %d rows of several sources and %d ranks: must be a multiple of the number of ranks",
			all.Batch, world)
	}
	return nil
}

// divided returns a rank's share of a number of samples.
func (d division) divided(samples int64, world, rank int) order.Split {
	s := d.global(world, rank)
	s.Samples = samples

	// Leaving out the last few samples says nothing about batches if these have others.
	apart := d.several || d.groups || s.DropLast && d.multiplies
	if apart {
		s.Batch, s.DropLast = int64(world), false
	}
	return s
}

// global returns a rank's share of batches.
func (d division) global(world, rank int) order.Split {
	global := int64(d.batch.GlobalSize)
	if global == 0 {
		global = int64(d.batch.Size) * int64(world)
	}
	return order.Split{Batch: global, World: world, Rank: rank, DropLast: d.batch.DropLast, Uneven: d.uneven}
}

// size returns the number of samples, or rows, of a full batch of this rank.
func (d division) size() int { return d.global(d.world, d.rank).BatchSize() }

// rowsOf returns the number of samples, or rows, that a full batch of a plan has on this
// rank.
func (d division) rowsOf(p *fuse.Plan) int {
	b := p.Batch
	switch {
	case b.Lists:
		return b.Size
	case b.GlobalSize > 0:
		return (order.Split{Batch: int64(b.GlobalSize), World: d.world, Rank: d.rank}).BatchSize()
	case p == p.First() || b.Policy():
		return d.size()
	}
	return b.Size
}

// iterated returns a source whose number of samples is unknown; nil: there is none.
func (l listing) iterated() *source.Listing {
	for _, s := range l.sources {
		if s.Iterated() {
			return s
		}
	}
	return nil
}

// source returns that of a name or a key, or the mix, in which samples have positions.
func (l listing) source(name string) *source.Listing {
	if base, lane, ok := pipe.LaneIn(name); ok && l.any() {
		return l.of[lane-l.first][l.index(base)]
	}
	return l.begins[l.index(name)]
}

func (l listing) index(name string) int {
	return slices.IndexFunc(l.begins, func(s *source.Listing) bool { return s.Name == name })
}

// splitOf returns the split of an epoch of a source.
func (l listing) splitOf(name string, epoch int, s order.Split) order.Split {
	base, _, _ := pipe.LaneIn(name) // whose epochs a sampler's are, whoever has the lane
	return l.begins[l.index(base)].SplitOf(s, epoch)
}

// items returns this rank's share of the samples of merges that end after a number of
// them.
func (l listing) items(p fuse.Plan) map[string]order.Split {
	all := map[string]order.Split{}
	for _, m := range p.Samples.Merges() {
		n, ok := m.Until.Samples()
		ok = ok && !m.Computed()
		switch {
		case ok && l.any():
			for lane := l.first; lane < l.end; lane++ {
				all[pipe.LaneOf(m.Name, lane)] = l.ofLane(lane).divided(n, l.Count, lane)
			}
		case ok:
			all[m.Name] = l.divided(n, l.world, l.rank)
		}
	}
	return all
}

// splits returns the splits of an epoch, by the keys of sources.
func (l listing) splits() (map[string]order.Split, error) {
	all := map[string]order.Split{}
	for _, s := range l.begins {
		for lane := l.first; lane < l.end; lane++ {
			all[pipe.LaneOf(s.Name, lane)] = l.share(s, lane)
		}
		if l.any() {
			continue
		}
		var err error
		if all[s.Name], err = l.division.split(s, l.world, l.rank); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// keys returns the keys of a stage or source of this name.
func (l listing) keys(name string) (all []string) {
	if !l.any() {
		return []string{name}
	}
	for lane := l.first; lane < l.end; lane++ {
		all = append(all, pipe.LaneOf(name, lane))
	}
	return all
}
