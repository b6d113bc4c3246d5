package resume

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/state"
)

// lanes makes the record of a rank that has lanes, of the places that the ranks before it
// have saved of these.
func (g *gathering) lanes() (state.State, error) {
	first := g.first()
	if err := g.sameStep(first); err != nil {
		return state.State{}, err
	}

	s := g.own.Begin
	s.Epoch, s.Batches = first.Epoch, first.Batches
	s.Sources, s.Merges, s.Errors, s.Parts = map[string]state.Source{}, maps.Clone(s.Merges), maps.Clone(s.Errors), nil
	s.Aggregates = maps.Clone(s.Aggregates)
	for key := range g.own.Begin.Sources {
		r, at, ok := g.has(key)
		if !ok {
			return state.State{}, g.without(first)
		}
		own := g.own.split(key, first.Epoch)
		if at.Position = min(at.Position, own.Len()); r.Epoch > first.Epoch {
			at = state.Source{Samples: at.Samples, Position: own.Len()}
		}
		s.Sources[key] = at
	}
	for _, r := range g.ranks {
		s.Quarantine = append(s.Quarantine, r.Quarantine...)
		if r.Epoch > first.Epoch {
			continue
		}
		for key, turns := range r.Merges {
			if _, ok := s.Merges[key]; ok {
				s.Merges[key] = turns
			}
		}
		for key, memory := range r.Aggregates {
			if _, ok := s.Aggregates[key]; ok {
				s.Aggregates[key] = memory
			}
		}
		for key, n := range r.Errors {
			if _, ok := s.Errors[key]; ok && strings.Contains(key, "@") {
				s.Errors[key] = n
			}
		}
		for _, part := range r.Parts {
			if _, ok := s.Sources[part.Source]; ok {
				s.Parts = append(s.Parts, part)
			}
		}
	}
	slices.SortStableFunc(s.Parts, func(a, b pipe.PartState) int { return strings.Compare(a.Source, b.Source) })
	slices.Sort(s.Quarantine)
	s.Quarantine = slices.Compact(s.Quarantine)
	s.Dropped = s.Yielded() // a summary of the epoch counts what this world has had of it

	s = g.own.Settled(s)
	s.Decoder, s.Order = first.Decoder, first.Order
	return s, nil
}

// sameStep refuses records of different batches: the next rows of their lanes would
// belong to different ones.
func (g *gathering) sameStep(first ranked) error {
	for _, r := range g.ranks {
		if r.Epoch != first.Epoch && g.own.Steps > 0 {
			return fmt.Errorf("rank %d is in epoch %d and rank %d in epoch %d: give states of the same step of all ranks",
				first.Rank, first.Epoch, r.Rank, r.Epoch)
		}
		if r.Epoch == first.Epoch && r.Batches != first.Batches {
			return fmt.Errorf("rank %d has had %d batches and rank %d %d: give states of the same step of all ranks",
				first.Rank, first.Batches, r.Rank, r.Batches)
		}
	}
	return nil
}

// has finds the record with the place of a lane.
func (g *gathering) has(key string) (of ranked, at state.Source, ok bool) {
	for _, r := range g.ranks {
		if at, ok := r.Sources[key]; ok {
			return r, at, true
		}
	}
	return of, at, false
}

// without returns the error for missing records, which names their ranks.
func (g *gathering) without(first ranked) error {
	from, end, _ := g.own.Lanes.Of(g.own.Begin.Rank, g.own.Begin.WorldSize, true)
	var missing []string
	for rank := range g.world {
		a, b, _ := g.own.Lanes.Of(rank, g.world, true)
		known := slices.ContainsFunc(g.ranks, func(r ranked) bool { return r.Rank == rank })
		if !known && a < end && from < b {
			missing = append(missing, strconv.Itoa(rank))
		}
	}
	return fmt.Errorf("it was saved with world_size %d by rank %d, this is rank %d of %d, which has the lanes %d to %d of %d: "+
		"the states of the ranks that had them are needed, and there is none of %s",
		g.world, first.Rank, g.own.Begin.Rank, g.own.Begin.WorldSize, from, end-1, g.own.Lanes.Count, ranksOf(missing))
}
