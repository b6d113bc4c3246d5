package resume

import (
	"fmt"
	"iter"
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
		if r.Epoch == first.Epoch {
			takeOver(&s, r.State)
		}
	}
	return g.finish(s, first), nil
}

// takeOver adds the places that a rank has saved of lanes of the record.
func takeOver(s *state.State, from state.State) {
	for key, turns := range from.Merges {
		if _, ok := s.Merges[key]; ok {
			s.Merges[key] = turns
		}
	}
	for key, memory := range from.Aggregates {
		if _, ok := s.Aggregates[key]; ok {
			s.Aggregates[key] = memory
		}
	}
	for key, n := range from.Errors {
		if _, ok := s.Errors[key]; !ok {
			continue
		}
		if _, _, ok := pipe.LaneIn(key); ok { // else the rank has counted them for itself
			s.Errors[key] = n
		}
	}
	for _, part := range from.Parts {
		if _, ok := s.Sources[part.Source]; ok {
			s.Parts = append(s.Parts, part)
		}
	}
}

// finish puts the record in order, and counts its batches.
func (g *gathering) finish(s state.State, first ranked) state.State {
	slices.SortStableFunc(s.Parts, func(a, b pipe.PartState) int { return strings.Compare(a.Source, b.Source) })
	slices.Sort(s.Quarantine)
	s.Quarantine = slices.Compact(s.Quarantine)
	if g.own.Turns != "" {
		s.Batches = 0
		for turns := range g.own.turns(s) {
			s.Batches += turns.Low
			for _, r := range turns.Ahead {
				s.Batches += r[1] - r[0]
			}
		}
	}
	s.Dropped = s.Yielded() // a summary of the epoch counts what this world has had of it

	s = g.own.Settled(s)
	s.Decoder, s.Order = first.Decoder, first.Order
	return s
}

// turns yields the turns of each lane of a record, whose batches are its own.
func (e Extent) turns(s state.State) iter.Seq[pipe.Progress] {
	return func(yield func(pipe.Progress) bool) {
		for key, turns := range s.Merges {
			if of, _, ok := pipe.LaneIn(key); ok && of == e.Turns && !yield(turns) {
				return
			}
		}
	}
}

// steps returns how many steps of the epoch a rank has had, the one that it is in
// included.
func (e Extent) steps(s state.State) (n int64) {
	if e.Turns == "" {
		return s.Batches
	}
	for turns := range e.turns(s) {
		n = max(n, turns.Low)
		for _, r := range turns.Ahead {
			n = max(n, r[1])
		}
	}
	return n
}

// counted names the things that steps counts.
func (e Extent) counted() string {
	if e.Turns == "" {
		return "batches"
	}
	return "steps"
}

// sameStep refuses records of different steps: the next rows of their lanes would belong
// to different ones.
func (g *gathering) sameStep(first ranked) error {
	for _, r := range g.ranks {
		if r.Epoch != first.Epoch && g.own.Steps > 0 {
			return fmt.Errorf("rank %d is in epoch %d and rank %d in epoch %d: give states of the same step of all ranks",
				first.Rank, first.Epoch, r.Rank, r.Epoch)
		}
		a, b := g.own.steps(first.State), g.own.steps(r.State)
		if r.Epoch == first.Epoch && a != b {
			return fmt.Errorf("rank %d has had %d %s and rank %d %d: give states of the same step of all ranks",
				first.Rank, a, g.own.counted(), r.Rank, b)
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
