package metrics

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/headrace/headrace/internal/loopback"
	"github.com/headrace/headrace/internal/node"
)

// handler answers at /metrics, and at /healthz and /readyz for probes. It does not speak
// OpenMetrics, where types and help of counters are told for names without _total. On the
// loopback interface the name that was asked for must be this machine's, or a web page
// could have a browser ask.
func handler(from prometheus.Gatherer, local bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 8, Timeout: 5 * time.Second,
	}))
	mux.Handle("GET /healthz", probe{from, isStalled})
	mux.Handle("GET /readyz", probe{from, isNotReady})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local && !loopback.Is(r.Host) {
			http.Error(w, "ask for 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// ofAll gathers from this process and the others of the machine.
func (p *place) ofAll() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all := newGathered()
		own, err := p.ofThis().Gather()
		if all.add(own); err != nil || p.circle == nil {
			return all.list(), err
		}

		others := p.circle.Others()
		told := make([][]*dto.MetricFamily, len(others))
		var asking sync.WaitGroup
		for i, path := range others {
			asking.Go(func() { told[i] = ask(p.circle, path) })
		}
		asking.Wait()
		for _, of := range told {
			all.add(of)
		}
		return all.list(), nil
	})
}

// ofThis gathers from this process. Each loader has a registry of its own, as some have
// labels that others lack.
func (p *place) ofThis() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		p.mu.Lock()
		registries := slices.Collect(maps.Values(p.loaders))
		p.mu.Unlock()

		all := newGathered()
		var wrong []error
		for _, r := range registries {
			families, err := r.Gather()
			all.add(families)
			wrong = append(wrong, err)
		}
		return all.list(), errors.Join(wrong...)
	})
}

// patience bounds the wait for another process: one that stands still must not hide the
// others.
const patience = 2 * time.Second

// mostAnswer bounds an answer of another process, which is some 10 KB for each loader.
const mostAnswer = 16 << 20

// ask gathers from another process; none if it does not answer.
func ask(c *node.Circle, path string) (all []*dto.MetricFamily) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/metrics", nil)
	if err != nil {
		return nil
	}
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	request.Header.Set("Accept", string(format))
	answer, err := client.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		c.Forget(path)
	}
	if err != nil {
		return nil
	}
	defer answer.Body.Close()

	from := expfmt.NewDecoder(io.LimitReader(answer.Body, mostAnswer), format)
	for {
		f := new(dto.MetricFamily)
		if err := from.Decode(f); err != nil {
			return all // those that came whole
		}
		all = append(all, f)
	}
}
