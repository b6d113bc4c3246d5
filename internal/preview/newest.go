package preview

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/live"
)

// Newest draws a sample of the next batch when it is asked for, and costs nothing at
// other times.
type Newest struct {
	wanted atomic.Pointer[chan Row] // nil: nobody asks
	info   headrace.Info
	artist func() *Artist
}

// NewestOf returns that of a loader.
func NewestOf(l *headrace.Loader) *Newest {
	return &Newest{info: l.Info(), artist: sync.OnceValue(func() *Artist { return ArtistOf(l) })}
}

// See takes the next batch. If a sample is asked for, it copies one.
func (n *Newest) See(b *headrace.Batch) {
	if n.wanted.Load() == nil {
		return
	}
	if to := n.wanted.Swap(nil); to != nil {
		*to <- RowOf(b, n.info) // has a place for it
	}
}

// Next draws a sample of the next batch. One asks at a time.
func (n *Newest) Next(ctx context.Context) (live.Sample, error) {
	to := make(chan Row, 1)
	n.wanted.Store(&to)
	select {
	case row := <-to:
		return n.artist().Draw(row), nil
	case <-ctx.Done():
		n.wanted.CompareAndSwap(&to, nil)
		return live.Sample{}, ctx.Err()
	}
}
