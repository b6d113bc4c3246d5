package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headrace/headrace/internal/loopback"
	"github.com/headrace/headrace/internal/node"
)

// Publish serves a collector at an address, or sends its metrics there, until stop is
// called. Warn hears, once, if another program has the port or no receiver answers: all
// goes on, and it is tried again.
func Publish(a Address, c *Collector, warn func(message string)) (stop func()) {
	places.mu.Lock()
	defer places.mu.Unlock()
	at := a.Listen + a.Send
	p := places.at[at]
	if p == nil {
		p = openPlace(a, warn)
		places.at[at] = p
	}
	registry, labels := prometheus.NewRegistry(), p.unlike(c.labels)
	registry.MustRegister(&Collector{c.counts, labels})
	name := fmt.Sprint(labels)
	p.set(name, registry)
	untrace := p.trace(a.Traces, c.counts, labels)

	return sync.OnceFunc(func() {
		untrace()
		p.sendLast(c.counts)
		p.forget(c.counts)
		places.mu.Lock()
		defer places.mu.Unlock()
		if p.set(name, nil) == 0 {
			delete(places.at, at)
			p.close()
		}
	})
}

// places are the addresses at which this process serves, or to which it sends.
var places = struct {
	mu sync.Mutex
	at map[string]*place
}{at: map[string]*place{}}

// place serves or sends the metrics of this process at an address.
type place struct {
	listen string
	circle *node.Circle // nil: this process is alone
	push   *push        // nil: it is asked
	warn   func(string)

	mu      sync.Mutex
	loaders map[string]*prometheus.Registry // by their labels; guarded by mu

	end    context.CancelFunc
	served sync.WaitGroup
}

func openPlace(a Address, warn func(string)) *place {
	ctx, end := context.WithCancel(context.Background())
	p := &place{listen: a.Listen, loaders: map[string]*prometheus.Registry{}, warn: warn, end: end}
	if a.Send != "" {
		p.push = newPush(a.Send)
		p.served.Go(func() { p.send(ctx) })
		return p
	}
	if err := p.join(ctx); err != nil {
		slog.Debug("these metrics are served without those of other processes", "error", err)
	}
	p.served.Go(func() { p.speak(ctx) })
	return p
}

// join has the others of the machine ask this process.
func (p *place) join(ctx context.Context) error {
	circle, err := node.Join("metrics " + p.listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", circle.Socket())
	if err != nil {
		circle.Close()
		return err
	}
	p.circle = circle
	p.served.Go(func() { p.serve(ctx, l, p.ofThis()) })
	return nil
}

func (p *place) close() {
	p.end()
	p.served.Wait()
	if p.circle != nil {
		p.circle.Close()
	}
}

// again is the time between two tries to have the port.
const again = time.Second

// speak serves the port as soon as this process is the one that is asked for all of the
// machine, and the port is free.
func (p *place) speak(ctx context.Context) {
	told := false
	for ctx.Err() == nil {
		if p.circle == nil || p.circle.IsAsked() {
			listener, err := net.Listen("tcp", p.listen)
			if err == nil {
				p.serve(ctx, listener, p.ofAll())
				continue
			}
			if !told {
				p.warn(fmt.Sprintf("metrics cannot be served at %s: %v; the loader goes on, and it is tried again every second: "+
					"free the port, or choose another in metrics=", p.listen, reason(err)))
				told = true
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// reason returns the system's own error, without the address.
func reason(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}

// serve answers at a listener until ctx ends.
func (p *place) serve(ctx context.Context, l net.Listener, from prometheus.Gatherer) {
	s := &http.Server{
		Handler: handler(from, l.Addr().Network() == "tcp" && loopback.Is(p.listen)), ReadHeaderTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 14,
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	s.Serve(l)
}

// set adds a loader, or, with nil, takes it away. It returns how many there are.
func (p *place) set(name string, r *prometheus.Registry) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaders[name] = r
	if r == nil {
		delete(p.loaders, name)
	}
	return len(p.loaders)
}

// unlike gives a collector another name if one of this process has its labels.
func (p *place) unlike(labels prometheus.Labels) prometheus.Labels {
	own := maps.Clone(labels)
	for n := 1; ; n++ {
		switch {
		case labels["loader"] == "":
			own["loader"] = strconv.Itoa(n)
		case n > 1:
			own["loader"] = fmt.Sprintf("%s-%d", labels["loader"], n)
		}
		if p.loaders[fmt.Sprint(own)] == nil {
			return own
		}
	}
}
