package worker

import (
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/progress"
)

// A heartbeat is what a worker tells those who watch for stalls.
type heartbeat struct {
	At    atomic.Int64 // the place of what it works on, and one more
	Epoch atomic.Int64 // of that, counted from 0
	known int64        // what epoch is
}

func (p *heartbeat) take(t *progress.Lineage, epoch int) {
	if int64(epoch) != p.known {
		p.known = int64(epoch)
		p.Epoch.Store(p.known)
	}
	at, ok := t.First()
	if !ok {
		at = -1
	}
	p.At.Store(at + 1)
}
