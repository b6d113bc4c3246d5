package worker

import (
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/observe"
)

// A tracer makes the spans of one worker. Some end while a lock is held, so that they are
// told a little later, by the same worker.
type tracer struct {
	worker *Worker
	tell   func(observe.Span)
	wanted func() bool // nil: always
	number int
	ended  []observe.Span // and not told

	Of    observe.Span // Items, Item and what follows it, of the operation at hand
	known bool         // there is one
	kind  observe.SpanKind
}

// Traced gives a worker that number, and a tracer where there is a hook.
func (w *Worker) Traced(number int) *Worker {
	if tell := w.Set.Run.Span; tell != nil {
		w.Tracer = &tracer{worker: w, tell: tell, wanted: w.Set.Run.Spans, number: number}
	}
	return w
}

// idle tells whether spans are not wanted now. The item that the worker works on is noted
// nevertheless, for a trace that begins before that is over.
func (t *tracer) idle() bool { return t.wanted != nil && !t.wanted() }

// Traces tells whether spans of the worker are wanted now.
func (w *Worker) Traces() bool { return w.Tracer != nil && !w.Tracer.idle() }

// Seal says that the worker makes a batch whole.
func (t *tracer) Seal(batch any, of *progress.Lineage, epoch int) {
	if t.worker.Sampler.Unread > 0 && !t.idle() {
		t.worker.Settle() // fast operations before
	}
	t.over()
	t.About(observe.Work, batch, of, epoch)
	t.Of.Items = 0
}

// Begin says what the worker works on from now on. Operations that end before the clock
// is read are counted.
func (t *tracer) Begin(v any, of *progress.Lineage, epoch int) {
	if w := t.worker; w.Sampler.Unread == 0 && !t.idle() && w.Set.Run.Now()-w.Last > FastOp {
		w.Tick(&w.Busy) // it took long to come here, and is no part of the operation
	}
	t.About(observe.Operation, v, of, epoch)
}

// About says what the worker has worked on since the clock was read, and goes on with.
func (t *tracer) About(kind observe.SpanKind, v any, of *progress.Lineage, epoch int) {
	t.kind, t.known = kind, true
	t.Of = observe.Span{Items: t.Of.Items + 1, Item: v, Epoch: t.worker.Set.Run.Epoch + epoch}
	if at, ok := of.First(); ok {
		t.Of.Source, t.Of.Pos = t.worker.Set.Run.Origins[progress.SourceOf(at)], progress.PositionOf(at)
	}
}

// end makes a span of the time that the clock has measured.
func (t *tracer) end(c *Clock, from, took time.Duration) {
	if t.idle() {
		t.Of.Items, t.Of.Err = 0, nil
		return
	}

	w := t.worker
	var s observe.Span
	switch c {
	case &w.Starved:
		s.Kind = observe.Starved
	case &w.Blocked:
		s.Kind = observe.Blocked
	case &w.Gated:
		s.Kind = observe.Gated
	case &w.queued, &w.InTurn:
		s.Kind = observe.Queued
	default:
		s = t.Of
		if s.Kind = observe.Work; t.known {
			s.Kind = t.kind
		} else if w.Set.Stage == "" {
			s.Kind = observe.Consuming
		}
		t.Of.Items, t.Of.Err = 0, nil
	}

	if took == 0 && s.Item == nil && s.Items == 0 {
		return
	}

	s.Stage, s.Worker, s.Begin, s.Took = w.Set.Stage, t.number, w.Set.Run.began.Add(from), took
	t.ended = append(t.ended, s)
}

// over says that the operation at hand is over.
func (t *tracer) over() {
	t.Of, t.known = observe.Span{}, false
}

// failed says what became of it. The clock is read after it, so that it is reported.
func (t *tracer) failed(err error) {
	t.Of.Err = err
	if !t.idle() {
		t.worker.Sampler.time()
	}
}

// HandOver says that the consumer gets an item. The item may not have been there yet when
// the clock was read last, at the beginning of Next: the time since is a wait, so that no
// hand-over begins before its item is made.
func (t *tracer) HandOver(v any, of *progress.Lineage, epoch int) {
	if t.idle() {
		t.flush()
		return
	}
	if t.worker.Sampler.Unread == 0 {
		t.worker.Tick(&t.worker.Starved)
	}
	t.About(observe.HandOver, v, of, epoch)
	t.worker.Settle()
	t.flush()
	t.worker.Sampler.timing = true // what the consumer does next is distinguished
}

// flush tells the hook, while no lock is held, and the operation at hand is over.
func (t *tracer) flush() {
	t.over()
	if len(t.ended) == 0 {
		return
	}
	tell := func() error {
		for _, s := range t.ended {
			t.tell(s)
		}
		return nil
	}
	if err := failure.InOwnGoroutine(tell); err != nil {
		t.worker.Tracer = nil
		t.worker.Set.Run.Crash(&t.worker.Set.Origin, &failure.HookError{Err: err})
		return
	}
	clear(t.ended)
	t.ended = t.ended[:0]
}
