package metrics_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/metrics"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// collected are the messages that a receiver was sent.
type collected struct {
	metrics chan *metricsv1.MetricsData
	traces  chan *tracev1.TracesData
}

func collect(t *testing.T) (at string, c collected) {
	t.Helper()
	leak.Check(t)
	c = collected{make(chan *metricsv1.MetricsData, 1000), make(chan *tracev1.TracesData, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/v1/metrics":
			m := new(metricsv1.MetricsData)
			if err := proto.Unmarshal(body, m); err != nil {
				t.Error(err)
			}
			c.metrics <- m
		case "/v1/traces":
			m := new(tracev1.TracesData)
			if err := proto.Unmarshal(body, m); err != nil {
				t.Error(err)
			}
			c.traces <- m
		default:
			t.Error(r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, c
}

// batchesIn are the counts of batches in a message, by the names of loaders.
func batchesIn(m *metricsv1.MetricsData) map[string]float64 {
	all := map[string]float64{}
	for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if one.Name == "headrace.batches" {
			for _, p := range one.GetSum().DataPoints {
				all[p.Attributes[0].Value.GetStringValue()] = p.GetAsDouble()
			}
		}
	}
	return all
}

// TestPush: a loader's counts are sent again and again, and once more at its end.
func TestPush(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
	at, got := collect(t)
	address, err := metrics.ParseAddress("otlp" + strings.TrimPrefix(at, "http") + "?loader=train")
	if err != nil {
		t.Fatal(err)
	}
	fail := func(m string) { t.Error(m) }
	one := metrics.Publish(address, metrics.New(whole, address.Labels), fail)
	if b := batchesIn(<-got.metrics); b["train"] != 10 {
		t.Error(b)
	}
	two := metrics.Publish(address, metrics.New(whole, address.Labels), fail)
	defer two()
	for batchesIn(<-got.metrics)["train-2"] != 10 {
		// The next message has both.
	}
	one()
	one() // again does nothing
	var last map[string]float64
	for len(last) != 1 {
		last = batchesIn(<-got.metrics)
	}
	if last["train-2"] != 10 {
		t.Error(last)
	}
}

// TestLastPush: a loader that ends before its first message sends one.
func TestLastPush(t *testing.T) {
	at, got := collect(t)
	l := metrics.Labels{Loader: "short"}
	metrics.Publish(metrics.Address{Send: at, Labels: l}, metrics.New(whole, l), func(m string) { t.Error(m) })()
	select {
	case m := <-got.metrics:
		if b := batchesIn(m); b["short"] != 10 {
			t.Error(b)
		}
	default:
		t.Error("nothing was sent")
	}
}

// TestPushOfTraces: samples are followed, and their traces sent with the next message.
func TestPushOfTraces(t *testing.T) {
	at, got := collect(t)
	l := metrics.Labels{Loader: "train"}
	c := metrics.New(whole, l)
	asked := make(chan bool, 1)
	c.Trace(func(tell func(stats.Span)) func() {
		step := stats.Span{Key: "a.jpg"}
		step.Stage, step.Source, step.Item, step.Begin = "decode_image+resize+batch", "files", "a", time.Now()
		tell(step)
		step.Stage, step.Kind = "", pipe.HandOver
		tell(step)
		asked <- true
		return func() { asked <- false }
	})
	stop := metrics.Publish(metrics.Address{Send: at, Traces: 60, Labels: l}, c, func(m string) { t.Error(m) })
	if is := <-asked; !is {
		t.Error("it is not asked for spans")
	}
	if is := <-asked; is {
		t.Error("it is asked on and on")
	}
	time.Sleep(50 * time.Millisecond) // until the trace is put with the others
	stop()
	m := <-got.traces
	if root := m.ResourceSpans[0].ScopeSpans[0].Spans[0]; root.Name != "sample" || root.Attributes[0].Value.GetStringValue() != "train" {
		t.Error(root)
	}
}

// TestNobodyReceives: that is said once, and changes nothing.
func TestNobodyReceives(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
	leak.Check(t)
	listen := freePort(t)
	said := make(chan string, 10)
	stop := metrics.Publish(metrics.Address{Send: "http://" + listen}, metrics.New(whole, metrics.Labels{}), func(m string) { said <- m })
	m := <-said
	if !strings.Contains(m, "cannot be sent to http://"+listen+": connection refused; the loader goes on") ||
		!strings.Contains(m, "start a receiver of OTLP over HTTP there") {
		t.Error(m)
	}
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	stop()
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("the end took %v", took)
	}
	if len(said) > 0 {
		t.Errorf("%s, again", <-said)
	}
}

// TestAReceiverThatHangs: the end of a loader waits for it for a second at most.
func TestAReceiverThatHangs(t *testing.T) {
	leak.Check(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stop := metrics.Publish(metrics.Address{Send: "http://" + l.Addr().String()}, metrics.New(whole, metrics.Labels{}), func(string) {})
	began := time.Now()
	stop()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end took %v", took)
	}
}
