package headrace

import (
	"context"
	"fmt"
	"io"

	"headrace/internal/source"

	"headrace/pipe"
)

// Seek returns the state n batches behind another. Where batches can be counted without looking at samples it is computed; otherwise the loader runs
// until there, which drops what is under way. [pipe.ErrDone] says that the epochs end before.
func (l *Loader) Seek(ctx context.Context, from State, n int64) (State, error) {
	if err := l.Check(from); err != nil {
		return State{}, err
	}
	l.warnOf(from)
	if from = l.extent.settled(from); l.countable() {
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
	return len(l.sources) == 1 && l.info.Exact && l.config.StepsPerEpoch == nil && l.config.Order == InputOrder
}

// jump computes the state n batches behind another.
func (l *Loader) jump(s State, n int64) (State, error) {
	name := l.sources[0].Name
	for n > 0 {
		if l.config.epochsFrom(s.Epoch) == 0 {
			return State{}, pipe.ErrDone
		}
		at := s.Sources[name]
		share := source.ShareOf(l.extent.splits[name], at.Done)
		size := int64(share.BatchSize())
		left := share.Batches() - (at.Position+size-1)/size
		if n < left {
			at.Position += n * size
			s.Sources[name] = at
			s.Batches += n
			break
		}
		n -= left
		s = l.extent.settled(State{Epoch: s.Epoch + 1, Quarantine: s.Quarantine})
		if share.Batches() == 0 {
			return State{}, pipe.ErrDone
		}
	}
	return s, nil
}
