package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// Tracing has the trace of a loader, which comes and goes, and the listeners to its
// spans.
type Tracing struct {
	Elsewhere bool // the consumer is, and tells of its waits itself

	now  atomic.Pointer[stats.Trace] // nil: there is none
	told atomic.Pointer[[]*listener] // nil: there are none

	mu     sync.Mutex
	stages []pipe.StageInfo // guarded by mu: of the last run
	closed bool             // guarded by mu
}

type listener struct{ tell func(stats.Span) }

// Now is the trace that is written; nil: there is none.
func (t *Tracing) Now() *stats.Trace { return t.now.Load() }

// Begin begins one.
func (t *Tracing) Begin(w io.Writer, gauges func() []stats.Gauge) (stop func() (stats.TraceSummary, error), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("headrace: the loader is closed")
	}
	if t.now.Load() != nil {
		return nil, ErrTracing
	}

	trace := stats.NewTrace(w, stats.TraceOptions{Name: nameItem, Gauges: gauges})
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

// Hooks are for each run of the loader.
func (t *Tracing) Hooks() pipe.Hooks {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stages = nil
	return pipe.Hooks{Stage: t.stage, Span: t.span, Spans: func() bool { return t.now.Load() != nil || t.told.Load() != nil }}
}

// Spans has tell called with all spans, until stop is called.
func (t *Tracing) Spans(tell func(stats.Span)) (stop func()) {
	own := &listener{tell}
	t.listen(func(all []*listener) []*listener { return append(all, own) })
	return sync.OnceFunc(func() {
		t.listen(func(all []*listener) []*listener {
			return slices.DeleteFunc(all, func(l *listener) bool { return l == own })
		})
	})
}

// listen changes the listeners. Workers go on with the list that they have.
func (t *Tracing) listen(change func([]*listener) []*listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*listener
	if now := t.told.Load(); now != nil {
		all = slices.Clone(*now)
	}
	if all = change(all); len(all) == 0 {
		t.told.Store(nil)
		return
	}
	t.told.Store(&all)
}

func (t *Tracing) stage(s pipe.StageInfo) func(pipe.StageStats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stages = append(t.stages, s)
	if trace := t.now.Load(); trace != nil {
		trace.Stage(s)
	}
	return nil
}

func (t *Tracing) span(s pipe.Span) {
	if t.Elsewhere && s.Stage == "" && s.Kind != pipe.HandOver {
		return
	}
	if trace := t.now.Load(); trace != nil {
		trace.Span(s)
	}
	if told := t.told.Load(); told != nil {
		named := stats.Span{Span: s, Index: -1}
		if s.Item != nil {
			named.Key, named.Index = nameItem(s.Item)
		}
		for _, l := range *told {
			l.tell(named)
		}
	}
}

// Close ends a trace that nobody has stopped. Its error is then for who closes the
// loader.
func (t *Tracing) Close() error {
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
