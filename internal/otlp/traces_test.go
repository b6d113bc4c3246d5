package otlp_test

import (
	"fmt"
	"testing"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/internal/otlp"
)

// TestTraces: traces that a receiver does not take wait, up to a bound, and those that
// are dropped are counted.
func TestTraces(t *testing.T) {
	var traces otlp.Traces
	r := &receiver{status: 503}
	s := r.at(t)
	if err := traces.Send(t.Context(), s); err != nil || r.path != "" {
		t.Errorf("nothing was sent: %v", err)
	}
	add := func(n int) {
		for i := range n {
			traces.Add([]*tracev1.Span{{Name: fmt.Sprint(i)}, {Name: "step"}})
		}
	}
	add(60)
	if err := traces.Send(t.Context(), s); err == nil {
		t.Error("no error")
	}
	add(10)
	if sent, dropped := traces.Counts(); sent != 0 || dropped != 6 {
		t.Errorf("sent %d, dropped %d", sent, dropped)
	}

	r.status = 200
	if err := traces.Send(t.Context(), s); err != nil {
		t.Error(err)
	}
	var told tracev1.TracesData
	if err := proto.Unmarshal(r.body, &told); err != nil {
		t.Fatal(err)
	}
	spans := told.ResourceSpans[0].ScopeSpans[0].Spans
	if sent, dropped := traces.Counts(); sent != 64 || dropped != 6 || r.path != "/v1/traces" || len(spans) != 128 || spans[0].Name != "6" {
		t.Errorf("sent %d, dropped %d, to %s, %d spans, first %s", sent, dropped, r.path, len(spans), spans[0].Name)
	}
}
