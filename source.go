package headrace

import (
	"context"
	"iter"
	"slices"

	"headrace/budget"
	"headrace/media"
	"headrace/order"
	"headrace/recipe/fuse"
	"headrace/sample"
)

// item is a sample on its way to its row: what the source knows of it, and then the values of its fields.
type item struct {
	source *listing
	id     sample.ID
	key    string

	values  *values      // nil: not read, or let go of
	info    media.Info   // of the image that is decoded next
	bad     error        // what Probe said of it
	content budget.Grant // the bytes read
	working budget.Grant // what comes after

	draws    []Draw // with a ledger
	replaced *Lost  // the sample in whose place this one came; nil: it is its own
	drawn    uint32 // how many others were drawn for this place
	limited  bool   // the operation at work has a time limit

	made   []int64 // the numbers in id.Output
	wanted []int64 // which of those to go on as, where a sample is taken on its way by itself

	form   *form // of the batches that it fits into, where these are of several
	length int   // of its sequences, where they count
}

// output makes the item output n of another, which has these numbers itself.
func (it *item) output(of []int64, n int64) {
	it.made = append(slices.Clip(of), n)
	it.id.Output = sample.Numbered(it.made...)
}

// account reserves what a sample turns out to have in memory beyond what was foreseen. It does not wait, since the memory is there already.
func (it *item) account() {
	held, content := it.values.held(), it.content.Bytes()
	if held > content+it.working.Bytes() {
		it.working.Resize(held - content)
	}
}

// listing is a source of numbered samples in an order: positions of this rank's epoch become indices by arithmetic, so that any place can be reached at once.
type listing struct {
	name     string
	names    []string // of the steps that say which samples come, and in which order
	id       uint64   // of the random draws
	first    int64    // the number of its first sample among those of all sources
	contents contents
	shuffled bool
	seed     uint64
	split    order.Split

	rest struct { // what is left of the epoch that a run began with
		epoch int
		share order.Share
	}

	lane *budget.Lane
	leg  *leg // for which reading reserves bytes
}

// contents is what the samples of a source are read from. They are numbered from 0.
type contents interface {
	len() int64
	key(index int64) string // a name for people
	// link is told where the values of its fields go, and has a part in the stage that reads them.
	link(c *compiler, read *stage, s *fuse.Source) error
	// fetch gives a sample its first values, and tells how many bytes it has read. It may wait.
	fetch(ctx context.Context, w *work, it *item) (read int64, err error)
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
func (l *listing) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[*item, error] {
	if s, ok := l.contents.(*iterable); ok {
		return s.items(ctx, epoch, pos)
	}
	at, n := l.indices(epoch), l.share(epoch).Len()
	return func(yield func(*item, error) bool) {
		for ; pos < n; pos++ {
			if !yield(l.item(epoch, pos, at(pos)), nil) {
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

func (l *listing) item(epoch int, pos, index int64) *item {
	return &item{source: l, id: sample.ID{Source: l.name, Epoch: epoch, Pos: pos, Index: index}, key: l.contents.key(index)}
}

// identify returns the sample that stands at a position.
func (l *listing) identify(epoch int, pos int64) (sample.ID, string) {
	index := l.indices(epoch)(pos)
	return sample.ID{Source: l.name, Epoch: epoch, Pos: pos, Index: index}, l.contents.key(index)
}

// iterated tells whether nobody knows how many samples there are.
func (l *listing) iterated() bool {
	_, ok := l.contents.(*iterable)
	return ok
}
