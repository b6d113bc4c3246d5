package otlp

import (
	"context"
	"slices"
	"sync"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Traces keeps traces until they are sent.
type Traces struct {
	mu      sync.Mutex
	waiting [][]*tracev1.Span // the oldest first; guarded by mu
	sent    int64             // guarded by mu
	dropped int64             // likewise
}

// mostTraces wait for a receiver that does not take them: a few hundred kilobytes.
const mostTraces = 64

// Add adds a trace. If too many wait already, the oldest is dropped.
func (t *Traces) Add(spans []*tracev1.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(append(t.waiting, spans))
}

// Send sends all that wait. If that fails they wait on.
func (t *Traces) Send(ctx context.Context, s *Sender) error {
	t.mu.Lock()
	all := t.waiting
	t.waiting = nil
	t.mu.Unlock()
	if len(all) == 0 {
		return nil
	}

	err := s.Traces(ctx, slices.Concat(all...))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.keep(append(all, t.waiting...))
	} else {
		t.sent += int64(len(all))
	}
	return err
}

// Counts returns how many were sent and dropped.
func (t *Traces) Counts() (sent, dropped int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent, t.dropped
}

// keep has the newest of some traces wait; the lock is held.
func (t *Traces) keep(all [][]*tracev1.Span) {
	more := max(0, len(all)-mostTraces)
	t.dropped += int64(more)
	t.waiting = all[more:]
}
