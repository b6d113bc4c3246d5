// Package tune changes the numbers of workers of a loader that runs, as its statistics
// advise, and takes back what does not help.
//
// The advice is arithmetic on measured costs, so a change is made once and is large; it
// is not climbed to. What a change brings is measured, and a stage for which more workers
// did not help is left alone from then on, so that a loader comes to rest. Samples, their
// order and the state are those of a loader that nobody tunes.
package tune

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/stats"
)

// Loader is a loader that runs. Its functions are called by one goroutine.
type Loader struct {
	Stats      func() stats.Snapshot
	SetWorkers func(stage string, workers int) error
	Room       func() int64      // bytes of memory that new workers may take
	Told       func(stats.Tuned) // is told of each change, when it is known what came of it
}

const (
	window  = 3 * time.Second // for a rate; the statistics want two
	longest = time.Minute     // between two looks at a run that has come to rest
	settles = 2 * time.Second // until new workers have begun
	batches = 8               // fewer in a window make no rate
	helps   = 1.05            // less gain is noise
)

// Run tunes a loader until the context ends.
func Run(ctx context.Context, l Loader) {
	refused := map[string]bool{} // stages for which more workers did not help
	for wait := window; ; {
		seen, ok := l.watch(ctx, wait)
		if !ok {
			return
		}
		gain, advised := l.advised(seen, refused)
		if !advised {
			wait = min(2*wait, longest)
			continue
		}
		wait = window
		change, ok := l.try(ctx, seen, gain)
		if !ok {
			return
		}
		refused[change.Stage] = !change.Kept
		if change.After > 0 {
			l.Told(change)
		}
	}
}

// advised returns the first change of workers that is advised, and may be made.
func (l Loader) advised(seen stats.Snapshot, refused map[string]bool) (gain stats.Gain, ok bool) {
	for _, g := range stats.Advice(seen) {
		given := func(f stats.Function) bool { return f.Within == g.Stage && f.Given }
		if g.Change != stats.MoreWorkers || refused[g.Stage] || slices.ContainsFunc(seen.Functions, given) {
			continue
		}
		if g.To = l.affordable(seen, g); g.To > g.From {
			return g, true
		}
	}
	return gain, false
}

// affordable returns the number of workers, of those advised, for which there is memory:
// each takes as much as the largest has of its own.
func (l Loader) affordable(seen stats.Snapshot, g stats.Gain) int {
	each := int64(0)
	works := func(p stats.Process) bool {
		return slices.ContainsFunc(seen.Functions, func(f stats.Function) bool {
			return f.Within == g.Stage && slices.Contains(f.PIDs, p.PID)
		})
	}
	for _, p := range seen.Resources.Processes {
		if works(p) && p.Resident != nil && p.Shared != nil {
			each = max(each, *p.Resident-*p.Shared)
		}
	}
	if each == 0 {
		return g.To
	}
	return min(g.To, g.From+int(l.Room()/each))
}

// try makes a change, and takes it back if it does not help. One that was not made, as
// the stage's workers cannot change, has no rate After; not ok: the context has ended.
func (l Loader) try(ctx context.Context, seen stats.Snapshot, g stats.Gain) (change stats.Tuned, ok bool) {
	before, _ := stats.Rate(seen)
	change = stats.Tuned{Stage: g.Stage, From: g.From, To: g.To, Before: before, Told: g.Rate}
	if err := l.SetWorkers(g.Stage, g.To); err != nil {
		return change, true
	}
	if !sleep(ctx, settles) {
		return change, false
	}
	now, ok := l.watch(ctx, window)
	if !ok {
		return change, false
	}
	change.After, _ = stats.Rate(now)
	change.Kept = change.After >= helps*before || l.SetWorkers(g.Stage, g.From) != nil
	return change, true
}

// watch returns the statistics of so long a time, in which the loop took some batches;
// not ok: the context has ended.
func (l Loader) watch(ctx context.Context, wait time.Duration) (seen stats.Snapshot, ok bool) {
	before := l.Stats()
	for sleep(ctx, wait) {
		now := l.Stats()
		seen, err := now.Since(before)
		if err != nil { // the run has begun again
			before = now
			continue
		}
		if _, rated := stats.Rate(seen); rated && seen.Yielded >= batches {
			return seen, true
		}
	}
	return seen, false
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
