package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A bench has one stage of a kind whose number of workers can change, around an
// operation. It yields ints.
type bench struct {
	kind  string
	stage func(f pipe.Flow[int], op func(context.Context, int) (int, error), o pipe.Opts) pipe.Flow[int]
}

var changeableKinds = []bench{
	{"map", pipe.Map[int, int]},
	{"with", func(f pipe.Flow[int], op func(context.Context, int) (int, error), o pipe.Opts) pipe.Flow[int] {
		begin := func(context.Context) (func(context.Context, int) (int, error), func(), error) { return op, nil, nil }
		return pipe.MapWith(f, begin, o)
	}},
	{"filter", func(f pipe.Flow[int], op func(context.Context, int) (int, error), o pipe.Opts) pipe.Flow[int] {
		keep := func(ctx context.Context, v int) (bool, error) {
			_, err := op(ctx, v)
			return true, err
		}
		return pipe.Filter(f, keep, o)
	}},
	{"flatmap", func(f pipe.Flow[int], op func(context.Context, int) (int, error), o pipe.Opts) pipe.Flow[int] {
		one := func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) { yield(op(ctx, v)) }
		}
		return pipe.FlatMap(f, one, o)
	}},
	{"fill", func(f pipe.Flow[int], op func(context.Context, int) (int, error), o pipe.Opts) pipe.Flow[int] {
		write := func(ctx context.Context, v int, row []int, at int) (err error) {
			row[at], err = op(ctx, v)
			return err
		}
		b := pipe.Fill(f, 1, plainStore{1}, write, pipe.FillOpts{Name: o.Name, Workers: o.Workers, Ordered: o.Ordered, Gate: o.Gate, InFlightPerWorker: o.InFlightPerWorker, OnResize: o.OnResize})
		return pipe.Map(b, func(_ context.Context, row []int) (int, error) { return row[0], nil }, pipe.Opts{Name: "row"})
	}},
}

// everyKind runs a test for a stage named work, of each kind and in both orders.
func everyKind(t *testing.T, test func(t *testing.T, stage func(op func(context.Context, int) (int, error), workers, items int) pipe.Flow[int])) {
	for _, kind := range changeableKinds {
		for _, ordered := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s ordered %v", kind.kind, ordered), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					test(t, func(op func(context.Context, int) (int, error), workers, items int) pipe.Flow[int] {
						return kind.stage(pipe.From("numbers", pipetest.Numbers{N: items}), op, pipe.Opts{Name: "work", Workers: workers, Ordered: ordered})
					})
				})
			})
		}
	}
}

func setWorkers(t testing.TB, run *pipe.Run[int], n int) {
	t.Helper()
	if err := run.SetWorkers("work", n); err != nil {
		t.Error(err)
	}
}

func statsOf(run *pipe.Run[int], stage string) pipe.StageStats {
	for _, s := range run.Stats().Stages {
		if s.Name == stage {
			return s
		}
	}
	return pipe.StageStats{}
}

// New workers begin at once, while all others are in the middle of something. Those that
// have to go finish what they have, which nobody waits for, and take nothing more.
func TestSetWorkersTakesEffectAtOnce(t *testing.T) {
	everyKind(t, func(t *testing.T, stage func(func(context.Context, int) (int, error), int, int) pipe.Flow[int]) {
		var at pipetest.Gauge
		run := start(t, stage(gauged(&at, second), 2, -1), pipe.Config{})
		defer run.Close()
		go func() { _, _ = drain(run) }()
		for _, step := range []struct{ set, now, after int }{{2, 2, 2}, {5, 5, 5}, {1, 5, 1}, {3, 3, 3}, {2, 3, 2}, {6, 6, 6}, {1, 6, 1}, {4, 4, 4}} {
			<-time.After(1500 * time.Millisecond)
			began := time.Now()
			setWorkers(t, run, step.set)
			synctest.Wait()
			if took := time.Since(began); took > 0 || at.Now() != step.now {
				t.Errorf("right after SetWorkers(%d), %v later, %d operations run, not %d", step.set, took, at.Now(), step.now)
			}
			<-time.After(1100 * time.Millisecond)
			if at.Now() != step.after || statsOf(run, "work").Workers != step.set {
				t.Errorf("later, %d operations run, not %d; the numbers say %d", at.Now(), step.after, statsOf(run, "work").Workers)
			}
		}
	})
}

