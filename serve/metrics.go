package serve

import (
	"strconv"
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
}

// publish serves the loader's metrics until the session ends.
func (s *session) publish(at metrics.Address, c headrace.Config) {
	if c.WorldSize > 1 {
		at.Labels.Rank = strconv.Itoa(c.Rank)
	}
	p := &s.published
	p.collector = metrics.New(s.looped, at.Labels)
	p.collector.Trace(s.loader.Spans)
	p.stop = metrics.Publish(at, p.collector, func(message string) { s.note("metrics", message) })
}

// looped returns the loader's statistics, with the times of the client's loop as far as
// it has told them.
func (s *session) looped() stats.Snapshot {
	now := s.counted(nil)
	s.loop.put(&now)
	return now
}

// took counts a batch that the client took.
func (p *published) took(epoch int, step int64) {
	if p.collector != nil {
		p.collector.Took(epoch, step)
	}
}

// waited counts the client's wait for the batches of a NEXT.
func (p *published) waited(us, batches uint32, each func(time.Duration)) {
	if !p.started {
		p.started = us > 0
		return
	}
	p.untold += time.Duration(us) * time.Microsecond
	if batches == 0 {
		return
	}
	if p.collector != nil {
		p.collector.Wait(p.untold, int(batches))
	}
	each(p.untold / time.Duration(batches))
	p.untold = 0
}

func (p *published) end() {
	if p.stop != nil {
		p.stop()
	}
}
