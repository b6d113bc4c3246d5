package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/metrics"
)

// metricsOptions say where headrace run serves metrics, or sends them.
type metricsOptions struct {
	address string // empty: nowhere
	at      metrics.Address
}

func (o *metricsOptions) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&o.address, "metrics", "", "serve metrics for Prometheus at this `address`, such as "+
		"prometheus://127.0.0.1:9464, or send them to an otlp:// one; without it HEADRACE_METRICS says where")
}

func (o *metricsOptions) parse() (err error) {
	if o.address == "" {
		o.address = os.Getenv("HEADRACE_METRICS")
	}
	if o.address != "" {
		o.at, err = metrics.ParseAddress(o.address)
	}
	return err
}

// publish serves or sends the metrics of a run until the returned function is called.
func (o *metricsOptions) publish(l *headrace.Loader, w *walk) (stop func()) {
	if o.address == "" {
		return func() {}
	}
	c := metrics.New(l.Stats, o.at.Labels)
	c.Trace(l.Spans)
	w.waited = append(w.waited, func(took time.Duration) { c.Wait(took, 1) })
	return metrics.Publish(o.at, c, func(message string) { w.warn("metrics", message) })
}
