package headrace

import (
	"context"
	"headrace/internal/ops"
	"iter"

	"headrace/internal/record"
	"headrace/order"
	"headrace/pipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// listing is a source of numbered samples in an order: positions of this rank's epoch become indices by arithmetic, so that any place can be reached at once.
type listing struct {
	record.Source
	names    []string // of the steps that say which samples come, and in which order
	contents contents
	shuffled bool
	seed     uint64
	split    order.Split

	rest struct { // what is left of the epoch that a run began with
		epoch int
		share order.Share
	}

	leg *ops.MemoryScope // for which reading reserves bytes
}

// contents is what the samples of a source are read from. They are numbered from 0.
type contents interface {
	len() int64
	key(index int64) string // a name for people
	// link is told where the values of its fields go, and has a part in the stage that reads them.
	Link(c *compiler, read *stage, s *fuse.Source) error
	// fetch gives a sample its first values, and tells how many bytes it has read. It may wait.
	fetch(ctx context.Context, w *ops.Env, it *record.Record) (read int64, err error)
}

// begin is told where a run begins. What was finished of that epoch under other world sizes does not come: its positions count the rest.
func (l *listing) begin(epoch int, at SourceState) {
	l.rest.epoch, l.rest.share = epoch, shareOf(l.split, at.Done)
	if s, ok := l.contents.(*iterable); ok {
		s.begin(epoch, at.Object)
	}
}

// share is this rank's part of an epoch.
func (l *listing) share(epoch int) order.Share {
	if epoch == l.rest.epoch && l.rest.share.Done() != nil {
		return l.rest.share
	}
	return shareOf(l.split, nil)
}

// shareOf is a share of which it was checked that it can be.
func shareOf(s order.Split, done [][2]int64) order.Share {
	share, _ := s.Over(done)
	return share
}

// Items implements pipe.Source.
func (l *listing) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[*record.Record, error] {
	if s, ok := l.contents.(*iterable); ok {
		return s.items(ctx, epoch, pos)
	}
	at, n := l.indices(epoch), l.share(epoch).Len()
	return func(yield func(*record.Record, error) bool) {
		for ; pos < n; pos++ {
			if !yield(l.Record(epoch, pos, at(pos)), nil) {
				return
			}
		}
	}
}

// indices returns the function from a position of this rank's epoch to an index into the source.
func (l *listing) indices(epoch int) func(pos int64) int64 {
	var permutation order.Permutation
	if l.shuffled {
		permutation = order.Permute(l.split.Samples, l.seed, epoch)
	}
	share := l.share(epoch)
	return func(pos int64) int64 {
		global, _ := share.At(pos)
		if l.shuffled {
			return permutation.At(global)
		}
		return global
	}
}

// identify returns the sample that stands at a position.
func (l *listing) identify(epoch int, pos int64) (sample.ID, string) {
	index := l.indices(epoch)(pos)
	return sample.ID{Source: l.Name, Epoch: epoch, Pos: pos, Index: index}, l.contents.key(index)
}

// read makes the operation that fetches a sample, and reserves what the first stages will take: here, outside the gate, since both may have to wait.
func (l *listing) read(w *ops.Env) ops.Op {
	return func(ctx context.Context, it *record.Record) error {
		if w.Quarantined(it.Source, it.ID.Index) {
			return ops.ErrQuarantined
		}
		n, err := l.contents.fetch(ctx, w, it)
		if err != nil {
			return err
		}
		pipe.AddBytes(ctx, n)
		return l.leg.Reserve(ctx, it)
	}
}

// iterated tells whether nobody knows how many samples there are.
func (l *listing) iterated() bool {
	_, ok := l.contents.(*iterable)
	return ok
}
