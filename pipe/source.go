package pipe

import (
	"context"
	"iter"
	"time"

	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// A Source yields the items of an epoch from position pos on: the i-th that Items yields
// has position pos+i. The same epoch always has the same items. A yielded error is that
// position's failure; the sequence may go on after it. The sequence ends early when ctx
// is cancelled. A panic, or runtime.Goexit, ends the run, after the items before it.
//
// On resume Items is asked for the lowest unfinished position, and what was finished
// beyond is taken and discarded; where that is more than a hundred items in a row, Items
// is asked again, for the position after them.
type Source[T any] interface {
	Items(ctx context.Context, epoch int, pos int64) iter.Seq2[T, error]
}

// Spanning is implemented by items of a source that stand for several positions, one
// after the other: the first is the item's own, and the next item begins after the last.
// They are counted by positions. A flow that begins with them keeps the order of its
// input, so that a state is never within one.
type Spanning interface{ Positions() int64 }

// spanOf returns the function that tells how many positions items stand for; nil: each
// stands for one.
func spanOf[T any]() func(T) int64 {
	if _, ok := any(*new(T)).(Spanning); !ok {
		return nil
	}
	return func(v T) int64 { return any(v).(Spanning).Positions() }
}

// positions returns the number of positions that an item stands for.
func positions[T any](span func(T) int64, v T) int64 {
	if span == nil {
		return 1
	}
	return span(v)
}

// From begins a flow. The name is the source's key in State. [Slice], [Count], [Seq] and
// [SourceFunc] are sources for the simple cases.
func From[T any](name string, s Source[T]) Flow[T] {
	n := &node{name: name, kind: kindSource, workers: 1, buffer: SourceBuffer}
	n.settle()
	if s == nil {
		n.mistake("the source is nil")
	}
	return Flow[T]{node: n, open: func(o *opening, below *stage) *queue.Ring[T] {
		st := o.newStage(n, below)
		number, plan := o.newSource(st)
		out := newQueue[T](st, FastSourceBuffer)
		reader := &sourceStage[T]{stage: st, source: s, out: out, plan: plan, number: number, span: spanOf[T]()}
		o.run(st, reader.work)
		return out
	}}
}

// fastSource is how long items may take of which more are kept ready. The stages that
// they go to may take several at once then.
const fastSource = 4 * worker.FastOp

type sourceStage[T any] struct {
	*stage
	source Source[T]
	out    *queue.Ring[T]
	plan   plan
	number int // among the run's sources
	places int // of the queue that are reserved
	span   func(T) int64

	wide bool // the queue is
	kept int  // places that are reserved so that nobody uses them
	made int  // items, since the clock showed then
	then time.Duration
}

// A plan says how many epochs a source reads, which one is the first, and what of it is
// done already.
type plan struct {
	epochs int // negative: without end
	saved  SourceState
}

// work reads epoch after epoch. It holds a free place of the queue whenever it asks the
// source for an item, so that an item is not made before there is room for it.
func (s *sourceStage[T]) work(w *worker.Worker) {
	if !s.reserve(w) {
		return
	}
	done := progress.NewPositionSet(s.plan.saved)
	for k := 0; s.plan.epochs < 0 || k < s.plan.epochs; k++ {
		if !s.epoch(w, s.plan.saved.Epoch+k, done) {
			return
		}
		done = nil
		last := k+1 == s.plan.epochs
		w.Tick(&w.Busy)
		s.send(w, &queue.Message[T]{Kind: queue.Mark, Last: last})
		if last || !s.reserve(w) {
			return
		}
	}
}

// reserve waits for a place, if none is left. While items come fast it takes several at a
// time.
func (s *sourceStage[T]) reserve(w *worker.Worker) bool {
	if s.places == 0 && s.widen(w) {
		s.places = s.out.ReserveUpTo(w, w.Sampler.Limit(worker.MaxRun))
	}
	return s.places > 0
}

// widen makes the queue wider while items are made and taken fast, and narrow again when
// they are not. It returns false when nothing more is needed.
func (s *sourceStage[T]) widen(w *worker.Worker) bool {
	if s.made >= worker.FastStreak {
		s.wide = w.Last-s.then < fastSource*time.Duration(s.made)
		s.made, s.then = 0, w.Last
	}
	if s.wide {
		s.out.Release(s.kept)
		s.kept = 0
	}
	for !s.wide && s.kept < FastSourceBuffer-SourceBuffer {
		got := s.out.ReserveUpTo(w, FastSourceBuffer-SourceBuffer-s.kept)
		if got == 0 {
			return false
		}
		s.kept += got
	}
	return true
}

func (s *sourceStage[T]) send(w *worker.Worker, m *queue.Message[T]) {
	s.places--
	s.made++
	s.out.Put(m, w.Last)
}

// epoch reads one epoch. It reports whether the run goes on.
func (s *sourceStage[T]) epoch(w *worker.Worker, epoch int, done *progress.PositionSet) (on bool) {
	var pos int64
	if done != nil {
		pos = done.Low
	}
	broken := func(err error) {
		s.send(w, &queue.Message[T]{Kind: queue.Fatal, Lineage: s.lineageOf(pos), Failure: s.NewFailure(err)})
	}
	if err := w.Attempt(func() error { on = s.read(w, epoch, &pos, done); return nil }, broken); err != nil {
		broken(err)
		return false
	}
	return on
}

// read hands on the items of an epoch from pos on, and follows them with pos.
func (s *sourceStage[T]) read(w *worker.Worker, epoch int, pos *int64, done *progress.PositionSet) (on bool) {
	ctx := s.skip.begin(w.Ctx, epoch-s.plan.saved.Epoch)
	defer s.skip.end()

	asks := func() {
		at := s.lineageOf(*pos)
		w.BeginItem(&at, epoch-s.engine.Epoch)
	}
	asks()
	defer w.EndItem()

	for v, err := range s.unfinished(w, ctx, epoch, pos, done) {
		w.EndItem()
		m, n := s.message(v, err, *pos), int64(1)
		if err == nil && s.span != nil {
			n = s.span(v)
			m.Lineage.Hi = m.Lineage.Lo + n
		}
		if ctx.Err() != nil {
			s.out.DiscardMsg(m)
			break
		}

		if err == nil {
			w.Out.Add(n)
		}
		w.In.Add(n)
		w.TimeItem()
		s.send(w, &m)
		if err != nil && (s.raises || m.Failure.Stops) {
			return false
		}

		*pos += n
		if !s.reserve(w) {
			return false
		}
		asks()
	}
	return w.Ctx.Err() == nil
}

// unfinished are the source's items from pos on, but for those that were finished before
// the run was resumed. Pos is that of the item at hand.
func (s *sourceStage[T]) unfinished(w *worker.Worker, ctx context.Context, epoch int, pos *int64,
	done *progress.PositionSet) iter.Seq2[T, error] {
	if done == nil {
		return s.items(w, ctx, epoch, *pos)
	}
	return func(yield func(T, error) bool) {
		for again := true; again; {
			again = false
			for v, err := range s.items(w, ctx, epoch, *pos) {
				if ctx.Err() != nil || !done.Has(*pos) {
					if !yield(v, err) {
						return
					}
					continue
				}
				s.out.DiscardMsg(s.message(v, err, *pos))
				if to := done.End(*pos); to-*pos > maxDiscard {
					*pos, again = to, true
					break
				}
				*pos++
			}
		}
	}
}

// maxDiscard is how many finished items in a row a source makes in vain after a resume,
// rather than to be asked again.
const maxDiscard = 100

// items are the source's, with the hooks around them.
func (s *sourceStage[T]) items(w *worker.Worker, ctx context.Context, epoch int, pos int64) iter.Seq2[T, error] {
	items := watchedItems(ctx, s.stage, s.from(ctx, epoch, pos), pos, s.out.Discard)
	if w.Tracer == nil {
		return items
	}
	return func(yield func(T, error) bool) {
		for v, err := range items {
			at := s.lineageOf(pos)
			w.Tracer.About(Operation, v, &at, epoch-s.engine.Epoch)
			if err != nil {
				w.NoteError(err)
			}
			if pos++; !yield(v, err) {
				return
			}
		}
	}
}

// from asks the source for its items from a position on.
func (s *sourceStage[T]) from(ctx context.Context, epoch int, pos int64) iter.Seq2[T, error] {
	if all, ok := s.source.(sequence[T]); ok {
		return all.from(ctx, pos, s.out.Discard)
	}
	return s.source.Items(ctx, epoch, pos)
}

func (s *sourceStage[T]) lineageOf(pos int64) progress.Lineage {
	return progress.Single(progress.Place(s.number, pos))
}

func (s *sourceStage[T]) message(v T, err error, pos int64) queue.Message[T] {
	if err == nil {
		return queue.Message[T]{Kind: queue.Item, Val: v, Lineage: s.lineageOf(pos)}
	}
	return queue.Message[T]{Kind: queue.Failed, Lineage: s.lineageOf(pos), Failure: s.NewFailure(err)}
}
