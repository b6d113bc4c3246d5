package metrics_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/metrics"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/observe"
	"github.com/headrace/headrace/stats"
)

// whole has something of all that is counted.
func whole() stats.Snapshot {
	bytes := int64(1 << 20)
	s := stats.Snapshot{
		Decoder: "jpeg=headrace-1",
		Memory: stats.Memory{
			Limit: 100, Purposes: []stats.Purpose{{Name: "samples", Used: 7}}, Batches: stats.Batches{Leased: 2},
		},
		Functions: []stats.Function{{Stage: "map", Calls: 5, Time: time.Second, Restarts: 1}},
		Mixes:     []stats.Mix{{Step: "mix", Sources: []stats.Mixed{{Name: "a", Given: 3}, {Name: "b", Given: 4}}}},
		Hosts: []stats.Host{{
			Host: "b.example", Requests: 3, Failed: 1, Throttled: 2, Retries: 3, Hedges: 4, Wanted: 5, Fetched: 6, AtOnce: 7,
		}},
		Resources: stats.Resources{Processes: []stats.Process{
			{Name: "engine", PID: 1, User: time.Second, Resident: &bytes},
			{Name: "workers", PID: 2, User: time.Second, Resident: &bytes}, {Name: "workers", PID: 3, System: time.Second},
		}},
	}
	s.Yielded, s.Start, s.Loop, s.Elapsed = 10, time.Second, 10*time.Second, 11*time.Second
	s.Waited, s.Main = 5*time.Second, time.Second // of which the loop's own functions are no wait
	s.Stages = []pipe.StageStats{
		{Name: "files", Workers: 1, In: 100, Out: 100},
		pipe.StageStats{
			Name: "decode_image+resize+batch", Workers: 2, In: 80, Out: 10,
			Lost: 1, Replaced: 2, Retried: 3, Abandoned: 4, Skipped: 5, Bytes: 6,
			Busy: 9 * time.Second, Starved: time.Second, Over: time.Second,
			Blocked: 3 * time.Second, Gated: 4 * time.Second, Queued: 5 * time.Second,
		}.WithTimes([]observe.Bucket{{UpTo: 0, Count: 1}, {UpTo: time.Millisecond, Count: 2}, {UpTo: 2 * time.Hour, Count: 3}}),
	}
	s.Queues = []pipe.QueueStats{{From: "files", To: "decode_image+resize+batch", Cap: 16, Len: 3}, {From: "gone", Cap: 2}}
	return s
}

func gather(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// TestTable: the metrics are those of the table, and all of them.
func TestTable(t *testing.T) {
	c := metrics.New(whole, metrics.Labels{})
	c.Wait(time.Millisecond, 1)
	all := gather(t, c)
	for _, s := range metrics.Table() {
		f := all[s.Name]
		if f == nil {
			t.Errorf("%s is in the table alone", s.Name)
			continue
		}
		delete(all, s.Name)
		if got := strings.ToLower(f.GetType().String()); got != s.Type || f.GetHelp() != s.Help+"." {
			t.Errorf("%s is a %s %q, in the table a %s %q", s.Name, got, f.GetHelp(), s.Type, s.Help)
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName())
			}
			if want := slices.Sorted(slices.Values(s.Labels)); !slices.Equal(labels, want) {
				t.Errorf("%s has the labels %v, in the table %v", s.Name, labels, want)
			}
		}
	}
	for name := range all {
		t.Errorf("%s is not in the table", name)
	}
}