// After SetWorkers no more than n workers take something new, however many waited for it.
func TestWaitingWorkersLeave(t *testing.T) {
	for _, kind := range changeableKinds {
		synctest.Test(t, func(t *testing.T) {
			var at pipetest.Gauge
			source := pipetest.Numbers{N: 40, Pulled: func(_ int, pos int64) {
				if pos%20 == 0 {
					<-time.After(time.Hour) // nobody has anything to do
				}
			}}
			run := start(t, kind.stage(pipe.From("numbers", source), gauged(&at, second), pipe.Opts{Name: "work", Workers: 8, Ordered: true}), pipe.Config{})
			defer run.Close()
			<-time.After(time.Minute)
			setWorkers(t, run, 3)
			if got := collect(t, run); !slices.Equal(got, upTo(40)) || at.Max() != 3 {
				t.Errorf("%s: %v; %d at once", kind.kind, got, at.Max())
			}
		})
	}
}

// A worker that leaves ends with what it has, also when it waits for an item, or for
// room, and a new one has its own; each ends once.
func TestSetWorkersOfMapWith(t *testing.T) {
	for name, c := range map[string]struct {
		every  time.Duration // between two items of the source
		reads  bool
		active int // that are there after workers were sent away
	}{"starved": {time.Hour, true, 2}, "blocked": {0, false, 2}, "busy": {0, true, 2}} {
		synctest.Test(t, func(t *testing.T) {
			var there pipetest.Gauge
			var began, live atomic.Int64
			begin := func(ctx context.Context) (func(context.Context, int) (int, error), func(), error) {
				began.Add(1)
				live.Add(1)
				context.AfterFunc(ctx, func() { live.Add(-1) })
				var once sync.Once
				leave := there.Enter()
				var alone sync.Mutex
				op := func(ctx context.Context, v int) (int, error) {
					if !alone.TryLock() {
						t.Error("two items in one worker")
					}
					defer alone.Unlock()
					return second(ctx, v)
				}
				return op, func() {
					ended := false
					once.Do(func() { ended = true; leave() })
					if !ended {
						t.Error("a worker ends twice")
					}
				}, nil
			}
			f := pipe.MapWith(pipe.From("numbers", pipetest.Numbers{N: -1, Every: c.every}), begin, pipe.Opts{Name: "work", Workers: 6, Ordered: true})
			run := start(t, f, pipe.Config{})
			if c.reads {
				go func() { _, _ = drain(run) }()
			}
			<-time.After(10 * time.Second)
			if there.Now() != 6 {
				t.Errorf("%s: %d workers", name, there.Now())
			}
			setWorkers(t, run, 2)
			<-time.After(2 * time.Second)
			if there.Now() != c.active || int(live.Load()) != c.active {
				t.Errorf("%s: %d workers have not ended, and the contexts of %d", name, there.Now(), live.Load())
			}
			setWorkers(t, run, 5)
			synctest.Wait()
			if there.Now() != 5 || began.Load() != 9 {
				t.Errorf("%s: %d workers, %d began", name, there.Now(), began.Load())
			}
			run.Close()
			synctest.Wait()
			if there.Now() != 0 || live.Load() != 0 {
				t.Errorf("%s: %d workers are left, and the contexts of %d", name, there.Now(), live.Load())
			}
		})
	}
}

// Clocks and counts of workers that have left stay, and the clocks add up to the lives of
// all that were there.
func TestNumbersOfWorkersThatLeft(t *testing.T) {
	everyKind(t, func(t *testing.T, stage func(func(context.Context, int) (int, error), int, int) pipe.Flow[int]) {
		op := func(ctx context.Context, v int) (int, error) {
			pipe.AddBytes(ctx, 1000)
			return second(ctx, v)
		}
		run := start(t, stage(op, 4, 100), pipe.Config{})
		defer run.Close()
		go func() {
			for _, n := range []int{1, 5, 2, 4, 1} {
				<-time.After(5 * time.Second) // ten items' time altogether would be 25 × 1 s
				setWorkers(t, run, n)
			}
		}()
		before := run.Stats()
		for range 100 {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			now := run.Stats()
			if s, b := now.Stages[1], before.Stages[1]; s.In < b.In || s.Out < b.Out || s.Busy < b.Busy || s.Starved < b.Starved || s.Blocked < b.Blocked || s.Bytes < b.Bytes {
				t.Fatalf("numbers went down: %+v, then %+v", b, s)
			}
			before = now
		}
		run.Close()
		s := statsOf(run, "work")
		if s.In != 100 || s.Out != 100 || s.Bytes != 100000 || s.Busy < 100*time.Second || s.Busy > 101*time.Second || s.Workers != 1 {
			t.Errorf("%+v", s)
		}
		// 5 s with 4 workers, 1 s more with those that finish, and so on: 20 + 5 + 25 +
		// 10 + 20, up to the end with 1.
		lives := s.Starved + s.Busy + s.Blocked + s.Gated
		elapsed := run.Stats().Elapsed
		planned := 80*time.Second + (elapsed - 25*time.Second)
		if lives < planned || lives > planned+10*time.Second {
			t.Errorf("the workers lived for %v together, planned were %v", lives, planned)
		}
	})
}

