package source

import (
	"context"
	"iter"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/shard"
)

// Table is contents whose samples can be read by columns: the values of many at once,
// without a record for each.
type Table interface {
	Contents
	// Columns returns the maker of what gathers columns, and whether it waits for files.
	// It is nil if one of them is not the contents' own. Samples that come one after the
	// other are among so many neighbours; 0: each follows the one before it.
	Columns(w *core.Env, columns []record.Column, near int64) (open func() (Gather, error), waits bool)
}

// Gather lays the values of samples into targets, one for each column. The error of a
// sample is a [shard.RowError].
type Gather func(ctx context.Context, samples []int64, into []shard.Target) error

// Run is samples that follow each other in an epoch of this rank.
type Run struct {
	Epoch int
	Pos   int64 // of the first
	Count int
}

// Positions implements [pipe.Spanning].
func (r *Run) Positions() int64 { return int64(r.Count) }

// Runs is a listing as runs of so many samples. The last of an epoch may be shorter.
type Runs struct {
	*Listing
	Rows int
}

// Items implements [pipe.Source].
func (r Runs) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		n, err := r.ready(ctx, epoch, pos)
		if err != nil {
			if ctx.Err() == nil {
				yield(nil, err)
			}
			return
		}
		for pos < n && !r.ends(pos) {
			run := &Run{Epoch: epoch, Pos: pos, Count: int(min(int64(r.Rows), n-pos))}
			if pos += int64(run.Count); !yield(run, nil) {
				return
			}
		}
	}
}

var _ pipe.Source[*Run] = Runs{}

// Near returns among how many neighbours samples are that come one after the other; 0:
// each follows the one before it.
func (l *Listing) Near() int64 {
	if l.Order != nil {
		return l.Samples
	}
	return l.Window
}

// NamedBy reports whether a column is that of the names of samples that an object has,
// which are their numbers.
func (l *Listing) NamedBy(c record.Column) bool {
	o, ok := l.Contents.(*object)
	return ok && o.late && o.name.Kind != 0 && c == o.name
}

// At returns the sample at a position, not read yet.
func (l *Listing) At(epoch int, pos int64) *record.Record {
	place, index := l.Course(epoch).At(pos)
	return l.Sample(epoch, pos, place, index)
}
