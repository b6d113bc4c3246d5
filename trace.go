package headrace

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"headrace/internal/machine"
	"headrace/internal/record"
	"headrace/pipe"
	"headrace/stats"
)

// Trace writes, from now on until stop is called or the loader is closed, what every
// worker does at what time: operations with their samples, waits, and the batches that
// are handed over. ui.perfetto.dev opens the file; [stats.Trace] says what is in it. A
// trace may be begun and stopped at any time, also while nothing runs, and goes on when
// the loader starts elsewhere. There is one at a time.
//
// The writer is used by one goroutine until stop returns, and not closed. Its error comes
// from stop, or from [Loader.Finish] and [Loader.Close] where these end the trace;
// batches do not depend on it.
func (l *Loader) Trace(w io.Writer) (stop func() (stats.TraceSummary, error), err error) {
	t := &l.tracing
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("headrace: the loader is closed")
	}
	if t.now.Load() != nil {
		return nil, ErrTracing
	}
	trace := stats.NewTrace(w, stats.TraceOptions{Name: nameItem, Gauges: l.gauges})
	for _, s := range t.stages {
		trace.Stage(s)
	}
	t.now.Store(trace)
	return func() (stats.TraceSummary, error) {
		t.now.CompareAndSwap(trace, nil)
		return trace.Close()
	}, nil
}

// ErrTracing is the error of a second trace at a time.
var ErrTracing = errors.New("headrace: a trace is being written already; stop that first")

// tracing is where a loader's trace comes and goes.
type tracing struct {
	now       atomic.Pointer[stats.Trace] // nil: there is none
	elsewhere bool                        // the consumer is, and tells of its waits itself

	mu     sync.Mutex
	stages []pipe.StageInfo // guarded by mu: of the last run
	closed bool             // guarded by mu
}

// hooks are for each run of the loader.
func (t *tracing) hooks() pipe.Hooks {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stages = nil
	return pipe.Hooks{Stage: t.stage, Span: t.span}
}

func (t *tracing) stage(s pipe.StageInfo) func(pipe.StageStats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stages = append(t.stages, s)
	if trace := t.now.Load(); trace != nil {
		trace.Stage(s)
	}
	return nil
}

func (t *tracing) span(s pipe.Span) {
	if t.elsewhere && s.Stage == "" && s.Kind != pipe.HandOver {
		return
	}
	if trace := t.now.Load(); trace != nil {
		trace.Span(s)
	}
}

// TraceWait shows in a trace, if there is one, that a consumer elsewhere has waited for
// batches.
func (l *Loader) TraceWait(began time.Time, took time.Duration) {
	if trace := l.tracing.now.Load(); trace != nil {
		trace.Span(pipe.Span{Stage: stats.LoopTrack, Kind: pipe.Starved, Begin: began, Took: took})
	}
}

// TraceProgram shows in a trace, if there is one, what the program has told of itself.
func (l *Loader) TraceProgram(events []stats.ProgramEvent) {
	if trace := l.tracing.now.Load(); trace != nil {
		trace.Program(events)
	}
}

// close ends a trace that nobody has stopped. Its error is then for who closes the
// loader.
func (t *tracing) close() error {
	t.mu.Lock()
	t.closed = true
	trace := t.now.Swap(nil)
	t.mu.Unlock()
	if trace == nil {
		return nil
	}
	if _, err := trace.Close(); err != nil {
		return fmt.Errorf("headrace: the trace cannot be written: %w", machine.Unwritten(err))
	}
	return nil
}

func nameItem(v any) (key string, index int64) {
	switch v := v.(type) {
	case []*record.Record: // of a batch the first
		return nameItem(v[0])
	case *record.Record:
		if v != nil {
			return v.Key, v.ID.Index
		}
	}
	return "", -1
}

// gauges are what is ready in each queue, and the bytes that are held.
func (l *Loader) gauges() []stats.Gauge {
	var all []stats.Gauge
	if run := l.current(); run != nil {
		for _, q := range run.Queues() {
			to := "the consumer"
			if q.To != "" {
				to = stats.ShortName(q.To)
			}
			all = append(all, stats.Gauge{Name: "ready for " + to, Unit: "items", Value: float64(q.Len)})
		}
	}
	b, a := l.budget.Stats(), l.arena.Stats()
	return append(all,
		stats.Gauge{Name: "memory held", Unit: "bytes", Value: float64(b.Used)},
		stats.Gauge{Name: "batches held by the consumer", Unit: "batches", Value: float64(a.Leased)},
	)
}
