package pipe

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// An Aggregator puts the items of one epoch together: Add is given every item, in order,
// and Flush ends the epoch. Both hand on what is complete with Emit, or several outputs
// of the same items with Open. Neither is called twice at once.
//
// When Add returns an error its item has failed, and the others are still held; the error
// Skip drops it. An error of Flush is the failure of everything that is held.
type Aggregator[In, Out any] interface {
	Add(ctx context.Context, v Held[In], e *Emitter[In, Out]) error
	Flush(ctx context.Context, e *Emitter[In, Out]) error
}

// Held is an item in an aggregator's hands. It is held until it is given to Emit or Drop,
// which tells what an output was made of: a state counts the items whose output was
// handed on, and the others come again after a resume, in order.
type Held[T any] struct {
	Value  T
	number int64
}

// AggregateOpts are the settings of an Aggregate.
type AggregateOpts struct {
	Name     string  // of the stage; required, and unique in its flow
	Buffer   int     // outputs kept ready; 0: DefaultBatchBuffer
	DropLast bool    // what is held at the end of an epoch is dropped, and not flushed
	Failures *Policy // nil: the run's
}

// Aggregate puts items together as an aggregator wants them: by size, by length,
// whatever. Each epoch has an aggregator of its own, which begin makes. A resumed run
// yields what the uninterrupted one would have if the outputs depend on nothing but the
// items that are held, in order, or the aggregator is a [Resumer].
//
// What is still held after Flush is dropped. Items that are given to Emit are the
// aggregator's; all others are disposed of as Discard says.
func Aggregate[In, Out any](in Flow[In], begin func() Aggregator[In, Out], o AggregateOpts) Flow[Out] {
	n := &node{name: o.Name, kind: kindAggregate, joins: true, makes: true, remembers: true, workers: 1, buffer: o.Buffer,
		ordered: true, policy: o.Failures, ups: []*node{in.node}}
	n.settle()
	if begin == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *queue.Ring[Out] {
		st := op.newStage(n, below)
		a := &aggregateStage[In, Out]{stage: st, in: in.into(op, st), begin: begin, dropLast: o.DropLast,
			saved: op.progress.UnfinishedOf(n.key(), op.config.Resume.Parts), memory: op.config.Resume.Memories[n.key()]}
		a.out = newQueue[Out](st, 1+n.buffer)
		op.run(st, a.work)
		return a.out
	}}
}

type aggregateStage[In, Out any] struct {
	*stage
	in       *queue.Ring[In]
	out      *queue.Ring[Out]
	begin    func() Aggregator[In, Out]
	dropLast bool
	saved    *progress.Unfinished
	memory   Memory // of the epoch that the run goes on in
}

// start makes the aggregator of an epoch.
func (s *aggregateStage[In, Out]) start(e *Emitter[In, Out], epoch int, fail func(error)) (agg Aggregator[In, Out], err error) {
	err = e.worker.Attempt(func() error {
		agg = s.begin()
		e.begin(epoch, 0)
		if epoch > 0 || s.memory.Groups == 0 {
			return nil
		}
		e.begin(epoch, s.memory.Groups)
		r, ok := agg.(Resumer)
		if !ok {
			return errors.New("pipe: the state to resume from has an aggregator's memory, and this aggregator accepts none")
		}
		return r.Resume(s.memory)
	}, fail)
	if err == nil && s.engine.hooks.Task != nil {
		agg = watchedAggregator[In, Out]{agg, s.stage}
	}
	return agg, err
}

