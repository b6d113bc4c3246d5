// Package otlp sends metrics and traces to a receiver of OTLP over HTTP, such as a
// collector of OpenTelemetry.
//
//	receiver, err := otlp.Find("")        // of OTEL_EXPORTER_OTLP_ENDPOINT
//	s := otlp.NewSender(receiver)
//	err = s.Metrics(ctx, families, began) // what a registry of Prometheus has gathered
//
// Its messages are those of go.opentelemetry.io/proto/otlp. OpenTelemetry's SDK is not
// used: counts are kept by the engine, and the SDK's exporters link gRPC.
//
// # Concurrency
//
// A Sender is used by one goroutine at a time. The methods of [Samples] and [Traces] may
// be called at once.
package otlp