// The stage holds Workers + Buffer items, whatever Workers is now.
func TestPlacesFollowWorkers(t *testing.T) {
	for _, kind := range changeableKinds {
		if kind.kind == "flatmap" || kind.kind == "fill" {
			continue // whose places are those of outputs, and of batches
		}
		for _, ordered := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var pulled atomic.Int64
				source := pipetest.Numbers{N: -1, Pulled: func(int, int64) { pulled.Add(1) }}
				f := kind.stage(pipe.From("numbers", source), second, pipe.Opts{Name: "work", Workers: 2, Buffer: 3, Ordered: ordered})
				run := start(t, f, pipe.Config{})
				defer run.Close()
				<-time.After(time.Minute)
				read := int64(0)
				for _, n := range []int{2, 7, 30, 4, 1, 2} {
					setWorkers(t, run, n)
					<-time.After(time.Minute)
					for range 60 { // so that what is too much is gone
						if _, err := run.Next(context.Background()); err != nil {
							t.Fatal(err)
						}
						read++
					}
					<-time.After(time.Minute)
					if held := pulled.Load() - read; held != int64(n+3+pipe.SourceBuffer) {
						t.Errorf("%s ordered %v: with %d workers %d items are held", kind.kind, ordered, n, held)
					}
				}
			})
		}
	}
}

// As many operations may be abandoned at a time as the stage has workers now.
func TestLimitFollowsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStuck(2, 3, 4, 5, 6)
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), pipe.Limit(s.do, time.Second, nil), pipe.Opts{Name: "work", Workers: 2, Ordered: true})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		setWorkers(t, run, 4)
		got, err := drain(run)
		late, stage := (*pipe.LimitError)(nil), (*pipe.StageError)(nil)
		if !slices.Equal(got, []int{0, 1}) || !errors.As(err, &late) || !late.Abandoned || !errors.As(err, &stage) || stage.Pos != 6 {
			t.Errorf("%v, %v", got, err)
		}
		close(s.free)
		synctest.Wait()
		run.Close()
	})
}

