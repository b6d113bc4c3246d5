package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headrace/headrace/internal/otlp"
	"github.com/headrace/headrace/internal/version"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// Collector tells Prometheus the counts of a loader.
type Collector struct {
	*counts
	labels prometheus.Labels
}

// counts collects the counts of a loader, without its labels.
type counts struct {
	read  func() stats.Snapshot
	waits prometheus.Histogram
	spans func(tell func(stats.Span)) (stop func()) // nil: there are no traces
	sent  otlp.Traces

	taken atomic.Pointer[batch] // the last; nil: it is not told

	mu   sync.Mutex
	last stats.Snapshot
	at   time.Time
}

// batch is one of an epoch, by its number.
type batch struct {
	epoch  int
	number int64
}

func (b *batch) exemplar() prometheus.Labels {
	return prometheus.Labels{"epoch": strconv.Itoa(b.epoch), "batch": strconv.FormatInt(b.number, 10)}
}

// Labels tell loaders apart. Empty ones are left out.
type Labels struct {
	Loader string // such as "train"
	Rank   string
	Job    string // the run that ranks and machines have in common
}

// Waits are counted in these buckets, and in Prometheus's native ones.
var waitBuckets = []float64{0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// New returns a collector for a loader whose statistics read returns.
func New(read func() stats.Snapshot, l Labels) *Collector {
	c := &Collector{&counts{read: read}, prometheus.Labels{}}
	for name, value := range map[string]string{"loader": l.Loader, "rank": l.Rank, "job": l.Job} {
		if value != "" {
			c.labels[name] = value
		}
	}
	c.waits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: wait.Name, Help: wait.Help + ".", Buckets: waitBuckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
	})
	return c
}

// Trace has [Publish] send traces of samples, if its address says how many: spans is the
// loader's method Spans.
func (c *Collector) Trace(spans func(tell func(stats.Span)) (stop func())) { c.spans = spans }

// Wait counts that the loop waited so long for some batches, for the histogram: the
// statistics only have the sum of all waits.
func (c *counts) Wait(d time.Duration, batches int) {
	if batches == 0 {
		return
	}
	each := d / time.Duration(batches)
	last := c.taken.Load()
	for range batches {
		if last != nil && each >= slow {
			c.waits.(prometheus.ExemplarObserver).ObserveWithExemplar(each.Seconds(), last.exemplar())
		} else {
			c.waits.Observe(each.Seconds())
		}
	}
}

// slow waits are worth an exemplar.
const slow = time.Millisecond

// Took says which batch of its epoch the loop was given last. The waits for it have that
// as their exemplar: headrace replay makes it again.
func (c *counts) Took(epoch int, number int64) { c.taken.Store(&batch{epoch, number}) }

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	prometheus.WrapCollectorWith(c.labels, c.counts).Describe(descs)
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	prometheus.WrapCollectorWith(c.labels, c.counts).Collect(metrics)
}

// Describe implements [prometheus.Collector].
func (c *counts) Describe(descs chan<- *prometheus.Desc) {
	for _, s := range table {
		descs <- s.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *counts) Collect(metrics chan<- prometheus.Metric) {
	c.mu.Lock()
	if time.Since(c.at) > fresh {
		c.last, c.at = c.read(), time.Now()
	}
	s := c.last
	c.mu.Unlock()

	c.waits.Collect(metrics)
	to := sink(metrics)
	sent, dropped := c.sent.Counts()
	to.set(traces, float64(sent), "sent")
	to.set(traces, float64(dropped), "dropped")
	to.loop(s)
	to.stages(s)
	to.sources(s)
	to.resources(s)
}

// forget has statistics read again, however new the last ones are.
func (c *counts) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}

// fresh bounds the age of statistics: many servers, or one that asks all the time, have
// them read four times a second.
const fresh = 250 * time.Millisecond

// sink takes the metrics of a moment.
type sink chan<- prometheus.Metric

func (to sink) set(s *Series, value float64, labels ...string) {
	kind := prometheus.GaugeValue
	if s.Type == counter {
		kind = prometheus.CounterValue
	}
	to <- prometheus.MustNewConstMetric(s.desc, kind, value, labels...)
}

func (to sink) loop(s stats.Snapshot) {
	to.set(info, 1, version.Version, s.Decoder)
	to.set(batches, float64(s.Yielded))
	waited := s.Waited - s.Main // functions of the client's own are work of its loop
	to.set(loop, waited.Seconds(), "wait")
	to.set(loop, max(0, s.Loop-waited).Seconds(), "step")
	to.set(start, s.Start.Seconds())

	made, stands := 0.0, 0.0
	if n := len(s.Stages); n > 0 && s.Stages[n-1].Out > 0 {
		made = 1
	}
	if s.Stalled != nil {
		stands = s.Stalled.For.Seconds()
	}
	to.set(ready, made)
	to.set(stalls, float64(s.Stalls))
	to.set(stalled, stands)
}

