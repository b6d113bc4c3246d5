package resume

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/state"
)

// Gather makes the record of a rank of the records of all ranks of another run. Extents
// are those of any rank.
func Gather(records []state.State, own Extent, of func(world, rank int) (Extent, error)) (state.State, error) {
	g := gathering{own: own, of: of, world: records[0].WorldSize}
	if err := g.add(records); err != nil {
		return state.State{}, err
	}
	if own.Lanes.Count > 0 {
		return g.lanes()
	}
	return g.join()
}

// Together says why records cannot be of one run.
func Together(records []state.State, own Extent, of func(world, rank int) (Extent, error)) error {
	g := gathering{own: own, of: of, world: records[0].WorldSize}
	return g.add(records)
}

// gathering joins the records of the ranks of a world.
type gathering struct {
	own   Extent                                // of the rank that goes on
	of    func(world, rank int) (Extent, error) // of any rank
	world int
	ranks []ranked
}

// ranked is the record of one rank, settled, and what it is held against.
type ranked struct {
	state.State
	extent Extent
	inStep bool // with the other ranks
}

// add holds each record against the world that it comes from.
func (g *gathering) add(records []state.State) error {
	for _, r := range records {
		if r.WorldSize != g.world {
			return fmt.Errorf("the records are of different runs: world_size is %d in one and %d in another", g.world, r.WorldSize)
		}
		if slices.ContainsFunc(g.ranks, func(other ranked) bool { return other.Rank == r.Rank }) {
			return fmt.Errorf("there are two states of rank %d: give the one that the run is to go on from", r.Rank)
		}
		if r.WorldSize > 0 && (r.Rank < 0 || r.Rank >= r.WorldSize) {
			return fmt.Errorf("there is a state of rank %d, and the world_size is %d", r.Rank, r.WorldSize)
		}
		e, err := g.of(r.WorldSize, r.Rank)
		if err == nil {
			err = e.Fits(r)
		}
		if err != nil {
			return fmt.Errorf("the record of rank %d of %d: %w", r.Rank, r.WorldSize, err)
		}
		s := e.Settled(r)
		s.Decoder, s.Order = r.Decoder, r.Order
		g.ranks = append(g.ranks, ranked{s, e, r.InStep && g.own.Begin.InStep && whole(s)})
	}
	return g.apart()
}

// apart says which records cannot be of one run: all ranks have as many batches in an
// epoch, so none is more than one epoch ahead, and all have begun with the same part of
// it.
func (g *gathering) apart() error {
	first := g.first()
	for _, r := range g.ranks {
		if r.Epoch > first.Epoch+1 || r.Epoch == first.Epoch+1 && !begins(r.State) {
			return fmt.Errorf("rank %d was in epoch %d and rank %d still in epoch %d: "+
				"these records are not from the same moment of a run", r.Rank, r.Epoch, first.Rank, first.Epoch)
		}
		for name, at := range r.Sources {
			if r.Epoch == first.Epoch && !slices.Equal(at.Done, first.Sources[name].Done) {
				return fmt.Errorf("the records of ranks %d and %d are of different runs: "+
					"they began with different parts of the epoch", first.Rank, r.Rank)
			}
		}
	}
	return nil
}

// first is the record of the rank that is the furthest after.
func (g *gathering) first() ranked {
	return slices.MinFunc(g.ranks, func(a, b ranked) int { return a.Epoch - b.Epoch })
}

// whole tells whether all that the record counts as finished are samples yielded, and
// there are none beyond its positions.
func whole(s state.State) bool {
	for _, at := range s.Sources {
		if len(at.Ahead) > 0 || len(at.Lost) > 0 {
			return false
		}
	}
	return s.Dropped == 0 && len(s.Parts) == 0
}

// join makes one record of all.
func (g *gathering) join() (state.State, error) {
	first := g.first()
	together := g.together()
	if !together {
		if err := g.complete(first); err != nil {
			return state.State{}, err
		}
	}

	s := g.own.Begin
	s.Epoch, s.Sources = first.Epoch, map[string]state.Source{}
	for name, at := range first.Sources {
		share := source.ShareOf(first.extent.split(name, first.Epoch), at.Done)
		var err error
		// Ranks in step have finished the same batches, so the place of one is enough.
		if together {
			at.Done, err = after(share, at.Position)
		} else {
			at.Done, err = g.finished(name, share, first)
		}
		if err != nil {
			return state.State{}, err
		}
		s.Sources[name] = state.Source{Samples: at.Samples, Done: at.Done}
	}
	s.Merges = g.counted(first)
	s.Parts = g.parts(s, first)

	for _, r := range g.ranks {
		if r.Epoch == first.Epoch {
			s.Batches = max(s.Batches, r.Batches)
		}
		s.Quarantine = append(s.Quarantine, r.Quarantine...)
	}
	slices.Sort(s.Quarantine)
	s.Quarantine = slices.Compact(s.Quarantine)

	s = g.own.Settled(s)
	s.Decoder, s.Order = first.Decoder, first.Order
	return s, nil
}

