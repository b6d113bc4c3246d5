package metrics

import (
	"math"
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/headrace/headrace/pipe/observe"
)

// durations is a stage's histogram, in buckets of a fixed list and in Prometheus's
// native ones. The engine's are 16 to a power of two: a count goes to the bucket of its
// longest time.
type durations struct {
	desc  *prometheus.Desc
	stage string
	times []observe.Bucket
}

// Durations of operations, from those on a number to those on a film.
var durationBuckets = []float64{1e-6, 1e-5, 1e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60}

// schema is the resolution of native buckets: eight to a power of two.
const schema = 3

// shortest is the width of the native bucket of those that took no time.
const shortest = 1e-9

func (d durations) Desc() *prometheus.Desc { return d.desc }

func (d durations) Write(m *dto.Metric) error {
	var count, zero uint64
	var sum float64
	classic := map[float64]uint64{}
	native := map[int]int64{}
	for _, b := range d.times {
		n, seconds := uint64(b.Count), b.UpTo.Seconds()
		count += n
		sum += float64(b.Count) * middle(b.UpTo).Seconds()
		if i := sort.SearchFloat64s(durationBuckets, seconds); i < len(durationBuckets) {
			classic[durationBuckets[i]] += n
		}
		if seconds <= shortest {
			zero += n
		} else {
			native[nativeBucket(seconds)] += b.Count
		}
	}

	var below uint64
	for _, upper := range durationBuckets {
		below += classic[upper]
		classic[upper] = below
	}
	both, err := prometheus.NewConstNativeHistogram(d.desc, count, sum, native, nil, zero, schema, shortest, time.Time{}, d.stage)
	if err != nil {
		return err
	}
	if err := both.Write(m); err != nil {
		return err
	}
	var plain dto.Metric
	if err := prometheus.MustNewConstHistogram(d.desc, count, sum, classic, d.stage).Write(&plain); err != nil {
		return err
	}
	m.Histogram.Bucket = plain.Histogram.Bucket
	return nil
}

// middle is the time that those of a bucket took on average.
func middle(upTo time.Duration) time.Duration { return upTo - upTo/32 }

// nativeBucket is the number of the bucket that has a value: its upper bound is
// 2^(number/8).
func nativeBucket(value float64) int { return int(math.Ceil(math.Log2(value) * (1 << schema))) }
