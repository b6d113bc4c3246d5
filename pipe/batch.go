package pipe

import (
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// BatchOpts are the settings of a Batch.
type BatchOpts struct {
	Name     string // of the stage; required, and unique in its flow
	Buffer   int    // batches kept ready beyond the one in the making; 0: DefaultBatchBuffer
	DropLast bool   // leave out the last batch of an epoch when it is not full

	// Within has a batch handed on when so long has passed since the stage took its first
	// item, with what is there by then; 0: only when it is full.
	Within time.Duration
}

// Batch gathers n items after the other into a slice of their own. An epoch's last batch
// may be shorter; no batch crosses an epoch.
//
// With Within no item waits for others for long. Which items are together depends on time
// then, so another run has other batches: a state has every item exactly once, as where
// no order is kept, and one in the middle of what was made of a batch is refused.
//
// A batch that nobody takes is disposed of item by item, unless Discard says otherwise.
func Batch[T any](in Flow[T], n int, o BatchOpts) Flow[[]T] {
	nd := &node{name: o.Name, kind: kindBatch, joins: true, workers: 1, buffer: o.Buffer, ordered: true,
		detail: fmt.Sprint("of ", n), ups: []*node{in.node}}
	nd.settle()
	nd.boundBatch(n, "items")
	if o.Within < 0 {
		nd.mistake("Within is %v: it must be a time above 0, or 0 for none", o.Within)
	}
	if nd.timed = o.Within > 0; nd.timed {
		nd.detail += fmt.Sprint(" within ", o.Within)
	}
	f := Flow[[]T]{node: nd, open: func(op *opening, below *stage) *queue.Ring[[]T] {
		st := op.newStage(nd, below)
		out := newQueue[[]T](st, 1+nd.buffer)
		b := &batchStage[T]{stage: st, in: in.into(op, st), out: out, n: n, dropLast: o.DropLast, within: o.Within}
		op.run(st, b.work)
		return out
	}}
	if in.drop != nil {
		f.drop = func(batch []T) {
			for _, v := range batch {
				in.drop(v)
			}
		}
	}
	return f
}

type batchStage[T any] struct {
	*stage
	in       *queue.Ring[T]
	out      *queue.Ring[[]T]
	n        int
	dropLast bool

	batch   []T // in the making
	lineage progress.Lineage
	before  int // how many items the batch before had

	within time.Duration
	due    time.Duration // when the batch in the making is handed on, on the run's clock
	alarm  *time.Timer   // has the worker look at it
	late   func() bool   // whether it is time
}

// firstRoom is how many items there is room for when a run's first batch begins. It grows
// with what comes, so that a greatest size that is never reached costs nothing; later
// batches have room for as many as the one before.
const firstRoom = 64

// work holds a free place whenever it takes items, so that a batch can leave when it is
// full.
func (b *batchStage[T]) work(w *worker.Worker) {
	defer b.discardBatch()
	defer b.unset()
	inputs := make([]queue.Message[T], worker.MaxRun)

	for placed := false; ; {
		if placed = placed || b.out.Reserve(w); !placed {
			return
		}

		// A run does not reach beyond the batch: what is after it stays where it is
		// counted.
		h, late := b.take(w, inputs[:min(worker.MaxRun, b.n-len(b.batch))])
		if late {
			b.emit(w)
			placed = false
			continue
		}
		if len(h.Msgs) == 0 {
			return
		}

		traced := w.Tracer != nil
		for i := range h.Msgs {
			if placed = placed || b.out.Reserve(w); !placed {
				b.in.DiscardAll(h.Msgs[i:])
				return
			}
			if traced && h.Msgs[i].Kind == queue.Item {
				w.Tracer.About(Operation, h.Msgs[i].Val, &h.Msgs[i].Lineage, h.Segment.Epoch)
			}
			placed = b.accept(w, &h.Msgs[i])
		}

		clear(h.Msgs)
		w.Tick(&w.Busy)
		w.TellSpans()
	}
}

// take waits for items. late is true when none is there and the batch in the making is
// due.
func (b *batchStage[T]) take(w *worker.Worker, buf []queue.Message[T]) (h queue.Run[T], late bool) {
	if b.within == 0 || len(b.batch) == 0 {
		return b.in.Take(w, buf), false
	}
	return b.in.TakeBefore(w, buf, b.late)
}

// set begins the time of a batch.
func (b *batchStage[T]) set() {
	b.due = b.engine.Now() + min(b.within, math.MaxInt64-b.engine.Now())
	if b.alarm == nil {
		b.late = func() bool { return b.engine.Now() >= b.due }
		b.alarm = time.AfterFunc(b.within, b.in.WakeTakers)
	} else {
		b.alarm.Reset(b.within)
	}
}

func (b *batchStage[T]) unset() {
	if b.alarm != nil {
		b.alarm.Stop()
	}
}

// accept deals with one message. It reports whether the place that it was given is still
// free.
func (b *batchStage[T]) accept(w *worker.Worker, m *queue.Message[T]) (placed bool) {
	switch m.Kind {
	case queue.Item:
		w.In.Add(1)
		if b.batch == nil {
			b.batch = make([]T, 0, min(b.n, max(b.before, firstRoom)))
			if b.within > 0 {
				b.set()
			}
		}

		b.batch = append(b.batch, m.Val)
		b.lineage.Join(m.Lineage, b.keepMembers)
		if len(b.batch) < b.n {
			return true
		}
		b.emit(w)
		return false
	case queue.Mark:
		if len(b.batch) > 0 && !b.dropLast {
			b.emit(w)
			if !b.out.Reserve(w) {
				return false
			}
		}
		w.Skipped.Add(int64(len(b.batch)))
		b.discardBatch()
	}

	b.out.Put(&queue.Message[[]T]{Lineage: m.Lineage, Kind: m.Kind, Last: m.Last, Failure: m.Failure}, w.Last)
	return false
}

func (b *batchStage[T]) emit(w *worker.Worker) {
	w.Out.Add(1)
	b.out.Put(&queue.Message[[]T]{Kind: queue.Item, Val: b.batch, Lineage: b.lineage}, w.Last)
	b.before = len(b.batch)
	b.batch, b.lineage = nil, progress.Lineage{}
}

// discardBatch disposes of an unfinished batch.
func (b *batchStage[T]) discardBatch() {
	for _, v := range b.batch {
		b.in.Discard(v)
	}
	b.batch, b.lineage = nil, progress.Lineage{}
}