func (to sink) stages(s stats.Snapshot) {
	names := namesOf(s.Stages)
	limits := stats.Limits(s)
	for i, t := range s.Stages {
		name := names[i]
		if t.Name == limits {
			to.set(limit, 1, name)
		}
		to.set(workers, float64(t.Workers), name)
		to.set(taken, float64(t.In), name)
		to.set(given, float64(t.Out), name)
		to.set(skipped, float64(t.Skipped), name)
		to.set(moved, float64(t.Bytes), name)

		to.set(failures, float64(t.Lost), name, "lost")
		to.set(failures, float64(t.Replaced), name, "replaced")
		to.set(failures, float64(t.Retried), name, "retried")
		to.set(failures, float64(t.Abandoned), name, "abandoned")

		to.set(spent, t.Busy.Seconds(), name, "busy")
		to.set(spent, (t.Starved + t.Over).Seconds(), name, "starved")
		to.set(spent, t.Blocked.Seconds(), name, "blocked")
		to.set(spent, t.Gated.Seconds(), name, "gated")
		to.set(spent, t.Queued.Seconds(), name, "queued")
		to <- durations{took.desc, name, t.Times}
	}

	for i, q := range s.Queues {
		name := strconv.Itoa(i)
		if k := slices.IndexFunc(s.Stages, func(t pipe.StageStats) bool { return t.Name == q.From }); k >= 0 {
			name = names[k]
		}
		to.set(queued, float64(q.Len), name)
		to.set(room, float64(q.Cap), name)
	}
}

// namesOf are names of stages that fit into a legend, and differ.
func namesOf(stages []pipe.StageStats) (names []string) {
	for _, t := range stages {
		name := stats.ShortName(t.Name)
		for n := 2; slices.Contains(names, name); n++ {
			name = stats.ShortName(t.Name) + "#" + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}

func (to sink) sources(s stats.Snapshot) {
	for _, f := range s.Functions {
		to.set(calls, float64(f.Calls), f.Stage)
		to.set(called, f.Time.Seconds(), f.Stage)
		to.set(restarts, float64(f.Restarts), f.Stage)
	}
	for _, m := range s.Mixes {
		for _, source := range m.Sources {
			to.set(mixed, float64(source.Given), m.Step, source.Name)
		}
	}
	to.set(shards, float64(s.Shards.Read), "read")
	to.set(shards, float64(s.Shards.Used), "used")
	to.set(damaged, float64(s.DamagedFrames), "frames")
	to.set(damaged, float64(s.DamagedAudio), "recordings")

	for _, h := range busiest(s.Hosts) {
		to.set(requests, float64(h.Requests), h.Host)
		to.set(trouble, float64(h.Failed), h.Host, "failed")
		to.set(trouble, float64(h.Throttled), h.Host, "throttled")
		to.set(trouble, float64(h.Retries), h.Host, "retry")
		to.set(trouble, float64(h.Hedges), h.Host, "hedge")
		to.set(fetched, float64(h.Wanted), h.Host, "wanted")
		to.set(fetched, float64(h.Fetched), h.Host, "fetched")
		to.set(requested, h.Took.Seconds(), h.Host)
		to.set(paced, h.Waited.Seconds(), h.Host)
		to.set(atOnce, float64(h.AtOnce), h.Host)
	}
}

// mostHosts bounds the series: a list of addresses may be of thousands of hosts.
const mostHosts = 8

func busiest(hosts []stats.Host) []stats.Host {
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b stats.Host) int { return cmp.Compare(b.Requests, a.Requests) })
	return hosts[:min(len(hosts), mostHosts)]
}

func (to sink) resources(s stats.Snapshot) {
	for _, p := range s.Memory.Purposes {
		to.set(memory, float64(p.Used), p.Name)
	}
	to.set(memoryLimit, float64(s.Memory.Limit))
	to.set(held, float64(s.Memory.Batches.Leased))

	var names []string
	times, bytes := map[string]time.Duration{}, map[string]int64{}
	for _, p := range s.Resources.Processes {
		name := stats.ShortName(p.Name)
		if _, known := times[name]; !known {
			names = append(names, name)
		}
		times[name] += p.CPU()
		if p.Resident != nil {
			bytes[name] += *p.Resident
		}
	}
	for _, name := range names {
		to.set(cpu, times[name].Seconds(), name)
		to.set(resident, float64(bytes[name]), name)
	}
}
