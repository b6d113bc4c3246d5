package source

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/state"
)

// Listing is a source of numbered samples in an order: positions of this rank's epoch
// become indices by arithmetic, so that any place can be reached at once.
type Listing struct {
	record.Source
	Names    []string // of the steps that say which samples come, and in which order
	Contents Contents
	Shuffle  func(epoch int) order.Sequence // nil: in the order of their numbers
	Window   int64                          // of a Shuffle, among how many neighbours samples are that come one after the other
	Order    Order                          // nil: all samples come, each once
	choices  choices                        // of these, which come
	Split    order.Split

	rest struct { // what is left of the epoch that a run began with
		epoch int
		done  [][2]int64
		share order.Share
	}

	Scope *core.MemoryScope // for which reading reserves bytes
	Limit *depth.Limit      // of what is iterated over: how many samples may be on their way; nil: any number

	Most int64       // samples that come at most of an epoch, where one is only tried; 0: all
	cut  atomic.Bool // there were more
}

// Cut tells whether the source has more samples than came.
func (l *Listing) Cut() bool { return l.cut.Load() }

// ends tells whether no more samples come after so many.
func (l *Listing) ends(n int64) bool {
	if l.Most == 0 || n < l.Most {
		return false
	}
	l.cut.Store(true)
	return true
}

// Contents has the samples of a source, which are numbered from 0.
type Contents interface {
	Len() int64
	Key(index int64) string // a name for people
	// Link learns where the values of its fields go. It returns the function whose
	// workers read them; nil: the engine reads.
	Link(w *core.Env, s *fuse.Source, schema sample.Schema, where *record.Columns) (*python.Function, error)
	// Fetch gives a sample its first values, and tells how many bytes it has read. It may
	// wait.
	Fetch(ctx context.Context, w *core.Env, it *record.Record) (read int64, err error)
}

// mixture is contents whose samples are those of other listings.
type mixture interface {
	Contents
	records(l *Listing, epoch int, pos int64, yield func(*record.Record, error) bool)
	record(l *Listing, epoch int, pos int64) *record.Record
}

// Digested are contents of which states keep a digest, so that a run does not go on with
// others.
type Digested interface {
	Contents
	Digest() string // "": nothing is kept
	// Changed tells what is different from the contents that had this digest.
	Changed(was string) error
}

// Begin learns where a run begins. What was finished of that epoch under other world
// sizes does not come: its positions count the rest.
func (l *Listing) Begin(epoch int, done [][2]int64, object *state.Object) {
	l.rest.epoch, l.rest.done, l.rest.share = epoch, done, ShareOf(l.Split, done)
	if s, ok := l.Contents.(*Iterable); ok {
		s.Begin(epoch, object)
	}
}

// Share is this rank's part of an epoch.
func (l *Listing) Share(epoch int) order.Share {
	var done [][2]int64
	if epoch == l.rest.epoch && l.rest.share.Done() != nil {
		if !l.Sampled() {
			return l.rest.share
		}
		done = l.rest.done
	}
	return ShareOf(l.SplitOf(l.Split, epoch), done)
}

// ShareOf is a share of which it was checked that it can be.
func ShareOf(s order.Split, done [][2]int64) order.Share {
	share, _ := s.Over(done)
	return share
}

// together is how many positions become indices together.
const together = 128

// Items implements pipe.Source.
func (l *Listing) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[*record.Record, error] {
	if s, ok := l.Contents.(*Iterable); ok {
		return s.items(ctx, epoch, pos)
	}
	if m, ok := l.Contents.(mixture); ok {
		return func(yield func(*record.Record, error) bool) { m.records(l, epoch, pos, yield) }
	}
	return func(yield func(*record.Record, error) bool) {
		n, err := l.ready(ctx, epoch, pos)
		if err != nil {
			if ctx.Err() == nil {
				yield(nil, err)
			}
			return
		}

		var places, indices [together]int64
		for course := l.Course(epoch); pos < n; {
			some := min(together, n-pos)
			course.Run(pos, places[:some], indices[:some])
			for i, index := range indices[:some] {
				if l.ends(pos) || !yield(l.Sample(epoch, pos, places[i], index), nil) {
					return
				}
				pos++
			}
		}
	}
}

// Sample returns a sample, not read yet, of which place and number are known.
func (l *Listing) Sample(epoch int, pos, place, index int64) *record.Record {
	r := l.Record(epoch, pos, index)
	if l.Order != nil {
		r.Turn = place + 1
	}
	return r
}

// ready waits until it is known which samples an epoch has, if more than pos do, and
// returns how many are this rank's.
func (l *Listing) ready(ctx context.Context, epoch int, pos int64) (n int64, err error) {
	n = l.Share(epoch).Len()
	if l.Order == nil || pos >= n && !l.Sampled() {
		return n, nil
	}
	if _, err := l.Order.Epoch(ctx, epoch); err != nil {
		return 0, pipe.Fatal(fmt.Errorf("%w\nin %s, which orders the samples", err, l.Names[len(l.Names)-1]))
	}
	if l.slice(epoch).Count == 0 {
		return 0, pipe.Fatal(l.none(epoch))
	}
	return l.Share(epoch).Len(), nil // as many as a sampler gives
}

