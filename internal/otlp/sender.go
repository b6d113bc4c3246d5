package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	dto "github.com/prometheus/client_model/go"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/internal/version"
)

// Sender sends messages to a receiver.
type Sender struct {
	to       Receiver
	client   http.Client
	resource *resourcev1.Resource
	scope    *commonv1.InstrumentationScope
}

const serviceName = "service.name"

// NewSender returns a sender. Nothing is sent yet.
func NewSender(to Receiver) *Sender {
	host, _ := os.Hostname()
	attributes := map[string]string{
		serviceName: "headrace", "service.instance.id": fmt.Sprintf("%s:%d", host, os.Getpid()), "host.name": host,
	}
	for name, value := range to.Attributes {
		attributes[name] = value
	}
	return &Sender{
		to: to,
		// Not the transport that all share: its connections would stay after Close.
		client:   http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
		resource: &resourcev1.Resource{Attributes: texts(attributes)},
		scope:    &commonv1.InstrumentationScope{Name: "headrace", Version: version.Version},
	}
}

// Close closes the connection.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Metrics sends families, whose counters began at a time.
func (s *Sender) Metrics(ctx context.Context, families []*dto.MetricFamily, began time.Time) error {
	scope := &metricsv1.ScopeMetrics{Scope: s.scope, Metrics: metricsOf(families, began, time.Now())}
	return s.post(ctx, "/v1/metrics", &metricsv1.MetricsData{
		ResourceMetrics: []*metricsv1.ResourceMetrics{{Resource: s.resource, ScopeMetrics: []*metricsv1.ScopeMetrics{scope}}},
	})
}

// Traces sends spans.
func (s *Sender) Traces(ctx context.Context, spans []*tracev1.Span) error {
	scope := &tracev1.ScopeSpans{Scope: s.scope, Spans: spans}
	return s.post(ctx, "/v1/traces", &tracev1.TracesData{
		ResourceSpans: []*tracev1.ResourceSpans{{Resource: s.resource, ScopeSpans: []*tracev1.ScopeSpans{scope}}},
	})
}

// mostAnswer bounds the bytes that are read of an answer: it is empty, or an error.
const mostAnswer = 4 << 10

// post sends a message. These are on the wire as requests of the services for metrics and
// traces are: their package links gRPC.
func (s *Sender) post(ctx context.Context, path string, message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.to.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range s.to.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")

	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s: %s", path, answer.Status, printable(text))
	}
	return rejected(path, text)
}

// rejected returns an error if the answer says that the receiver has refused a part of
// the message: its field 1 has the number in its field 1, and the reason in field 2.
func rejected(path string, answer []byte) error {
	var n uint64
	var why string
	field(answer, 1, func(_ uint64, partial []byte) {
		field(partial, 1, func(number uint64, _ []byte) { n = number })
		field(partial, 2, func(_ uint64, text []byte) { why = printable(text) })
	})
	if n == 0 {
		return nil // with a reason it is a warning, which is for the receiver's operator
	}
	return fmt.Errorf("%s: the receiver refuses %d of what it was sent: %s", path, n, why)
}

// field calls found for each field of a message with that number.
func field(message []byte, number protowire.Number, found func(n uint64, bytes []byte)) {
	for len(message) > 0 {
		is, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return // it is no message
		}
		size := protowire.ConsumeFieldValue(is, kind, message[tag:])
		if size < 0 {
			return
		}
		value := message[tag : tag+size]
		message = message[tag+size:]
		switch {
		case is != number:
		case kind == protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			found(n, nil)
		case kind == protowire.BytesType:
			text, _ := protowire.ConsumeBytes(value)
			found(0, text)
		}
	}
}

const mostReason = 200 // bytes of an answer in an error

// printable returns the letters of an answer, which may be a message of protobuf.
func printable(answer []byte) string {
	text := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, string(answer[:min(len(answer), mostReason)]))
	return strings.Join(strings.Fields(text), " ")
}
