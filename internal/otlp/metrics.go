package otlp

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Name returns the name and the unit that OpenTelemetry has for a series of Prometheus:
// with dots, and without _total. Prometheus makes of them the name that it was.
func Name(series string) (name, unit string) {
	name = strings.ReplaceAll(strings.TrimSuffix(series, "_total"), "_", ".")
	switch {
	case strings.HasSuffix(name, ".seconds"):
		unit = "s"
	case strings.HasSuffix(name, ".bytes"):
		unit = "By"
	}
	return name, unit
}

// metricsOf returns families as OTLP has them. Histograms have their fixed buckets.
func metricsOf(families []*dto.MetricFamily, began, now time.Time) (all []*metricsv1.Metric) {
	const cumulative = metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	from, at := nanos(began), nanos(now)

	for _, f := range families {
		m := &metricsv1.Metric{Description: f.GetHelp()}
		m.Name, m.Unit = Name(f.GetName())
		switch f.GetType() {
		case dto.MetricType_COUNTER:
			sum := &metricsv1.Sum{AggregationTemporality: cumulative, IsMonotonic: true}
			for _, one := range f.Metric {
				sum.DataPoints = append(sum.DataPoints, number(one, one.GetCounter().GetValue(), from, at))
			}
			m.Data = &metricsv1.Metric_Sum{Sum: sum}
		case dto.MetricType_GAUGE:
			gauge := new(metricsv1.Gauge)
			for _, one := range f.Metric {
				gauge.DataPoints = append(gauge.DataPoints, number(one, one.GetGauge().GetValue(), 0, at))
			}
			m.Data = &metricsv1.Metric_Gauge{Gauge: gauge}
		case dto.MetricType_HISTOGRAM:
			histogram := &metricsv1.Histogram{AggregationTemporality: cumulative}
			for _, one := range f.Metric {
				histogram.DataPoints = append(histogram.DataPoints, distribution(one, from, at))
			}
			m.Data = &metricsv1.Metric_Histogram{Histogram: histogram}
		default:
			continue // there is no other in the table
		}
		all = append(all, m)
	}
	return all
}

func number(m *dto.Metric, value float64, from, at uint64) *metricsv1.NumberDataPoint {
	return &metricsv1.NumberDataPoint{
		Attributes: labels(m), StartTimeUnixNano: from, TimeUnixNano: at, Value: &metricsv1.NumberDataPoint_AsDouble{AsDouble: value},
	}
}

// distribution returns a histogram: a bucket of Prometheus counts all values below its
// bound, one of OTLP those between two bounds.
func distribution(m *dto.Metric, from, at uint64) *metricsv1.HistogramDataPoint {
	h := m.GetHistogram()
	p := &metricsv1.HistogramDataPoint{
		Attributes: labels(m), StartTimeUnixNano: from, TimeUnixNano: at, Count: h.GetSampleCount(), Sum: h.SampleSum,
	}
	var below uint64
	for _, b := range h.Bucket {
		if e := b.GetExemplar(); e != nil {
			p.Exemplars = append(p.Exemplars, exemplar(e))
		}
		if math.IsInf(b.GetUpperBound(), 1) {
			continue // which OTLP does not name
		}
		p.ExplicitBounds = append(p.ExplicitBounds, b.GetUpperBound())
		p.BucketCounts = append(p.BucketCounts, b.GetCumulativeCount()-below)
		below = b.GetCumulativeCount()
	}
	p.BucketCounts = append(p.BucketCounts, p.Count-below)
	return p
}

func exemplar(e *dto.Exemplar) *metricsv1.Exemplar {
	one := &metricsv1.Exemplar{
		TimeUnixNano: nanos(e.GetTimestamp().AsTime()), Value: &metricsv1.Exemplar_AsDouble{AsDouble: e.GetValue()},
	}
	for _, l := range e.Label {
		one.FilteredAttributes = append(one.FilteredAttributes, text(l.GetName(), l.GetValue()))
	}
	return one
}

func labels(m *dto.Metric) (all []*commonv1.KeyValue) {
	for _, l := range m.Label {
		all = append(all, text(l.GetName(), l.GetValue()))
	}
	return all
}

// texts are attributes in the order of their names.
func texts(of map[string]string) (all []*commonv1.KeyValue) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, text(name, of[name]))
	}
	return all
}

func text(name, value string) *commonv1.KeyValue {
	name, value = strings.ToValidUTF8(name, "\uFFFD"), strings.ToValidUTF8(value, "\uFFFD") // or no message can be made
	return &commonv1.KeyValue{Key: name, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}}
}

func whole(name string, value int64) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: name, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: value}}}
}

func nanos(t time.Time) uint64 { return uint64(t.UnixNano()) }