// among is what [record.Source] has of that name, of a source of which not all samples
// come, each once.
func (l *Listing) among(epoch int) (int64, func(int64) int64) {
	if l.Lists() {
		return int64(len(l.drawnOf(epoch).numbers)), l.Order.Known(epoch).At
	}
	course := l.Course(epoch)
	return course.Part.Count, func(place int64) int64 { return course.Sample(course.Part.At(place)) }
}

// Places is how many samples come in an epoch.
func (l *Listing) Places() int64 {
	if o, ok := l.Order.(*sampled); ok && o.Sampler.Lists > 0 {
		return o.Sampler.Lists
	}
	return l.Drawn()
}

// Drawn returns the number of samples that come in an epoch.
func (l *Listing) Drawn() int64 {
	return l.choices.count(l.ordered())
}

// ordered returns the number of samples of an epoch before some of its order are chosen.
func (l *Listing) ordered() int64 {
	if l.Order != nil {
		return l.Order.Len()
	}
	return l.Given()
}

// Expected returns the number of them that are this rank's. If places are lists, it is
// about that.
func (l *Listing) Expected() int64 {
	n := l.Split.Len()
	if l.Lists() && n < l.Split.Samples {
		return l.Drawn() * n / l.Split.Samples
	} else if l.Lists() {
		return l.Drawn()
	}
	return n
}

// Link learns where values of the source's fields go, and returns the function whose
// workers read them; nil: the engine reads.
func (l *Listing) Link(w *core.Env, s *fuse.Source, schema sample.Schema, where *record.Columns) (*python.Function, error) {
	if err := l.LinkOrder(w); err != nil {
		return nil, err
	}
	return l.Contents.Link(w, s, schema, where)
}

// Course returns the samples of an epoch, in its order, which is known.
func (l *Listing) Course(epoch int) *order.Course {
	c := &order.Course{Share: l.Share(epoch), Part: l.slice(epoch)}
	switch {
	case l.Lists():
		lists := l.drawnOf(epoch)
		c.Order = order.Function(func(place int64) int64 { return lists.numbers[lists.starts[place]] })
	case l.Order != nil:
		c.Order = l.Order.Known(epoch)
	case l.Shuffle != nil:
		c.Order = l.Shuffle(epoch)
	}
	for _, s := range l.choices.before {
		c.From = append(c.From, s)
	}
	return c
}

// Identify returns the sample that is at a position; if that is one of a list, the
// first, or the one that output says.
func (l *Listing) Identify(epoch int, pos int64, output ...int64) (sample.ID, string) {
	if m, ok := l.Contents.(mixture); ok {
		r := m.record(l, epoch, pos)
		return r.ID, r.Key
	}
	if l.Order != nil && l.Order.Known(epoch) == nil {
		return sample.ID{Source: l.Name, Epoch: epoch, Pos: pos, Index: -1}, ""
	}
	place, index := l.Course(epoch).At(pos)
	if lists := l.drawnOf(epoch); l.Lists() && lists != nil && len(output) > 0 {
		index = lists.numbers[min(lists.starts[place]+output[0], lists.starts[place+1]-1)]
	}
	return sample.ID{Source: l.Name, Epoch: epoch, Pos: pos, Index: index}, l.Contents.Key(index)
}

// Read makes the operation that fetches a sample, and reserves what the first stages will
// take: here, outside the gate, since both may have to wait.
func (l *Listing) Read(w *core.Env) core.Op {
	fetch := l.Fetch(w)
	return func(ctx context.Context, it *record.Record) error {
		if err := fetch(ctx, it); err != nil {
			return err
		}
		return l.Scope.Reserve(ctx, it)
	}
}

// Fetch makes the operation that only fetches a sample.
func (l *Listing) Fetch(w *core.Env) core.Op {
	return func(ctx context.Context, it *record.Record) error {
		if w.Quarantined(it.Source, it.ID.Index) {
			return core.ErrQuarantined
		}
		n, err := l.Contents.Fetch(ctx, w, it)
		if err == nil {
			pipe.AddBytes(ctx, n)
		}
		return err
	}
}

// LinkOrder is Link for samples that a chain of functions reads.
func (l *Listing) LinkOrder(w *core.Env) error {
	if o, ok := l.Order.(*sampled); ok {
		return o.link(w)
	}
	return nil
}

// Late has samples read when they have rows, by the function that Link has returned or by
// a chain, and returns what is done before: the same as Read. Only objects can do that.
func (l *Listing) Late(w *core.Env, where *record.Columns) core.Op {
	l.Contents.(interface{ Late(*record.Columns) }).Late(where)
	return l.Fetch(w)
}

// Stream returns the function of an object that is iterated over.
func (l *Listing) Stream() *python.Function { return l.Contents.(*Iterable).python }

// Iterated reports whether the number of samples is unknown.
func (l *Listing) Iterated() bool {
	_, ok := l.Contents.(*Iterable)
	return ok
}