// What cannot be: stages that are not there, that have one worker by their nature,
// numbers, runs that are closed.
func TestSetWorkersIsRefused(t *testing.T) {
	pick := func(_ context.Context, v int) (int, error) { return v % 2, nil }
	keep := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	f := pipe.Merge([]pipe.Flow[int]{pipe.From("first", pipetest.Numbers{N: 3}), pipe.From("second", pipetest.Numbers{N: 3})}, pipe.MergeOpts{Name: "mix"})
	f = pipe.Route(f, pick, []func(pipe.Flow[int]) pipe.Flow[int]{keep, keep}, pipe.RouteOpts{Name: "route"})
	f = pipe.Unbatch(pipe.Batch(pipe.Map(f, same, pipe.Opts{Name: "decode"}), 2, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "apart"})
	f = pipe.Unbatch(pipe.Aggregate(f, func() pipe.Aggregator[int, []int] { return &pairs{n: 2} }, pipe.AggregateOpts{Name: "pairs"}), pipe.UnbatchOpts{Name: "again"})
	run := start(t, f, pipe.Config{})
	for name, want := range map[string]string{
		"first": "stage first: it is a source", "mix": "is a merge", "route": "is a route", "route/join": "is a join", "route/0": "is a branch",
		"batch": "is a batch", "apart": "is an unbatch", "pairs": "is an aggregate",
		"decod": `no stage "decod"; there are decode, `, "Batches": `no stage "Batches"; there are batch, `,
	} {
		if err := run.SetWorkers(name, 2); !contains(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{0, -3} {
		if err := run.SetWorkers("decode", n); !contains(err, fmt.Sprintf("stage decode: %d workers: must be at least 1", n)) {
			t.Error(err)
		}
	}
	if err := run.SetWorkers("decode", 3); err != nil {
		t.Error(err)
	}
	collect(t, run)
	run.Close()
	if err := run.SetWorkers("decode", 2); err != pipe.ErrClosed {
		t.Error(err)
	}
}

// After a stage's last item, after a failure and after a cancel there is nobody left to
// work; the number is noted, and the stage has ended once.
func TestSetWorkersOfAStageThatIsOver(t *testing.T) {
	everyKind(t, func(t *testing.T, stage func(func(context.Context, int) (int, error), int, int) pipe.Flow[int]) {
		for name, end := range map[string]struct {
			bad    int
			cancel bool
		}{"end": {-1, false}, "failure": {7, false}, "cancel": {-1, true}} {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var l log
			run, err := pipe.Start(ctx, stage(failing(end.bad), 2, 20), pipe.Config{Hooks: pipe.Hooks{Stage: l.hooks("").Stage}})
			if err != nil {
				t.Fatal(err)
			}
			if end.cancel {
				cancel()
			}
			_, _ = drain(run)
			synctest.Wait()
			for _, n := range []int{5, 1, 3} {
				setWorkers(t, run, n)
			}
			synctest.Wait()
			if s := statsOf(run, "work"); s.Workers != 3 {
				t.Errorf("%s: %d workers", name, s.Workers)
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
			if ends := len(slices.DeleteFunc(l.lines, func(line string) bool { return !strings.Contains(line, " work ends: ") })); ends != 1 {
				t.Errorf("%s: the stage ends %d times", name, ends)
			}
		}
	})
}

// An operation may change the number of its own workers, and of others.
func TestSetWorkersByAnOperation(t *testing.T) {
	everyKind(t, func(t *testing.T, stage func(func(context.Context, int) (int, error), int, int) pipe.Flow[int]) {
		var run *pipe.Run[int]
		begun := make(chan struct{})
		op := func(ctx context.Context, v int) (int, error) {
			<-begun
			setWorkers(t, run, 1+v*7%5)
			return restless(ctx, v)
		}
		run = start(t, stage(op, 3, 60), pipe.Config{})
		defer run.Close()
		close(begun)
		got := collect(t, run)
		if slices.Sort(got); !slices.Equal(got, upTo(60)) {
			t.Errorf("%v", got)
		}
	})
}

// In a branch that keeps the order, a stage of one worker keeps it also when it is given
// more.
func TestSetWorkersInAnOrderedBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		branch := func(k int) func(pipe.Flow[int]) pipe.Flow[int] {
			return func(f pipe.Flow[int]) pipe.Flow[int] {
				pick := func(_ context.Context, v int) (int, error) { return v / 2 % 2, nil }
				inner := func(i int) func(pipe.Flow[int]) pipe.Flow[int] {
					return func(f pipe.Flow[int]) pipe.Flow[int] {
						return pipe.Map(f, restless, pipe.Opts{Name: fmt.Sprintf("inner%d%d", k, i)})
					}
				}
				f = pipe.Filter(f, func(ctx context.Context, v int) (bool, error) {
					_, err := restless(ctx, v)
					return true, err
				}, pipe.Opts{Name: fmt.Sprint("outer", k)})
				return pipe.Route(f, pick, []func(pipe.Flow[int]) pipe.Flow[int]{inner(0), inner(1)}, pipe.RouteOpts{Name: fmt.Sprint("nested", k), Ordered: true})
			}
		}
		pick := func(_ context.Context, v int) (int, error) { return v % 2, nil }
		f := pipe.Route(pipe.From("numbers", pipetest.Numbers{N: 200}), pick, []func(pipe.Flow[int]) pipe.Flow[int]{branch(0), branch(1)}, pipe.RouteOpts{Name: "route", Ordered: true})
		run := start(t, f, pipe.Config{})
		defer run.Close()
		for _, name := range []string{"outer0", "outer1", "inner00", "inner01", "inner10", "inner11"} {
			if err := run.SetWorkers(name, 4); err != nil {
				t.Error(err)
			}
		}
		if got := collect(t, run); !slices.Equal(got, upTo(200)) {
			t.Errorf("%v", got)
		}
	})
}

// With real time and several goroutines that change numbers, all items come, in order,
// and Close in the middle leaves nothing.
func TestSetWorkersByMany(t *testing.T) {
	items := tier.Cases(aMillion/200, aMillion/50)
	for _, kind := range changeableKinds {
		for _, cut := range []int{items, items / 7} {
			f := kind.stage(pipe.From("numbers", pipetest.Numbers{N: items}), same, pipe.Opts{Name: "work", Workers: 3, Ordered: true})
			run := start(t, f, pipe.Config{})
			ctx, stop := context.WithCancel(context.Background())
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					for ctx.Err() == nil {
						if err := run.SetWorkers("work", 1+rand.IntN(8)); err != nil && err != pipe.ErrClosed {
							t.Error(err)
						}
						run.Stats()
					}
				})
			}
			for want := range cut {
				if v, err := run.Next(context.Background()); v != want || err != nil {
					t.Fatalf("%s: %d, %v, not %d", kind.kind, v, err, want)
				}
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
			stop()
			all.Wait()
			if s := statsOf(run, "work"); cut == items && (s.In != int64(items) || s.Out != int64(items)) {
				t.Errorf("%s: %+v", kind.kind, s)
			}
		}
	}
}