// TestConventions: Prometheus's own checker of names, units and help finds nothing.
func TestConventions(t *testing.T) {
	found, err := testutil.CollectAndLint(metrics.New(whole, metrics.Labels{}))
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestValues are in base units.
func TestValues(t *testing.T) {
	all := gather(t, metrics.New(whole, metrics.Labels{}))
	for _, want := range []string{
		"headrace_batches_total 10", "headrace_loop_seconds_total wait 4", "headrace_loop_seconds_total step 6",
		"headrace_start_seconds_total 1",
		"headrace_bottleneck decode_image+…+batch 1",
		"headrace_stage_seconds_total decode_image+…+batch busy 9", "headrace_stage_seconds_total decode_image+…+batch starved 2",
		"headrace_stage_failures_total lost decode_image+…+batch 1", "headrace_stage_failures_total abandoned decode_image+…+batch 4",
		"headrace_queue_items files 3", "headrace_queue_capacity_items 1 2",
		"headrace_mix_items_total b mix 4", "headrace_store_bytes_total b.example fetched 6",
		"headrace_memory_bytes samples 7", "headrace_memory_limit_bytes 100", "headrace_held_batches 2",
		"headrace_process_cpu_seconds_total workers 2", "headrace_process_memory_bytes workers 1.048576e+06",
	} {
		name, _, _ := strings.Cut(want, " ")
		var got []string
		for _, m := range all[name].GetMetric() {
			got = append(got, name+values(m))
		}
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// TestLabels tell loaders apart.
func TestLabels(t *testing.T) {
	m := gather(t, metrics.New(whole, metrics.Labels{Loader: "train", Rank: "3"}))["headrace_loop_seconds_total"].Metric[1]
	if got := values(m); got != " train wait 3 4" {
		t.Error(got)
	}
}

// values are a metric's labels, by their names, and its number.
func values(m *dto.Metric) (text string) {
	for _, l := range m.Label {
		text += " " + l.GetValue()
	}
	return text + fmt.Sprintf(" %v", m.GetCounter().GetValue()+m.GetGauge().GetValue())
}

// TestDurations: both kinds of buckets count what a histogram of Prometheus would, as
// far as those of the engine are exact.
func TestDurations(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		times := map[time.Duration]int64{}
		for range rapid.IntRange(0, 20).Draw(rt, "n") {
			times[time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(rt, "time"))]++
		}
		var buckets []observe.Bucket
		of := prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "x", Buckets: []float64{1e-6, 1e-5, 1e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60},
			NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: 1e-9,
		})
		for d, n := range times {
			buckets = append(buckets, observe.Bucket{UpTo: d, Count: n})
			for range n {
				of.Observe(d.Seconds())
			}
		}

		s := whole()
		s.Stages = []pipe.StageStats{pipe.StageStats{Name: "map"}.WithTimes(buckets)}
		c := metrics.New(func() stats.Snapshot { return s }, metrics.Labels{})
		got := gather(t, c)["headrace_stage_duration_seconds"].Metric[0].Histogram
		var want dto.Metric
		of.Write(&want)
		for i, b := range want.Histogram.Bucket {
			if b.GetCumulativeCount() != got.Bucket[i].GetCumulativeCount() || b.GetUpperBound() != got.Bucket[i].GetUpperBound() {
				rt.Fatalf("bucket %v: %v", b, got.Bucket[i])
			}
		}
		if got.GetSampleCount() != want.Histogram.GetSampleCount() || got.GetZeroCount() != want.Histogram.GetZeroCount() ||
			math.Abs(got.GetSampleSum()-want.Histogram.GetSampleSum()) > want.Histogram.GetSampleSum()/30 {
			rt.Fatalf("%v, want %v", got, want.Histogram)
		}
		if a, b := native(got), native(want.Histogram); a != b {
			rt.Fatalf("native buckets: %s, want %s", a, b)
		}
	})
}

// native lists native buckets that are not empty.
func native(h *dto.Histogram) (text string) {
	index, count, at := int32(0), int64(0), 0
	for _, span := range h.PositiveSpan {
		index += span.GetOffset()
		for range span.GetLength() {
			if count += h.PositiveDelta[at]; count != 0 {
				text += fmt.Sprintf("%d:%d ", index, count)
			}
			at++
			index++
		}
	}
	return fmt.Sprintf("schema %d: %s", h.GetSchema(), text)
}

// TestNamesOfStages: those that are alike in short differ.
func TestNamesOfStages(t *testing.T) {
	s := whole()
	s.Stages = []pipe.StageStats{{Name: "map+a+map"}, {Name: "map+b+map"}, {Name: "map"}}
	var names []string
	for _, m := range gather(t, metrics.New(func() stats.Snapshot { return s }, metrics.Labels{}))["headrace_stage_workers"].Metric {
		names = append(names, m.Label[0].GetValue())
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "map map+…+map map+…+map#2" {
		t.Error(got)
	}
}

// TestManyHosts: a list of addresses does not make a series for each.
func TestManyHosts(t *testing.T) {
	s := whole()
	for i := range 1000 {
		s.Hosts = append(s.Hosts, stats.Host{Host: fmt.Sprintf("h%d", i), Requests: int64(i)})
	}
	got := gather(t, metrics.New(func() stats.Snapshot { return s }, metrics.Labels{}))["headrace_store_requests_total"].Metric
	if len(got) != 8 || got[7].Label[0].GetValue() != "h999" {
		t.Errorf("%d hosts: %v", len(got), got)
	}
}

// TestFresh: a server that asks all the time has the statistics read four times a second.
func TestFresh(t *testing.T) {
	reads := 0
	c := metrics.New(func() stats.Snapshot { reads++; return whole() }, metrics.Labels{})
	for range 100 {
		gather(t, c)
	}
	if reads > 20 { // a registry takes a while
		t.Errorf("%d reads", reads)
	}
}

// TestExemplars: a wait that is long is told with its batch.
func TestExemplars(t *testing.T) {
	c := metrics.New(whole, metrics.Labels{Loader: "train"})
	c.Wait(time.Second, 0) // for none
	c.Wait(30*time.Millisecond, 1)
	c.Took(2, 17)
	c.Wait(300*time.Millisecond, 1)
	c.Wait(10*time.Microsecond, 1)
	var all []string
	for _, b := range gather(t, c)["headrace_batch_wait_seconds"].Metric[0].Histogram.Bucket {
		if e := b.Exemplar; e != nil {
			all = append(all, fmt.Sprintf("%v %v", e.GetValue(), e.Label))
		}
	}
	if len(all) != 1 || !strings.HasPrefix(all[0], "0.3 ") || !strings.Contains(all[0], `"17"`) || !strings.Contains(all[0], `"2"`) {
		t.Errorf("%q", all)
	}
}
