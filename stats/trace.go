package stats

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/pipe"
)

// TraceOptions add details to a Trace. The zero value is useful.
type TraceOptions struct {
	// Name tells people which item it is: the name of a file, and its number in the
	// source. Of what has neither they are "" and -1. Workers call it for every
	// operation. Nil: items have no names.
	Name func(item any) (key string, index int64)

	// Gauges are numbers that change, such as the lengths of queues. They are asked for
	// every 10 ms. Nil: there are none.
	Gauges func() []Gauge

	Memory int // bytes for what is not written yet; 0: 8 MiB
}

// A Gauge is a number at some moment.
type Gauge struct {
	Name  string
	Unit  string
	Value float64
}

// TraceSummary says how much a Trace has written.
type TraceSummary struct {
	Events  int64 `json:"events"`
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped"` // events that are missing, because writing was slower than what happened, or has failed
}

// A Trace writes the spans of runs in the Trace Event Format, which ui.perfetto.dev and
// other viewers open: the process is this one, each worker is a thread with the name of
// its stage, and the consumer is one more. Operations have in their arguments the name,
// the number and the position of their sample. Arrows lead from the first operation on
// a sample to the next, and from a batch that is made whole to its hand-over. Gauges
// are counters. Times are microseconds since the trace began; the event "trace" says
// when that was.
//
// Any number of goroutines may call Span at once. They do not wait for the writer: when
// the memory for what is not written is full, events are dropped and counted, and the
// event "end of trace" says how many. A worker is shown from its first item on, and the
// first of each stage always.
//
// The file is a JSON array with an event on each line. The format allows the bracket at
// its end to be missing. The file of a process that was killed has all up to a tenth of
// a second before, and its last line may be cut: SIGKILL ends a write in its middle.
//
// The format is Google's "Trace Event Format" of 2016, with its array of events, and
// "bind_id" for arrows.
type Trace struct {
	o     TraceOptions
	began time.Time
	pid   int

	mu      sync.RWMutex
	tracks  map[thread]*track     // guarded by mu, as are the next three
	stages  map[string]stagePlace //
	sources map[string]uint64     // their numbers, in arrows
	names   []byte                // of threads, not written

	desks   []desk
	free    chan []byte // memory for chunks; nil: to be made
	full    chan chunk
	stop    chan struct{}
	done    chan struct{}
	dropped atomic.Int64
	closing sync.Once

	// The rest is the writer's, and after Close anyone's.
	w       io.Writer
	err     error // of the first write that failed
	line    []byte
	gauges  map[string]float64 // as they were last
	summary TraceSummary
}

// A thread is a worker of a stage.
type thread struct {
	stage  string
	worker int
}

// A track is a thread in the viewer, and the desk on which its spans are written down.
type track struct {
	stagePlace
	label string
	tid   int
	desk  *desk
}

// A desk collects the spans of some threads. There are enough desks that threads seldom
// meet at one, and few enough that each can have a chunk, however many threads there are.
type desk struct {
	mu     sync.Mutex
	now    chunk // guarded by mu
	closed bool  // guarded by mu
}

// A chunk is a number of events, as text.
type chunk struct {
	text   []byte
	events int64
}

// A stagePlace is the position of a stage in the trace, with its part in working on
// items.
type stagePlace struct {
	number int
	raw    bool // nobody has done anything for the items that come out of it
	first  bool // nor for those that it takes, but it does
}

// LoopTrack is the stage of spans that tell of the waits of a consumer in another
// process: they have a line below what is handed to it.
const LoopTrack = "training loop"

const (
	chunkBytes    = 16 << 10
	longEvent     = 1 << 10 // most are shorter; a chunk may grow
	traceMemory   = 8 << 20
	mostDesks     = 64
	gaugesEvery   = 10 * time.Millisecond
	looksPerFlush = 10 // at the gauges
	tidsPerStage  = 10_000
	consumerPlace = 1_000 // after all stages
)

