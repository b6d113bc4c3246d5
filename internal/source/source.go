package source

import (
	"context"
	"iter"

	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/order"
	"headrace/pipe"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// Listing is a source of numbered samples in an order: positions of this rank's epoch
// become indices by arithmetic, so that any place can be reached at once.
type Listing struct {
	record.Source
	Names    []string // of the steps that say which samples come, and in which order
	Contents Contents
	Shuffled bool
	Seed     uint64
	Split    order.Split

	rest struct { // what is left of the epoch that a run began with
		epoch int
		share order.Share
	}

	Scope *ops.MemoryScope // for which reading reserves bytes
}

// Contents is what the samples of a source are read from. They are numbered from 0.
type Contents interface {
	Len() int64
	Key(index int64) string // a name for people
	// Link is told where the values of its fields go. It returns the function whose
	// workers read them; nil: the engine reads.
	Link(w *ops.Env, s *fuse.Source, schema sample.Schema, where *record.Columns) (*ops.Function, error)
	// Fetch gives a sample its first values, and tells how many bytes it has read. It may
	// wait.
	Fetch(ctx context.Context, w *ops.Env, it *record.Record) (read int64, err error)
}

// Begin is told where a run begins. What was finished of that epoch under other world
// sizes does not come: its positions count the rest.
func (l *Listing) Begin(epoch int, done [][2]int64, object *ObjectState) {
	l.rest.epoch, l.rest.share = epoch, ShareOf(l.Split, done)
	if s, ok := l.Contents.(*Iterable); ok {
		s.Begin(epoch, object)
	}
}

// Share is this rank's part of an epoch.
func (l *Listing) Share(epoch int) order.Share {
	if epoch == l.rest.epoch && l.rest.share.Done() != nil {
		return l.rest.share
	}
	return ShareOf(l.Split, nil)
}

// ShareOf is a share of which it was checked that it can be.
func ShareOf(s order.Split, done [][2]int64) order.Share {
	share, _ := s.Over(done)
	return share
}

// Items implements pipe.Source.
func (l *Listing) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[*record.Record, error] {
	if s, ok := l.Contents.(*Iterable); ok {
		return s.items(ctx, epoch, pos)
	}
	at, n := l.indices(epoch), l.Share(epoch).Len()
	return func(yield func(*record.Record, error) bool) {
		for ; pos < n; pos++ {
			if !yield(l.Record(epoch, pos, at(pos)), nil) {
				return
			}
		}
	}
}

// indices returns the function from a position of this rank's epoch to an index into the
// source.
func (l *Listing) indices(epoch int) func(pos int64) int64 {
	var permutation order.Permutation
	if l.Shuffled {
		permutation = order.Permute(l.Split.Samples, l.Seed, epoch)
	}
	share := l.Share(epoch)
	return func(pos int64) int64 {
		global, _ := share.At(pos)
		if l.Shuffled {
			return permutation.At(global)
		}
		return global
	}
}

// Identify returns the sample that stands at a position.
func (l *Listing) Identify(epoch int, pos int64) (sample.ID, string) {
	index := l.indices(epoch)(pos)
	return sample.ID{Source: l.Name, Epoch: epoch, Pos: pos, Index: index}, l.Contents.Key(index)
}

// Read makes the operation that fetches a sample, and reserves what the first stages will
// take: here, outside the gate, since both may have to wait.
func (l *Listing) Read(w *ops.Env) ops.Op {
	return func(ctx context.Context, it *record.Record) error {
		if w.Quarantined(it.Source, it.ID.Index) {
			return ops.ErrQuarantined
		}
		n, err := l.Contents.Fetch(ctx, w, it)
		if err != nil {
			return err
		}
		pipe.AddBytes(ctx, n)
		return l.Scope.Reserve(ctx, it)
	}
}

// Iterated tells whether nobody knows how many samples there are.
func (l *Listing) Iterated() bool {
	_, ok := l.Contents.(*Iterable)
	return ok
}
