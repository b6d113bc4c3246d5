package otlp

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// Loader is one whose samples are followed.
type Loader struct {
	Spans  func(tell func(stats.Span)) (stop func())
	Stages func() []pipe.StageStats
	Labels map[string]string // of all its metrics
}

const (
	mostFollowed = 30 * time.Second       // a batch may lie ready for long
	late         = 100 * time.Millisecond // workers may tell of spans a little later
	begun        = 50 * time.Millisecond  // a look at whether a loader has
	mostSamples  = 1024                   // that are noted until one of them is handed over
	mostSteps    = 64                     // of a sample
)

// Follow returns the spans of one of the next samples, from its first step until its
// batch is handed over, as a trace; nil: there was none. It has the loader tell of its
// workers meanwhile, which costs something, and at no other time.
func Follow(ctx context.Context, l Loader) []*tracev1.Span {
	s := &samples{step: map[string]int{}, first: map[string]int{}, paths: map[sampleID]*path{}, handed: make(chan struct{})}
	stages := l.Stages()
	for ; len(stages) == 0; stages = l.Stages() { // it has not begun
		if wait(ctx, begun); ctx.Err() != nil {
			return nil
		}
	}
	for i, stage := range stages {
		if stage.Kind != "source" {
			s.step[stage.Name] = i
		}
	}

	defer l.Spans(s.tell)()
	select {
	case <-s.handed:
		wait(ctx, late)
	case <-time.After(mostFollowed):
	case <-ctx.Done():
		return nil
	}
	if best := s.best(); best != nil {
		return best.trace(l.Labels)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// samples notes the spans of some samples. The first of a batch stands for it when it is
// handed over, and no worker knows before which sample that will be.
type samples struct {
	step map[string]int // the number of each stage that is no source

	mu     sync.Mutex
	first  map[string]int // the first stage of each source's samples; guarded by mu
	paths  map[sampleID]*path
	over   bool
	handed chan struct{} // closed once a sample is handed over that was seen from its first step on
}

type sampleID struct {
	source string
	epoch  int
	pos    int64
}

// path has the steps of a sample that are known.
type path struct {
	id             sampleID
	key            string
	index          int64
	steps          []stats.Span // without their items, whose memory is used again
	begins         int          // the stage of the first step
	sealed, handed bool
}

func (s *samples) tell(span stats.Span) {
	switch {
	case span.Source == "":
		return
	case span.Kind != pipe.Operation && span.Kind != pipe.HandOver && (span.Kind != pipe.Work || span.Item == nil):
		return
	}
	span.Item = nil
	id := sampleID{span.Source, span.Epoch, span.Pos}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Samples that were on their way before have no first step here.
	step, isStep := s.step[span.Stage]
	isStep = isStep && span.Kind == pipe.Operation
	if isStep {
		if first, known := s.first[id.source]; !known || step < first {
			s.first[id.source] = step
		}
	}

	p := s.paths[id]
	if p == nil {
		if !isStep || len(s.paths) == mostSamples {
			return
		}
		p = &path{id: id, key: span.Key, index: span.Index, begins: step}
		s.paths[id] = p
	}
	if s.over || len(p.steps) == mostSteps {
		return
	}

	p.steps = append(p.steps, span)
	p.sealed = p.sealed || span.Kind == pipe.Work
	if span.Kind == pipe.HandOver && !p.handed {
		p.handed = true
		if p.begins == s.first[id.source] {
			s.close()
		}
	}
}

// close says that a sample is known from its beginning to its end; the lock is held.
func (s *samples) close() {
	select {
	case <-s.handed:
	default:
		close(s.handed)
	}
}

// best returns the sample with the most that is known.
func (s *samples) best() (best *path) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	rank := func(p *path) []int {
		return []int{one(p.begins == s.first[p.id.source]), one(p.handed), one(p.sealed), len(p.steps), -int(p.id.pos)}
	}
	for _, p := range s.paths {
		if best == nil || slices.Compare(rank(p), rank(best)) > 0 {
			best = p
		}
	}
	return best
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// trace returns a span for the sample, and below it one for each step. Between them it
// waited.
func (p *path) trace(labels map[string]string) []*tracev1.Span {
	slices.SortStableFunc(p.steps, func(a, b stats.Span) int { return a.Begin.Compare(b.Begin) })
	trace := random(16)
	root := &tracev1.Span{
		TraceId: trace, SpanId: random(8), Name: "sample", Kind: tracev1.Span_SPAN_KIND_INTERNAL,
		Attributes: append(texts(labels), text("source", p.id.source), whole("epoch", int64(p.id.epoch)), whole("position", p.id.pos)),
	}
	if p.index >= 0 {
		root.Attributes = append(root.Attributes, whole("index", p.index))
	}
	if p.key != "" {
		root.Attributes = append(root.Attributes, text("key", p.key))
	}

	all := []*tracev1.Span{root}
	for _, step := range p.steps {
		s := &tracev1.Span{
			TraceId: trace, SpanId: random(8), ParentSpanId: root.SpanId, Name: nameOf(step), Kind: tracev1.Span_SPAN_KIND_INTERNAL,
			StartTimeUnixNano: nanos(step.Begin), EndTimeUnixNano: nanos(step.Begin.Add(step.Took)),
		}
		if step.Stage != "" {
			s.Attributes = append(s.Attributes, text("stage", step.Stage))
		}
		if step.Items > 1 {
			s.Attributes = append(s.Attributes, whole("items", int64(step.Items))) // so fast that they have one span together
		}
		if errors.Is(step.Err, pipe.Skip) {
			s.Attributes = append(s.Attributes, text("dropped", "true"))
		} else if step.Err != nil {
			// The sample fails with its step, unless a later try succeeds.
			s.Status = &tracev1.Status{Code: tracev1.Status_STATUS_CODE_ERROR, Message: strings.ToValidUTF8(step.Err.Error(), "\uFFFD")}
			root.Status = s.Status
		}
		all = append(all, s)
		root.EndTimeUnixNano = max(root.EndTimeUnixNano, s.EndTimeUnixNano)
	}
	root.StartTimeUnixNano = all[1].StartTimeUnixNano
	return all
}

func nameOf(step stats.Span) string {
	switch step.Kind {
	case pipe.Work:
		return "seal batch"
	case pipe.HandOver:
		return "hand over"
	default:
		return stats.ShortName(step.Stage)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}