// work is the life of the stage's worker. It has a free place whenever it takes an item,
// as a batch has.
func (s *aggregateStage[In, Out]) work(w *worker.Worker) {
	e := &Emitter[In, Out]{stage: s, worker: w}
	defer e.dropAll()
	var agg Aggregator[In, Out]
	var buf [1]queue.Message[In]

	for e.place() {
		h := s.in.Take(w, buf[:])
		if len(h.Msgs) == 0 {
			return
		}
		m := buf[0]
		buf[0] = queue.Message[In]{}

		if agg == nil {
			fail := func(err error) {
				s.in.DiscardMsg(m)
				e.fail(queue.Fatal, m.Lineage, err)
			}
			var err error
			if agg, err = s.start(e, h.Segment.Epoch, fail); err != nil {
				fail(err)
				return
			}
		}

		if m.Kind == queue.Item {
			w.In.Add(1)
			w.BeginItem(&m.Lineage, h.Segment.Epoch)
			if w.Tracer != nil {
				w.Tracer.Begin(m.Val, &m.Lineage, h.Segment.Epoch)
			}

			v := e.hold(m)
			added := func(err error) {
				if err != nil {
					w.NoteError(err)
				}
				e.added(v, m.Lineage, err)
				w.TimeOp(true)
			}
			added(w.Attempt(func() error { return agg.Add(w.Ctx, v, e) }, added))
			continue
		}

		if m.Kind == queue.Mark {
			if !s.dropLast {
				if w.Tracer != nil {
					w.Tracer.Begin(nil, new(progress.Lineage), h.Segment.Epoch)
					w.Tracer.Of.Items-- // of no item
				}
				e.flushed(w.Attempt(func() error { return agg.Flush(w.Ctx, e) }, e.flushed))
				w.TimeOp(false)
			}

			w.Skipped.Add(int64(e.held.left))
			e.tellLosses()
			e.dropAll()
			agg = nil
			if err := s.missing(h.Segment.Epoch); err != nil {
				e.fail(queue.Fatal, m.Lineage, Fatal(err))
				return
			}
		}

		if m.Kind == queue.Gone || m.Kind == queue.Failed {
			if err := s.saved.Spoilt(&m.Lineage, h.Segment.Epoch); err != nil && !s.cutShort(h.Segment.Epoch) {
				e.fail(queue.Fatal, m.Lineage, Fatal(err))
				return
			}
		}

		e.send(queue.Message[Out]{Lineage: m.Lineage, Kind: m.Kind, Last: m.Last, Turn: m.Turn, Failure: m.Failure})
	}
}

// missing is an error at the end of the epoch in which the run was resumed, where an item
// did not come again of which outputs were finished.
func (s *aggregateStage[In, Out]) missing(epoch int) error {
	if s.saved == nil || epoch > 0 || s.cutShort(epoch) {
		return nil
	}
	return s.saved.Missing()
}

// An Emitter is what an aggregator hands its outputs to. It is the stage's memory of what
// is held.
type Emitter[In, Out any] struct {
	stage   *aggregateStage[In, Out]
	worker  *worker.Worker
	held    holdings[In]
	count   int64
	emitted int  // outputs handed on
	placed  bool // a place of the queue is reserved
	over    bool // the stage was stopped, or has failed
	misuse  error

	epoch  int
	line   *progress.OutputOrder
	groups int64 // outputs that were opened in this epoch, those of the run before included
	open   int   // of which are not closed
}

// begin begins an epoch, of which so many outputs were finished.
func (e *Emitter[In, Out]) begin(epoch int, groups int64) {
	e.epoch, e.groups, e.open, e.line = epoch, groups, 0, &progress.OutputOrder{Ended: groups}
}

// Emit hands on an output that was made of these items. It waits while the queue is full.
func (e *Emitter[In, Out]) Emit(v Out, of ...Held[In]) {
	m := queue.Message[Out]{Kind: queue.Item, Val: v}
	for _, h := range of {
		if held, ok := e.release(h); ok {
			held.joinTo(&m.Lineage, e.stage.keepMembers)
		}
	}
	if len(of) == 0 {
		e.wrong("an output that is made of no item")
	}
	if e.misuse != nil {
		e.stage.out.DiscardMsg(m)
		return
	}
	e.worker.Interrupt()
	if e.send(m) {
		e.worker.Out.Add(1)
		e.emitted++
	}
}

// Drop ends items on purpose. They are finished.
func (e *Emitter[In, Out]) Drop(of ...Held[In]) {
	for _, h := range of {
		if held, ok := e.release(h); ok {
			e.stage.in.Discard(held.val)
			e.worker.Skipped.Add(1)
			e.send(queue.Message[Out]{Kind: queue.Gone, Lineage: held.lineage})
		}
	}
}

func (e *Emitter[In, Out]) wrong(what string) {
	if e.misuse == nil {
		e.misuse = errors.New("pipe: the aggregator has emitted " + what)
	}
}

func (e *Emitter[In, Out]) hold(m queue.Message[In]) Held[In] {
	e.count++
	e.held.add(e.count, m)
	return Held[In]{Value: m.Val, number: e.count}
}

