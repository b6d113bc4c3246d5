package otlp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/otlp"
)

// receiver answers all that is posted, and notes it.
type receiver struct {
	status  int
	answer  []byte
	path    string
	headers http.Header
	body    []byte
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.path, r.headers = q.URL.Path, q.Header
	r.body, _ = io.ReadAll(q.Body)
	w.WriteHeader(r.status)
	w.Write(r.answer)
}

func (r *receiver) at(t *testing.T) *otlp.Sender {
	t.Helper()
	leak.Check(t)
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	to, err := otlp.Find(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := otlp.NewSender(to)
	t.Cleanup(s.Close)
	return s
}

// registry has a metric of each kind.
func registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "headrace_stage_seconds_total", Help: "Time."}, []string{"stage"})
	c.WithLabelValues("read").Add(1.5)
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "headrace_memory_bytes"})
	g.Set(7)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "headrace_batch_wait_seconds", Buckets: []float64{0.1, 1}, NativeHistogramBucketFactor: 1.1,
	})
	for _, v := range []float64{0.05, 0.06, 0.5, 3} {
		h.(prometheus.ExemplarObserver).ObserveWithExemplar(v, prometheus.Labels{"batch": "3"})
	}
	r.MustRegister(c, g, h)
	return r
}

func TestMetrics(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x, a=b")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment=test%2Cone%FF")
	t.Setenv("OTEL_SERVICE_NAME", "night")
	r := &receiver{status: 200}
	s := r.at(t)
	families, _ := registry().Gather()
	began := time.Now().Add(-time.Minute)
	if err := s.Metrics(t.Context(), families, began); err != nil {
		t.Fatal(err)
	}
	if r.path != "/v1/metrics" || r.headers.Get("Authorization") != "Bearer x" || r.headers.Get("A") != "b" ||
		r.headers.Get("Content-Type") != "application/x-protobuf" {
		t.Error(r.path, r.headers)
	}

	var told metricsv1.MetricsData
	if err := proto.Unmarshal(r.body, &told); err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, a := range told.ResourceMetrics[0].Resource.Attributes {
		of[a.Key] = a.Value.GetStringValue()
	}
	if of["service.name"] != "night" || of["deployment"] != "test,one\uFFFD" || of["service.instance.id"] == "" {
		t.Error(of)
	}

	all := map[string]*metricsv1.Metric{}
	for _, m := range told.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		all[m.Name] = m
	}
	sum := all["headrace.stage.seconds"]
	if p := sum.GetSum().GetDataPoints(); sum.GetUnit() != "s" || sum.GetDescription() != "Time." || !sum.GetSum().GetIsMonotonic() ||
		sum.GetSum().GetAggregationTemporality() != metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE ||
		p[0].GetAsDouble() != 1.5 || p[0].StartTimeUnixNano != uint64(began.UnixNano()) || p[0].TimeUnixNano <= p[0].StartTimeUnixNano ||
		p[0].Attributes[0].Key != "stage" || p[0].Attributes[0].Value.GetStringValue() != "read" {
		t.Error(sum)
	}
	if gauge := all["headrace.memory.bytes"]; gauge.GetUnit() != "By" || gauge.GetGauge().GetDataPoints()[0].GetAsDouble() != 7 {
		t.Error(gauge)
	}
	h := all["headrace.batch.wait.seconds"].GetHistogram().GetDataPoints()[0]
	if counts := h.BucketCounts; len(h.ExplicitBounds) != 2 || len(counts) != 3 || counts[0] != 2 || counts[1] != 1 || counts[2] != 1 ||
		h.Count != 4 || h.GetSum() != 3.61 {
		t.Error(h)
	}
	if e := h.Exemplars; len(e) != 3 || e[1].GetAsDouble() != 0.5 || e[1].FilteredAttributes[0].Value.GetStringValue() != "3" {
		t.Error(e)
	}
}

// TestRefusals: an error has the receiver's words.
func TestRefusals(t *testing.T) {
	partial := protowire.AppendTag(nil, 1, protowire.VarintType)
	partial = protowire.AppendVarint(partial, 3)
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, "too old")
	answer := protowire.AppendTag(nil, 1, protowire.BytesType)
	answer = protowire.AppendBytes(answer, partial)

	for name, c := range map[string]struct {
		status int
		answer string
		want   string // "": no error
	}{
		"none":      {200, "", ""},
		"empty":     {200, string(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil)), ""},
		"other":     {200, `{"partialSuccess":{}}`, ""},
		"part":      {200, string(answer), "the receiver refuses 3 of what it was sent: too old"},
		"status":    {404, "\x08\x05\x12\x09not found\n\xff", "/v1/metrics answers 404 Not Found: not found"},
		"long":      {503, strings.Repeat("x", 1<<20), "503 Service Unavailable: " + strings.Repeat("x", 200)},
		"cut":       {200, string(answer[:3]), ""},
		"forbidden": {401, "", "401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &receiver{status: c.status, answer: []byte(c.answer)}
			err := r.at(t).Metrics(t.Context(), nil, time.Now())
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || len(err.Error()) > 300) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
