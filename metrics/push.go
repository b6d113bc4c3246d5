package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headrace/headrace/internal/otlp"
	"github.com/headrace/headrace/pipe"
)

// push sends to a receiver of OTLP. Counts are of all time, so the next message makes up
// for one that does not arrive, and only traces wait.
type push struct {
	to    otlp.Receiver
	wake  chan chan struct{} // asks for a message now, and hears when it was sent
	began time.Time

	mu      sync.Mutex
	traces  map[*otlp.Traces]bool // of loaders; guarded by mu
	failing bool                  // guarded by mu: the last message did not arrive
}

const (
	mostToSend = 10 * time.Second // for a receiver to answer
	mostAtLast = time.Second      // likewise, while a loader ends
)

func newPush(to string) *push {
	receiver, err := otlp.Find(to)
	if err != nil {
		// The environment was read once already, when the address was.
		slog.Warn("OpenTelemetry's variables are not used", "error", err)
		receiver = otlp.Receiver{URL: to, Every: time.Minute}
	}
	return &push{to: receiver, wake: make(chan chan struct{}), began: time.Now(), traces: map[*otlp.Traces]bool{}}
}

// send sends again and again, until ctx ends.
func (p *place) send(ctx context.Context) {
	sender := otlp.NewSender(p.push.to)
	defer sender.Close()
	ticks := time.NewTicker(p.push.to.Every)
	defer ticks.Stop()
	told := false
	for {
		var done chan struct{}
		limit := mostToSend
		select {
		case <-ctx.Done():
			return
		case done = <-p.push.wake:
			limit = mostAtLast
		case <-ticks.C:
		}

		err := p.sendOnce(ctx, sender, limit)
		p.push.mu.Lock()
		p.push.failing = err != nil
		p.push.mu.Unlock()

		// Once: a collector may be down for as long as the run.
		if err != nil && !told && ctx.Err() == nil {
			p.warn(fmt.Sprintf("metrics cannot be sent to %s: %v; the loader goes on, and it is tried again every %v: "+
				"start a receiver of OTLP over HTTP there, or choose another in metrics=", p.push.to.URL, cause(err), p.push.to.Every))
			told = true
		}
		if done != nil {
			close(done)
		}
	}
}

// cause returns the system's own error, or else the error without the address that the
// sentence has already.
func cause(err error) error {
	if is := reason(err); is != err {
		return is
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer came in time")
	}
	return err
}

func (p *place) sendOnce(ctx context.Context, to *otlp.Sender, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p.push.mu.Lock()
	var traces []*otlp.Traces
	for t := range p.push.traces {
		traces = append(traces, t)
	}
	p.push.mu.Unlock()

	families, err := p.ofThis().Gather()
	if err == nil {
		err = to.Metrics(ctx, families, p.push.began)
	}
	for _, t := range traces {
		err = errors.Join(err, t.Send(ctx, to))
	}
	return err
}

// sendLast sends the counts of a loader at its end. If the last message did not arrive,
// there is no wait for this one.
func (p *place) sendLast(c *counts) {
	if p.push == nil {
		return
	}
	c.forget()
	p.push.mu.Lock()
	failing := p.push.failing
	p.push.mu.Unlock()
	if failing {
		return
	}
	done, late := make(chan struct{}), time.After(mostAtLast)
	select {
	case p.push.wake <- done:
	case <-late:
		return // a message is on its way, and gets no answer
	}
	select {
	case <-done:
	case <-late:
	}
}

// trace sends so many traces of a loader's samples in a minute, until stop is called.
func (p *place) trace(aMinute int, c *counts, labels prometheus.Labels) (stop func()) {
	if p.push == nil || aMinute == 0 || c.spans == nil {
		return func() {}
	}
	p.push.mu.Lock()
	p.push.traces[&c.sent] = true
	p.push.mu.Unlock()

	ctx, end := context.WithCancel(context.Background())
	var followed sync.WaitGroup
	followed.Go(func() {
		loader := otlp.Loader{Spans: c.spans, Stages: func() []pipe.StageStats { return c.read().Stages }, Labels: labels}
		every := time.NewTicker(time.Minute / time.Duration(aMinute))
		defer every.Stop()
		for ctx.Err() == nil {
			if spans := otlp.Follow(ctx, loader); spans != nil {
				c.sent.Add(spans)
			}
			select {
			case <-every.C:
			case <-ctx.Done():
			}
		}
	})
	return func() {
		end()
		followed.Wait()
	}
}

// forget has no more traces of a loader sent.
func (p *place) forget(c *counts) {
	if p.push != nil {
		p.push.mu.Lock()
		defer p.push.mu.Unlock()
		delete(p.push.traces, &c.sent)
	}
}
