package metrics_test

import (
	"testing"

	"github.com/prometheus/otlptranslator"

	"github.com/headrace/headrace/metrics"
)

// TestNamesOfOpenTelemetry: Prometheus's server makes its own names of those of OTLP, and
// no two are the same.
func TestNamesOfOpenTelemetry(t *testing.T) {
	types := map[string]otlptranslator.MetricType{
		"counter": otlptranslator.MetricTypeMonotonicCounter, "gauge": otlptranslator.MetricTypeGauge,
		"histogram": otlptranslator.MetricTypeHistogram,
	}
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	known := map[string]bool{}
	for _, s := range metrics.Table() {
		name, unit := s.OTLP()
		back, err := namer.Build(otlptranslator.Metric{Name: name, Unit: unit, Type: types[s.Type]})
		if err != nil || back != s.Name || known[name] {
			t.Errorf("%s is %s in %q, and then %s, %v", s.Name, name, unit, back, err)
		}
		known[name] = true
	}
}
