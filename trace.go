package headrace

import (
	"io"
	"time"

	"headrace/internal/report"
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
	return l.tracing.Begin(w, l.gauges)
}

// ErrTracing is the error of a second trace at a time.
var ErrTracing = report.ErrTracing

// TraceWait shows in a trace, if there is one, that a consumer elsewhere has waited for
// batches.
func (l *Loader) TraceWait(began time.Time, took time.Duration) {
	if trace := l.tracing.Now(); trace != nil {
		trace.Span(pipe.Span{Stage: stats.LoopTrack, Kind: pipe.Starved, Begin: began, Took: took})
	}
}

// TraceProgram shows in a trace, if there is one, what the program has told of itself.
func (l *Loader) TraceProgram(events []stats.ProgramEvent) {
	if trace := l.tracing.Now(); trace != nil {
		trace.Program(events)
	}
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
