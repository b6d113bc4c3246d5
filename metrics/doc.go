// Package metrics tells Prometheus the counts of loaders.
//
//	c := metrics.New(loader.Stats, metrics.Labels{Loader: "train"})
//	prometheus.MustRegister(c)
//
// A [Collector] reads a loader's statistics when it is asked, so a loader that nobody
// asks about costs nothing. Names, types, units and labels are those of [Table], which
// docs/guide/metrics.md shows: they stay. Labels never have keys, paths or addresses, and
// there are at most some forty series, and sixteen for each stage.
//
// [Publish] serves a loader's metrics where an address such as
// prometheus://127.0.0.1:9464 says. All loaders of a user on a machine may have one
// address: the ranks of a training, and their engines. One process has the port and asks
// the others, and another takes it over when that one ends.
//
// To an address such as otlp://127.0.0.1:4318 metrics are sent instead, by OTLP over
// HTTP, and with ?traces=6 traces of six samples a minute: see [Collector.Trace].
//
// # Concurrency
//
// All functions and methods may be called at once.
package metrics
