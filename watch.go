package headrace

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/observe/counters"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/store"
)

// stallAfter is how long nothing moves before a stall is reported, unless a
// configuration says otherwise.
const stallAfter = 60 * time.Second

// stalled keeps the last report of a stall, for statistics.
type stalled struct {
	mu     sync.Mutex
	count  int64
	since  time.Time
	report string
	moved  int64 // all that had moved by then: a stall is over when it has grown
}

func (s *stalled) note(r pipe.StallReport, text string, moved int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.since, s.report, s.moved = time.Now().Add(-r.For), text, moved
}

// put adds the stall to statistics, if it goes on.
func (s *stalled) put(into *stats.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	into.Stalls = s.count
	if s.report != "" && movedIn(into.Stats) == s.moved {
		into.Stalled = &stats.Stalled{For: time.Since(s.since), Report: s.report}
	}
}

// movedIn counts the items that stages and queues of a run have moved.
func movedIn(s pipe.Stats) (n int64) {
	for _, t := range s.Stages {
		n += t.In + t.Out + t.Skipped
	}
	for _, q := range s.Queues {
		n += q.Puts + q.Gets
	}
	return n
}

// stall is who learns when nothing moves.
func (l *Loader) stall() pipe.Stall {
	after := stallAfter
	if l.config.StallAfter != nil {
		after = time.Duration(*l.config.StallAfter * float64(time.Second))
	}
	if after <= 0 {
		return pipe.Stall{}
	}
	return pipe.Stall{After: after, Waits: l.arena.Waiting, Report: l.reportStall}
}

// reportStall warns of a run that stands still. That a source has nothing to give is no
// fault, and said once.
func (l *Loader) reportStall(r pipe.StallReport) {
	var iterated []string
	for _, s := range l.sources {
		if s.Iterated() {
			iterated = append(iterated, s.Name)
		}
	}
	text, idle := report.Idle(r, iterated, l.givesInTime())
	if !idle {
		text := report.Stall(r, l.nameStalled)
		l.stalled.note(r, text, movedIn(l.counts()))
		l.options.Warn("stall", text)
	} else if !l.idle.Swap(true) {
		l.options.Warn("idle", text)
	}
}

// givesInTime reports whether no sample waits for long in a batch.
func (l *Loader) givesInTime() bool {
	for _, s := range l.recipe.All() {
		if b := recipe.TraitsOf(s.Args).Batches; b != nil && b.MaxWait == 0 {
			return false
		}
	}
	return true
}

// nameStalled says which sample an operation has not finished.
func (l *Loader) nameStalled(o pipe.StalledOperation) (key, which string) {
	id, key := l.source(o.Source).Identify(o.Epoch, o.Pos)
	which = fmt.Sprintf("index %d", id.Index)
	if len(l.sources) > 1 {
		which += " of " + id.Source
	}
	return key, which
}

// helpers are the processes that work for the loader: who gets the batches, this one, and
// workers by their stages; those that several stages share are "workers".
func (l *Loader) helpers() []report.Process {
	var all []report.Process
	here := os.Getpid()
	if pid := l.options.Consumer; pid != 0 && pid != here {
		all = append(all, report.Process{Name: "trainer", PID: pid})
	}
	all = append(all, report.Process{Name: "engine", PID: here})
	for _, p := range python.HostOf(l.work).All() {
		for _, pid := range p.Stats().PIDs {
			known := slices.IndexFunc(all, func(other report.Process) bool { return other.PID == pid })
			if known < 0 {
				all = append(all, report.Process{Name: p.Stage(), PID: pid})
			} else {
				all[known].Name = "workers" // of several stages
			}
		}
	}
	return all
}

// resources are those of now, or of the moment of Close.
func (l *Loader) resources() stats.Resources {
	l.mu.Lock()
	last, usage := l.last, l.usage
	l.mu.Unlock()
	if last != nil {
		r := *last
		r.Processes = slices.Clone(r.Processes)
		return r
	}
	if usage == nil {
		r := l.openUsage().Read(time.Now(), l.helpers())
		return r.Minus(r) // what is held now, and nothing used
	}
	return usage.Read(time.Now(), l.helpers())
}

// openUsage begins to count what the processes use.
func (l *Loader) openUsage() *report.Usage {
	return report.OpenUsage(os.DirFS("/"), machine.Here().Cores, l.helpers())
}

// Stats returns the loader's numbers over all its runs, as they are now. Clocks
// run since a run's consumer first asked for a batch. The numbers outlive Close.
func (l *Loader) Stats() stats.Snapshot {
	s := stats.Snapshot{
		Stats: l.counts(), Memory: l.memory(), Decoder: l.info.Decoder, Resources: l.resources(), Functions: python.HostOf(l.work).Stats(),
		Mixes: l.mixes(), Hosts: stats.HostsSince(hosts(), l.hosts),
		Counts: counters.Load(&l.work.Counts),
	}
	l.stalled.put(&s)
	s.Tuned = l.tuned.all()
	return s
}

// counts returns the numbers of stages and queues, over all runs.
func (l *Loader) counts() pipe.Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run == nil {
		return l.total
	}
	return l.total.Plus(l.fromFirst(l.run))
}

// hosts returns the counts of the hosts of all stores.
func hosts() (all []stats.Host) {
	for _, c := range store.AllCounts() {
		all = append(all, stats.Host{Host: c.Host, Requests: c.Requests, Failed: c.Failed, Throttled: c.Throttled, Retries: c.Retries,
			Hedges: c.Hedges, Wanted: c.Wanted, Fetched: c.Fetched, Waited: c.Waited, Took: c.Took, AtOnce: c.AtOnce, Silent: c.Silent})
	}
	return all
}

// mixes tells how often each source of each mix came.
func (l *Loader) mixes() (all []stats.Mix) {
	for _, m := range source.ArrivalsOf(l.begins) {
		all = append(all, stats.Mix{Step: m.Name, Sources: m.Stats()})
	}
	for _, s := range l.begins {
		for m := range s.Mixes() {
			all = append(all, stats.Mix{Step: m.Name, Sources: m.Contents.(*source.Mixed).Stats()})
		}
	}
	return all
}

// fromFirst are a run's numbers, with clocks that run since the consumer first asked.
// The lock is held.
func (l *Loader) fromFirst(run *pipe.Run[*batch.Batch]) pipe.Stats {
	now := run.Stats()
	if l.ahead == nil {
		return now.FromFirst(now)
	}
	return now.FromFirst(*l.ahead)
}

func (l *Loader) memory() stats.Memory {
	b, a := l.budget.Stats(), l.arena.Stats()
	m := stats.Memory{
		Limit: b.Limit, Used: b.Used, Peak: b.Peak,
		Batches: stats.Batches{OnDemand: *l.config.Prefetch == 0, Slots: a.Slots, Leased: a.Leased, Unpooled: a.Unpooled, Bytes: a.Bytes},
	}
	for _, p := range b.Purposes {
		m.Purposes = append(m.Purposes, stats.Purpose{Name: string(p.Purpose), Used: p.Used, Peak: p.Peak})
	}
	return m
}

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

// Spans has tell called for each part of the life of every worker, with its sample, from
// now on until stop is called: what [Loader.Trace] writes to a file. Workers call it, at
// once, and wait for it. An item is only the loader's to use: its memory is used again.
func (l *Loader) Spans(tell func(stats.Span)) (stop func()) { return l.tracing.Spans(tell) }

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
