package tune_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/tune"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

const stage = "map(f)"

// run is a loader in which each sample waits so long in a function of some workers, and
// whose rate has a limit that no worker lifts. It counts as a real one does.
type run struct {
	wait    time.Duration
	limit   float64
	room    int64   // bytes for workers; 0: a gigabyte
	noise   float64 // of the rate, between two looks
	workers int
	fixed   bool // the stage's workers cannot change

	rand    *rand.Rand
	counted stats.Snapshot
	at      time.Time
	told    []stats.Tuned
	set     []int
}

func newRun(r run) *run {
	r.rand, r.at = rand.New(rand.NewPCG(1, 2)), time.Now()
	r.counted = stats.Snapshot{
		Stats: pipe.Stats{Stages: []pipe.StageStats{
			{Name: "source", Kind: "source", Workers: 1}, {Name: stage, Kind: "map"}, {Name: "batch", Kind: "fill", Workers: 2},
		}},
		Resources: stats.Resources{Cores: 2, Processes: []stats.Process{{Name: "engine"},
			{Name: "f", PID: 7, Resident: new(int64(30 << 20)), Shared: new(int64(10 << 20))}}},
		Functions: []stats.Function{{Stage: "f", Within: stage, PIDs: []int{7}}},
	}
	return &r
}

// stats counts what has come since the last look.
func (r *run) stats() stats.Snapshot {
	took := time.Since(r.at)
	r.at = r.at.Add(took)
	rate := min(float64(r.workers)/r.wait.Seconds(), r.limit)
	rate *= 1 + r.noise*(2*r.rand.Float64()-1)
	n := int64(rate * took.Seconds())
	c := &r.counted
	c.Elapsed += took
	c.Resources.Elapsed += took
	c.Loop += took
	c.Waited += took * 9 / 10
	c.Yielded += n / 10
	busy := time.Duration(n) * r.wait
	for i, works := range []time.Duration{took / 100, busy, took / 10} {
		t := &c.Stages[i]
		if t.Name == stage {
			t.Workers = r.workers
		}
		t.In, t.Out, t.Busy = t.In+n, t.Out+n, t.Busy+works
		t.Blocked += max(0, time.Duration(t.Workers)*took-works)
	}
	c.Resources.Processes[0].User += took / 10
	later := *c
	later.Stages = append([]pipe.StageStats{}, c.Stages...)
	later.Resources.Processes = append([]stats.Process{}, c.Resources.Processes...)
	return later
}

// tuned runs a loader for so long.
func tuned(t *testing.T, r *run, long time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	tune.Run(ctx, tune.Loader{
		Stats: r.stats,
		SetWorkers: func(name string, n int) error {
			if name != stage {
				t.Errorf("workers of %s", name)
			}
			if r.fixed {
				r.set = append(r.set, n)
				return errors.New("its workers cannot change")
			}
			r.stats()
			r.workers = n
			r.set = append(r.set, n)
			return nil
		},
		Room: func() int64 { return cmp.Or(r.room, 1<<30) },
		Told: func(c stats.Tuned) { r.told = append(r.told, c) },
	})
}

// A function that waits gets as many workers as help, in few steps, and then the loader
// rests.
func TestWorkersUntilSomethingElseLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(run{wait: 10 * time.Millisecond, limit: 1500, workers: 2})
		tuned(t, r, 30*time.Second)
		if r.workers < 15 || len(r.set) > 4 {
			t.Errorf("%d workers after 30 seconds, by %v", r.workers, r.set)
		}
		was := len(r.set)
		tuned(t, r, time.Hour)
		if len(r.set) > was+2 {
			t.Errorf("in the hour after: %v", r.set[was:])
		}
		for _, c := range r.told {
			if c.Kept && c.After < 1.05*c.Before {
				t.Errorf("%+v", c)
			}
		}
	})
}

// What holds a lock gains nothing from workers: that is tried once.
func TestWhatDoesNotHelpIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(run{wait: 10 * time.Millisecond, limit: 200, workers: 2})
		tuned(t, r, time.Hour)
		if len(r.told) != 1 || r.told[0].Kept || r.workers != 2 || len(r.set) != 2 {
			t.Errorf("%d workers, %+v, %v", r.workers, r.told, r.set)
		}
	})
}

// Rates that differ by a fifth from look to look bring no more than one change that is
// taken back.
func TestANoisyMachine(t *testing.T) {
	for _, limit := range []float64{200, 1500} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(run{wait: 10 * time.Millisecond, limit: limit, noise: 0.2, workers: 2})
			tuned(t, r, 3*time.Hour)
			back := 0
			for _, c := range r.told {
				if !c.Kept {
					back++
				}
			}
			if back > 1 || len(r.told) > 6 {
				t.Errorf("limit %v: %+v", limit, r.told)
			}
		})
	}
}

// Each worker has 20 MB of its own.
func TestWorkersFindRoom(t *testing.T) {
	for room, most := range map[int64]int{65 << 20: 5, 15 << 20: 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(run{wait: 10 * time.Millisecond, limit: 1500, room: room, workers: 2})
			tuned(t, r, 20*time.Second)
			if len(r.set) > 0 && r.set[0] > most || len(r.set) == 0 && most > 2 {
				t.Errorf("%d MB: %v workers", room>>20, r.set)
			}
		})
	}
}

func TestWorkersThatSomebodyGave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(run{wait: 10 * time.Millisecond, limit: 1500, workers: 2})
		r.counted.Functions[0].Given = true
		tuned(t, r, time.Hour)
		if r.set != nil {
			t.Errorf("%v", r.set)
		}
	})
}

// A stage whose workers cannot change is asked once, and nothing is told of it.
func TestAStageThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(run{wait: 10 * time.Millisecond, limit: 1500, workers: 2, fixed: true})
		tuned(t, r, time.Hour)
		if len(r.set) != 1 || r.told != nil {
			t.Errorf("asked for %v, told of %+v", r.set, r.told)
		}
	})
}

// It ends with its context, whatever it is at.
func TestEnd(t *testing.T) {
	for after := time.Second; after < 20*time.Second; after += 700 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(run{wait: 10 * time.Millisecond, limit: 1500, workers: 2})
			began := time.Now()
			tuned(t, r, after)
			if took := time.Since(began); took != after {
				t.Errorf("%v, and ended after %v", after, took)
			}
		})
	}
}
