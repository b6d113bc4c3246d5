package headrace

import (
	"context"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/tune"
	"github.com/headrace/headrace/stats"
)

// tuned are the changes of its workers that a loader makes by itself.
type tuned struct {
	mu      sync.Mutex
	changes []stats.Tuned // guarded by mu

	begin sync.Once
	end   func() // and waits for it; nil: nothing has begun
}

// tune begins to tune the loader, with the first batch that is asked for.
func (l *Loader) tune() {
	if !l.config.Tune || l.options.trial != nil {
		return
	}
	l.tuned.begin.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			tune.Run(ctx, tune.Loader{Stats: l.looped, SetWorkers: l.SetWorkers, Room: l.room, Told: l.tuned.add})
		})
		l.tuned.end = func() {
			cancel()
			running.Wait()
		}
	})
}

// looped are the statistics with the consumer's own clock, if it has one.
func (l *Loader) looped() stats.Snapshot {
	if l.options.Looped != nil {
		return l.options.Looped()
	}
	return l.Stats()
}

// room is a quarter of the memory that is available, divided among the machine's ranks.
func (l *Loader) room() int64 {
	return machine.Here().Memory / 4 / int64(max(1, l.config.LocalWorldSize))
}

func (t *tuned) add(change stats.Tuned) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes = append(t.changes, change)
}

// all returns the changes so far.
func (t *tuned) all() []stats.Tuned {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.changes)
}

// stop ends the tuning.
func (t *tuned) stop() {
	t.begin.Do(func() {}) // and nothing begins any more
	if t.end != nil {
		t.end()
	}
}
