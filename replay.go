package headrace

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/resume"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/pipe"
)

// Seek returns the state n batches after another. Where batches can be counted without
// looking at samples it is computed; otherwise the loader runs until there, which drops
// what is under way. [pipe.ErrDone] says that the epochs end before.
func (l *Loader) Seek(ctx context.Context, from State, n int64) (State, error) {
	if err := l.Check(from); err != nil {
		return State{}, err
	}
	l.warnOf(from)
	if from = l.extent.Settled(from); l.countable() {
		return l.jump(from, n)
	}
	if err := l.Start(from, nil); err != nil {
		return State{}, err
	}
	defer l.Stop()
	for done := int64(0); done < n; {
		b, err := l.Next(ctx)
		switch err {
		case nil:
			b.Release()
			done++
		case io.EOF:
		default:
			return State{}, fmt.Errorf("batch %d of the %d before: %w", done, n, err)
		}
	}
	return l.State(), nil
}

// countable tells whether it follows from a position alone which batch comes there.
func (l *Loader) countable() bool {
	switch {
	case l.any(): // what lanes have made of samples is in no batch before its turn
	case l.several: // merges say whose turn it is
	case !l.info.Exact: // samples may be missing
	case l.compiled.Makes: // one sample gives any number
	case l.compiled.Uneven: // batches of batches begin anywhere
	case l.config.StepsPerEpoch != nil: // an epoch ends before its samples do
	case l.config.Order != InputOrder, l.recipe.Overtakes(): // samples overtake each other
	default:
		return true
	}
	return false
}

// jump computes the state n batches after another.
func (l *Loader) jump(s State, n int64) (State, error) {
	name := l.begins[0].Name
	for n > 0 {
		if l.config.epochsFrom(s.Epoch) == 0 {
			return State{}, pipe.ErrDone
		}
		at := s.Sources[name]
		share := source.ShareOf(l.extent.Splits[name], at.Done)
		size := int64(share.BatchSize())
		left := share.Batches() - (at.Position+size-1)/size
		if n < left {
			at.Position += n * size
			s.Sources = maps.Clone(s.Sources) // others may hold it
			s.Sources[name] = at
			s.Batches += n
			break
		}
		n -= left
		s = l.extent.Settled(State{Epoch: s.Epoch + 1, Quarantine: s.Quarantine})
		if share.Batches() == 0 {
			return State{}, pipe.ErrDone
		}
	}
	return s, nil
}

// Gather returns the record with which this loader goes on where a run stood whose ranks
// saved these records, under whatever world size. Under the same one, that is this rank's
// own. Otherwise the records of all ranks are needed, in any order; where all ranks have
// the same batches at every moment and nothing was lost ([State.InStep]), one of them is
// enough. What the ranks had not finished is divided again. An [ErrState] says why it
// cannot be gone on with, and whose records are missing. Records that cannot be of one
// run are refused, also where one of them is this rank's own. Nothing is changed:
// [Loader.Start] begins there.
func (l *Loader) Gather(records []State) (State, error) {
	if len(records) == 0 {
		return State{}, fmt.Errorf("%w: there is no record", ErrState)
	}
	for _, r := range records {
		if err := l.know(r); err != nil {
			return State{}, err
		}
	}
	if own := slices.IndexFunc(records, l.owns); own >= 0 {
		if err := l.Check(records[own]); err != nil || len(records) == 1 {
			return records[own], err
		}
		if err := resume.Together(records, l.extent, l.extentOf); err != nil {
			return State{}, fmt.Errorf("%w: %w", ErrState, err)
		}
		return records[own], nil
	}
	if s := l.iterated(); s != nil {
		return State{}, fmt.Errorf("%w: it is from other ranks, and the source %q is iterated over: "+
			"each rank has its own, which no other can continue; begin at an epoch", ErrState, s.Name)
	}
	if !resume.AllBegin(records) && l.compiled.Cuts != "" && !l.any() {
		return State{}, fmt.Errorf("%w: it is from other ranks, and %q had begun sequences whose rests it held there, "+
			"which no other rank has: resume with as many ranks as before, or begin at an epoch; "+
			"lanes, which global_size= has, go on with any number of ranks", ErrState, l.compiled.Cuts)
	}
	if !resume.AllBegin(records) && l.compiled.Gathers != nil && !l.any() {
		return State{}, fmt.Errorf("%w: it is from other ranks, and what the object of "+
			"%q gathered there cannot be continued here; begin at an epoch", ErrState, l.compiled.Gathers[0])
	}
	s, err := resume.Gather(records, l.extent, l.extentOf)
	if err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrState, err)
	}
	return s, l.Check(s)
}

// owns tells whether a record is one of this rank: one without a world size, a plain
// epoch number, is everybody's.
func (l *Loader) owns(s State) bool {
	return s.WorldSize == 0 || s.WorldSize == l.config.WorldSize && s.Rank == l.config.Rank
}

// extentOf returns the bounds of records of a rank of another world.
func (l *Loader) extentOf(world, rank int) (resume.Extent, error) {
	from := l.as(world, rank)
	e := resume.Extent{
		Begin: l.extent.Begin, Total: l.extent.Total, Of: l.splitOf, Items: from.items(l.plan), Judges: l.extent.Judges,
		Makes: l.compiled.Makes, Steps: l.extent.Steps, Lanes: l.extent.Lanes, Turns: l.extent.Turns,
	}
	if l.config.StepsPerEpoch != nil {
		e.Steps = int64(*l.config.StepsPerEpoch) * int64(from.accumulate())
	}
	e.Begin.WorldSize, e.Begin.Rank = world, rank
	e.Begin.Sources, e.Begin.Merges, e.Begin.Aggregates = places(l.plan, from, l.compiled)
	var err error
	e.Splits, err = from.splits()
	return e, err
}