// release ends the holding of an item.
func (e *Emitter[In, Out]) release(h Held[In]) (one holding[In], ok bool) {
	if one, ok = e.held.release(h.number); !ok {
		e.wrong("or dropped an item that it does not hold")
	}
	return one, ok
}

// added deals with what became of an item.
func (e *Emitter[In, Out]) added(v Held[In], t progress.Lineage, err error) {
	switch stillHeld := e.held.find(v.number) >= 0; {
	case e.misuse != nil:
		e.fail(queue.Fatal, t, e.misuse)
	case err == nil || e.over || e.worker.Ctx.Err() != nil:
	case !stillHeld:
		e.fail(queue.Fatal, t, fmt.Errorf("the aggregator has failed for an item that it has used: %w", err))
	case errors.Is(err, failure.Skip):
		e.Drop(v)
	default:
		if held, ok := e.release(v); ok {
			e.stage.in.Discard(held.val)
		}
		e.fail(failureOf(err), t, err)
	}
}

// failureOf is the kind of message that tells of an error.
func failureOf(err error) queue.Kind {
	if Stops(err) {
		return queue.Fatal
	}
	return queue.Failed
}

func (e *Emitter[In, Out]) flushed(err error) {
	var all progress.Lineage
	e.held.each(func(h holding[In]) { all.Add(h.lineage) })
	if err == nil && e.open > 0 && !e.over && e.worker.Ctx.Err() == nil {
		e.wrong("outputs that it has not closed")
	}
	switch {
	case e.misuse != nil:
		e.fail(queue.Fatal, all, e.misuse)
	case err == nil || e.over || e.worker.Ctx.Err() != nil:
	default:
		e.dropAll()
		e.fail(failureOf(err), all, err)
	}
}

// fail sends a failure. After the end of the run nothing follows.
func (e *Emitter[In, Out]) fail(k queue.Kind, t progress.Lineage, err error) {
	if k == queue.Fatal || e.stage.raises {
		e.stage.haltAbove()
	}
	e.send(queue.Message[Out]{Kind: k, Lineage: t, Failure: e.stage.NewFailure(err)})
	e.over = e.over || k == queue.Fatal || e.stage.raises
}

// place reserves a place of the queue, if there is none yet. It returns false when
// nothing more is needed.
func (e *Emitter[In, Out]) place() bool {
	e.placed = !e.over && (e.placed || e.stage.out.Reserve(e.worker))
	e.over = !e.placed
	return e.placed
}

func (e *Emitter[In, Out]) send(m queue.Message[Out]) bool {
	if !e.place() {
		e.stage.out.DiscardMsg(m)
		return false
	}
	e.placed = false
	e.stage.out.Put(&m, e.worker.Last)
	return true
}

// tellLosses tells of items that are lost and came into no output. All that is held is
// finished with them: an aggregator that is resumed is given all of it or nothing.
func (e *Emitter[In, Out]) tellLosses() {
	var all progress.Lineage
	e.held.each(func(h holding[In]) { all.Add(h.told()) })
	if len(all.Within()) > 0 {
		e.send(queue.Message[Out]{Kind: queue.Gone, Lineage: all})
	}
}

func (e *Emitter[In, Out]) dropAll() {
	e.held.each(func(h holding[In]) { e.stage.in.Discard(h.val) })
	e.held.clear()
}

// watchedAggregator is watched for Add and Flush.
type watchedAggregator[In, Out any] struct {
	of    Aggregator[In, Out]
	stage *stage
}

func (a watchedAggregator[In, Out]) Add(ctx context.Context, v Held[In], e *Emitter[In, Out]) error {
	add := func(ctx context.Context) error { return a.of.Add(ctx, v, e) }
	return a.watch(ctx, v.Value, add, e)
}

func (a watchedAggregator[In, Out]) Flush(ctx context.Context, e *Emitter[In, Out]) error {
	flush := func(ctx context.Context) error { return a.of.Flush(ctx, e) }
	return a.watch(ctx, nil, flush, e)
}

func (a watchedAggregator[In, Out]) watch(ctx context.Context, in any, f func(context.Context) error, e *Emitter[In, Out]) error {
	before := e.emitted
	count := func(ctx context.Context, _ any) (int, error) {
		err := f(ctx)
		return e.emitted - before, err
	}
	_, err := watched(a.stage, count, func(any) {}, func(int) {})(ctx, in)
	return err
}
