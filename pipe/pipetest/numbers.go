package pipetest

import (
	"context"
	"iter"
	"runtime"
	"time"
)

// Numbers is a source of the ints 0 … N-1, the same in every epoch.
type Numbers struct {
	N       int                                // negative: without end
	Every   time.Duration                      // what each costs; 0: nothing
	Fail    func(epoch int, pos int64) error   // the failure of a position; nil: none. It may panic
	Pulled  func(epoch int, pos int64)         // told before an item is yielded; may be nil
	Stopped func(epoch int, pos int64)         // told once when an epoch's sequence ends, with the position after the last
	Value   func(epoch int, pos int64) (v int) // nil: the position
}

// Items implements pipe.Source.
func (n Numbers) Items(ctx context.Context, epoch int, pos int64) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		if n.Stopped != nil {
			defer func() { n.Stopped(epoch, pos) }()
		}
		for ; n.N < 0 || pos < int64(n.N); pos++ {
			if n.Every > 0 && Sleep(ctx, n.Every) != nil {
				return
			}
			if !yield(n.item(epoch, pos)) {
				return
			}
		}
	}
}

func (n Numbers) item(epoch int, pos int64) (int, error) {
	if n.Pulled != nil {
		n.Pulled(epoch, pos)
	}
	if n.Fail != nil {
		if err := n.Fail(epoch, pos); err != nil {
			return 0, err
		}
	}
	if n.Value != nil {
		return n.Value(epoch, pos), nil
	}
	return int(pos), nil
}

// Sleep waits, or returns why it stopped waiting.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		// No timer: in a bubble of synctest, one that is over at once is run by whoever
		// asks, and two who do so at a time crash the race detector (Go 1.26).
		runtime.Gosched()
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