// NewTrace begins a trace. One goroutine writes, until Close returns; it does not close
// the writer.
func NewTrace(w io.Writer, o TraceOptions) *Trace {
	if o.Memory <= 0 {
		o.Memory = traceMemory
	}
	n := max(2, o.Memory/chunkBytes)
	t := &Trace{
		o: o, began: time.Now(), pid: os.Getpid(), w: w,
		tracks: make(map[thread]*track), stages: make(map[string]stagePlace), sources: make(map[string]uint64),
		gauges: make(map[string]float64),
		desks:  make([]desk, min(n, mostDesks)), free: make(chan []byte, n), full: make(chan chunk, n),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range n {
		t.free <- nil
	}
	go t.write()
	return t
}

// Stage tells of a stage, before its spans: stages are shown in this order. It is a
// hook of a run, or told of stages that run already.
func (t *Trace) Stage(i pipe.StageInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.stages[i.Name]; ok {
		return
	}
	raw := len(i.From) > 0
	for _, from := range i.From {
		raw = raw && t.stages[from].raw
	}
	works := i.Kind != "source" && i.Kind != "merge"
	t.stages[i.Name] = stagePlace{number: len(t.stages) + 1, raw: !works && (raw || i.Kind == "source"), first: works && raw}
}

// Span tells of a part of a worker's life, as a hook of a run. Of what began before the
// trace there is only the rest.
func (t *Trace) Span(s pipe.Span) {
	k := t.track(thread{s.Stage, s.Worker}, s.Worker == 0 || !isIdle(&s))
	if k == nil || s.Begin.Add(s.Took).Before(t.began) {
		return
	}
	d := k.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if !t.room(d) {
		t.dropped.Add(1)
		return
	}
	d.now.text = t.appendSpan(d.now.text, k, &s)
	d.now.events++
}

// isIdle tells whether a worker had no item in a part of its life.
func isIdle(s *pipe.Span) bool {
	switch s.Kind {
	case pipe.Starved, pipe.Blocked, pipe.Gated, pipe.Queued:
		return true
	case pipe.Work:
		return s.Item == nil && s.Items == 0
	default:
		return false
	}
}

// room makes sure that there is some for an event at a desk, which is locked.
func (t *Trace) room(d *desk) bool {
	if d.now.text != nil && len(d.now.text)+longEvent <= chunkBytes {
		return true
	}
	var fresh []byte
	select {
	case fresh = <-t.free:
	default:
		return false
	}
	if d.now.text != nil {
		t.full <- d.now // has a place for each chunk that there is
	}
	if fresh == nil {
		fresh = make([]byte, 0, chunkBytes)
	}
	d.now = chunk{text: fresh[:0]}
	return true
}

// track is a worker's. It begins, and gets a name, with the first item of the worker,
// or with whatever the first of a stage does; nil: it has not begun. Stages have as
// many workers as samples may be in hand at once, of which most may never be given one.
func (t *Trace) track(of thread, begins bool) *track {
	t.mu.RLock()
	k := t.tracks[of]
	t.mu.RUnlock()
	if k != nil || !begins {
		return k
	}

	// Another goroutine may have begun it while no lock was held.
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.tracks[of]; k != nil {
		return k
	}

	place, ok := t.stages[of.stage]
	if !ok {
		place.number = len(t.stages) + 1
		if of.stage == "" {
			place.number = consumerPlace
		} else if of.stage == LoopTrack {
			place.number = consumerPlace + 1
		} else if _, ok := programThread(of.stage); ok {
			place.number += consumerPlace + 1
		}
		t.stages[of.stage] = place
	}

	k = &track{stagePlace: place, label: ShortName(of.stage), tid: place.number*tidsPerStage + of.worker,
		desk: &t.desks[len(t.tracks)%len(t.desks)]}
	t.tracks[of] = k
	t.names = t.appendThread(t.names, k, of)
	return k
}

// source is the number of one.
func (t *Trace) source(name string) uint64 {
	t.mu.RLock()
	n, ok := t.sources[name]
	t.mu.RUnlock()
	if ok {
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok = t.sources[name]; !ok {
		n = uint64(len(t.sources))
		t.sources[name] = n
	}
	return n
}

// Close ends the trace. Later reports are dropped. It waits until everything is written,
// and returns the writer's first error. It may be called again.
func (t *Trace) Close() (TraceSummary, error) {
	t.closing.Do(func() { close(t.stop) })
	<-t.done
	return t.summary, t.err
}

// write is the life of the writer.
func (t *Trace) write() {
	defer close(t.done)
	t.put(t.appendHead(nil), 2)
	ticks := time.NewTicker(gaugesEvery)
	defer ticks.Stop()
	t.look()
	for looks := 1; ; {
		select {
		case c := <-t.full:
			t.name() // a file that is cut off has names for all that it shows
			t.put(c.text, c.events)
			t.free <- c.text
		case <-ticks.C:
			t.look()
			if looks++; looks%looksPerFlush == 0 {
				t.flush(false)
			}
		case <-t.stop:
			t.end()
			return
		}
	}
}

// put writes events.
func (t *Trace) put(text []byte, events int64) {
	if len(text) == 0 {
		return
	}
	if t.err != nil {
		t.dropped.Add(events)
		return
	}
	n, err := t.w.Write(text)
	t.summary.Bytes += int64(n)
	if t.err = err; err != nil {
		t.dropped.Add(events)
		return
	}
	t.summary.Events += events
}

// look writes the gauges that have changed.
func (t *Trace) look() {
	if t.o.Gauges == nil {
		return
	}
	at, n := time.Since(t.began), int64(0)
	t.line = t.line[:0]
	for _, g := range t.o.Gauges() {
		if before, ok := t.gauges[g.Name]; ok && before == g.Value {
			continue
		}
		t.gauges[g.Name] = g.Value
		t.line = t.appendGauge(t.line, at, g)
		n++
	}
	t.put(t.line, n)
}

// name writes the names of the tracks that have got one.
func (t *Trace) name() {
	t.mu.Lock()
	names := t.names
	t.names = nil
	t.mu.Unlock()
	t.put(names, countEvents(names))
}

// flush writes the spans collected so far. The last flush closes the desks.
func (t *Trace) flush(last bool) {
	for i := range t.desks {
		d := &t.desks[i]
		d.mu.Lock()
		now := d.now
		d.now, d.closed = chunk{}, last
		d.mu.Unlock()
		if now.text != nil {
			t.name() // before any of its events
			t.put(now.text, now.events)
			t.free <- now.text
		}
	}
}

// end writes the rest.
func (t *Trace) end() {
	t.look()
	t.flush(true)
	for {
		select {
		case c := <-t.full:
			t.name()
			t.put(c.text, c.events)
		default:
			t.put(t.appendEnd(nil), 1)
			t.summary.Dropped = t.dropped.Load()
			return
		}
	}
}
