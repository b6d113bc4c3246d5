package serve

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/metrics"
	"github.com/headrace/headrace/stats"
)

// published are the metrics of a session.
type published struct {
	collector *metrics.Collector
	stop      func()
	untold    time.Duration // of waits for batches that are not taken yet
	started   bool          // the wait for the first batch, which is counted apart, is over
	taken     atomic.Int64  // batches
}

// publish serves the loader's metrics until the session ends.
func (s *session) publish(at metrics.Address, c headrace.Config) {
	if c.WorldSize > 1 {
		at.Labels.Rank = strconv.Itoa(c.Rank)
	}
	p := &s.published
	p.collector = metrics.New(func() stats.Snapshot {
		now := s.counted(nil)
		now.Yielded = p.taken.Load() // what was sent beyond that waits there
		return now
	}, at.Labels)
	p.stop = metrics.Publish(at, p.collector, func(message string) { s.note("metrics", message) })
}

// waited counts the client's wait for the batches of a NEXT.
func (p *published) waited(us, batches uint32) {
	if p.collector == nil {
		return
	}
	p.taken.Add(int64(batches))
	if !p.started {
		p.started = us > 0
		return
	}
	p.untold += time.Duration(us) * time.Microsecond
	if batches > 0 {
		p.collector.Wait(p.untold, int(batches))
		p.untold = 0
	}
}

func (p *published) end() {
	if p.stop != nil {
		p.stop()
	}
}
