package pipe

import (
	"fmt"
	"sync/atomic"
	"time"

	"headrace/pipe/internal/progress"
)

// A Span is a part of the life of a worker, or of the consumer: one operation, or one time of waiting. A worker's spans follow one another.
//
// Operations that are so fast that reading a clock would cost more than they do are one span together.
type Span struct {
	Stage  string // "": the consumer
	Worker int    // of the stage, from 0; the number of one that has left is given to the next that comes
	Kind   SpanKind
	Begin  time.Time
	Took   time.Duration

	Items int // operations that began in it; with HandOver, items

	// What the last of the operations was about: its input; of a source, what it made; of what Next returns, that. Nil with
	// the other kinds, and where an aggregator flushes.
	Item   any
	Source string // of the first of the source items that Item is made of; "": of none
	Epoch  int
	Pos    int64
	Err    error // what it failed with; Skip, too
}

// SpanKind says how a time was spent.
type SpanKind int

// The kinds of spans.
const (
	Operation SpanKind = iota // in operations: what is busy in StageStats
	Work                      // in what else is busy: a batch is sealed, then it is Item; a worker begins
	Starved                   // waiting for the stage before
	Blocked                   // waiting for the stage behind, or for a Store
	Gated                     // waiting for a Gate
	Queued                    // with an item, waiting for a worker elsewhere
	HandOver                  // by the consumer: Next has an item, and returns it
	Consuming                 // by the consumer, between two calls of Next
)

var spanKinds = [...]string{"operation", "work", "starved", "blocked", "gated", "queued", "hand-over", "consuming"}

func (k SpanKind) String() string {
	if k < 0 || int(k) >= len(spanKinds) {
		return fmt.Sprintf("SpanKind(%d)", int(k))
	}
	return spanKinds[k]
}

// A tracer makes the spans of one worker. Some end while a lock is held, so that they are told a little later, by the same worker.
type tracer struct {
	worker *worker
	tell   func(Span)
	number int
	ended  []Span // and not told

	of    Span // Items, Item and what follows it, of the operation at hand
	known bool // there is one
	kind  SpanKind
}

// traced gives a worker that number, and a tracer where there is a hook.
func (w *worker) traced(number int) *worker {
	if tell := w.stage.engine.hooks.Span; tell != nil {
		w.tracer = &tracer{worker: w, tell: tell, number: number}
	}
	return w
}

// seal says that the worker makes a batch whole.
func (t *tracer) seal(batch any, of *progress.Lineage, epoch int) {
	if t.worker.sampler.unread > 0 {
		t.worker.settle() // fast operations before
	}
	t.over()
	t.about(Work, batch, of, epoch)
	t.of.Items = 0
}

// begin says what the worker works on from now on. Operations that end before the clock is read are counted.
func (t *tracer) begin(v any, of *progress.Lineage, epoch int) {
	if w := t.worker; w.sampler.unread == 0 && w.stage.engine.now()-w.last > fastOp {
		w.tick(&w.busy) // it took long to come here, and is no part of the operation
	}
	t.about(Operation, v, of, epoch)
}

// about says what the worker has worked on since the clock was read, and goes on with.
func (t *tracer) about(kind SpanKind, v any, of *progress.Lineage, epoch int) {
	t.kind, t.known = kind, true
	t.of = Span{Items: t.of.Items + 1, Item: v, Epoch: t.worker.stage.engine.epoch + epoch}
	if at, ok := of.First(); ok {
		t.of.Source, t.of.Pos = t.worker.stage.engine.origins[progress.SourceOf(at)], progress.PositionOf(at)
	}
}

// end makes a span of the time that the clock has measured.
func (t *tracer) end(account *atomic.Int64, from, took time.Duration) {
	w := t.worker
	var s Span
	switch account {
	case &w.starved:
		s.Kind = Starved
	case &w.blocked:
		s.Kind = Blocked
	case &w.gated:
		s.Kind = Gated
	case &w.queued, &w.inTurn:
		s.Kind = Queued
	default:
		s = t.of
		if s.Kind = Work; t.known {
			s.Kind = t.kind
		} else if w.stage.name == "" {
			s.Kind = Consuming
		}
		t.of.Items, t.of.Err = 0, nil
	}

	if took == 0 && s.Item == nil && s.Items == 0 {
		return
	}

	s.Stage, s.Worker, s.Begin, s.Took = w.stage.name, t.number, w.stage.engine.began.Add(from), took
	t.ended = append(t.ended, s)
}

// over says that the operation at hand is over.
func (t *tracer) over() {
	t.of, t.known = Span{}, false
}

// failed says what became of it. The clock is read behind it, so that it is told.
func (t *tracer) failed(err error) {
	t.of.Err = err
	t.worker.sampler.time()
}

// handOver says that the consumer gets an item. The item may not have been there yet when the clock was read last, at the beginning of Next: the time since is a wait, so that no
// hand-over begins before its item is made.
func (t *tracer) handOver(v any, of *progress.Lineage, epoch int) {
	if t.worker.sampler.unread == 0 {
		t.worker.tick(&t.worker.starved)
	}
	t.about(HandOver, v, of, epoch)
	t.worker.settle()
	t.flush()
	t.worker.sampler.timing = true // what the consumer does next is told apart
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
	if err := inOwnGoroutine(tell); err != nil {
		t.worker.tracer = nil
		t.worker.stage.engine.crash(t.worker.stage, &HookError{err})
		return
	}
	clear(t.ended)
	t.ended = t.ended[:0]
}