// counted are the merges at their beginning. One that ends after a number of items has
// only those to give that are left for this rank.
func (g *gathering) counted(first ranked) map[string]pipe.Progress {
	merges := maps.Clone(g.own.Begin.Merges)
	for name, own := range g.own.Items {
		left := own
		for _, r := range g.ranks {
			if r.Epoch > first.Epoch {
				left.Samples -= r.extent.Items[name].Len()
				continue
			}
			at := r.Merges[pipe.CountOf(name)]
			left.Samples -= at.Low
			for _, ahead := range at.Ahead {
				left.Samples -= ahead[1] - ahead[0]
			}
		}
		left.Samples = max(0, left.Samples)
		merges[pipe.CountOf(name)] = pipe.Progress{Low: own.Len() - left.Len()}
	}
	return merges
}

// parts are the samples of which some outputs are finished, and that are this rank's now:
// it goes on behind these.
func (g *gathering) parts(s state.State, first ranked) (mine []pipe.PartState) {
	for _, r := range g.ranks {
		if r.Epoch > first.Epoch {
			continue
		}
		for _, part := range r.Parts {
			was := source.ShareOf(r.extent.split(part.Source, r.Epoch), r.Sources[part.Source].Done)
			place, wrapped := was.At(part.Item[0])
			now := source.ShareOf(g.own.split(part.Source, s.Epoch), s.Sources[part.Source].Done)
			pos, found := position(now, place)
			if wrapped || !found {
				continue
			}
			part.Item = slices.Clone(part.Item)
			part.Item[0] = pos
			mine = append(mine, part)
		}
	}
	return mine
}

// position finds a place among a rank's remaining samples, which are in order.
func position(share order.Share, place int64) (pos int64, found bool) {
	n := int(share.Len())
	at := func(i int) int64 {
		place, wrapped := share.At(int64(i))
		if wrapped { // these come last
			return math.MaxInt64
		}
		return place
	}
	i := sort.Search(n, func(i int) bool { return at(i) >= place })
	return int64(i), i < n && at(i) == place
}

// together tells whether the records at hand say of all ranks where they are.
func (g *gathering) together() bool {
	first := g.ranks[0]
	for _, r := range g.ranks {
		if !r.inStep || r.Epoch != first.Epoch || r.Batches != first.Batches {
			return false
		}
	}
	return true
}

// after returns what is finished when all ranks are at the same place as one.
func after(share order.Share, pos int64) ([][2]int64, error) {
	if size := int64(share.BatchSize()); pos%size == 0 {
		return share.After(pos / size), nil
	}
	return nil, fmt.Errorf("its position is %d, which is not between two batches", pos)
}

// complete says why the records do not tell of all ranks.
func (g *gathering) complete(first ranked) error {
	var missing []string
	for rank := range g.world {
		if !slices.ContainsFunc(g.ranks, func(r ranked) bool { return r.Rank == rank }) {
			missing = append(missing, strconv.Itoa(rank))
		}
	}

	if len(missing) > 0 {
		return fmt.Errorf("it was saved with world_size %d by rank %d, this is rank %d of %d: "+
			"dividing the rest again needs the records of all ranks, and there is none of %s",
			g.world, first.Rank, g.own.Begin.Rank, g.own.Begin.WorldSize, ranksOf(missing))
	}
	for _, r := range g.ranks {
		if opens(r.State) || slices.ContainsFunc(r.Parts, func(p pipe.PartState) bool { return p.Of != nil || len(p.Item) == 0 }) {
			return fmt.Errorf("rank %d has samples that are partly finished: a batch that is taken apart, "+
				"or what was made of one sample; these cannot be given to another rank: "+
				"resume with world_size %d, or from a state where they are finished", r.Rank, r.WorldSize)
		}
	}
	return nil
}

// ranksOf names ranks, in a sentence.
func ranksOf(ranks []string) string {
	if len(ranks) == 1 {
		return "rank " + ranks[0]
	}
	if len(ranks) > 20 {
		ranks = append(ranks[:20], "…")
	}
	return "ranks " + strings.Join(ranks, ", ")
}

// AllBegin reports whether all records are the beginnings of their epochs.
func AllBegin(records []state.State) bool {
	return !slices.ContainsFunc(records, func(s state.State) bool { return !begins(s) })
}

// begins tells whether the record is the beginning of its epoch.
func begins(s state.State) bool {
	for _, at := range s.Sources {
		if at.Position > 0 || len(at.Ahead) > 0 || len(at.Lost) > 0 || len(at.Done) > 0 {
			return false
		}
	}
	return true
}

// opens tells whether of some sample that was lost something else is not finished.
func opens(s state.State) bool {
	for _, at := range s.Sources {
		if len(at.Open) > 0 {
			return true
		}
	}
	return false
}

// finished returns what the ranks have finished of a source together. Who has come to the
// next epoch has finished its share of this one.
func (g *gathering) finished(name string, share order.Share, first ranked) ([][2]int64, error) {
	frontiers := make([]order.Frontier, g.world)
	for _, r := range g.ranks {
		at := r.Sources[name]
		if r.Epoch > first.Epoch {
			own := share
			own.Rank = r.Rank
			frontiers[r.Rank].Position = own.Len()
			continue
		}
		frontiers[r.Rank] = order.Frontier{Position: at.Position, Ahead: at.Ahead, Lost: at.Lost}
	}
	done, err := share.Finished(frontiers)
	if errors.Is(err, order.ErrApart) {
		return nil, fmt.Errorf("source %q: %w", name, err)
	}
	return done, err
}
