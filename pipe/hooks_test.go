package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A log is what hooks were told.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) hooks(name string) pipe.Hooks {
	return pipe.Hooks{
		Lost: func(lost pipe.Loss) { l.add("%s %s lost %d", name, lost.Stage, lost.Pos) },
		Stage: func(i pipe.StageInfo) func(pipe.StageStats) {
			l.add("%s %s begins: %s, %d workers", name, i.Name, i.Kind, i.Workers)
			return func(s pipe.StageStats) { l.add("%s %s ends: %d in, %d out", name, s.Name, s.In, s.Out) }
		},
		Task: func(ctx context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
			l.add("%s %s(%v)", name, t.Stage, t.In)
			return nil, func(o pipe.Outcome) { l.add("%s %s: %v, %v, %v", name, t.Stage, o.Out, o.Err, o.Took) }
		},
	}
}

// Hooks see stages begin and end, and of each operation the input, the output, the error
// and how long it took; the operation gets the hook's context.
func TestE55HooksSeeEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		hooks := l.hooks("hook")
		type key struct{}
		task := hooks.Task
		hooks.Task = func(ctx context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
			_, end := task(ctx, t)
			return context.WithValue(ctx, key{}, t.In), end
		}
		op := func(ctx context.Context, v int) (int, error) {
			if ctx.Value(key{}) != v {
				t.Errorf("the context of %d has %v", v, ctx.Value(key{}))
			}
			switch pipetest.Sleep(ctx, time.Duration(v)*time.Second); v {
			case 1:
				return 0, errBad
			case 2:
				return 0, pipe.Skip
			}
			return 10 * v, nil
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 4}), op, pipe.Opts{Name: "map", Ordered: true})
		run := start(t, f, pipe.Config{Hooks: hooks, Failures: pipe.Policy{Skip: true, Count: -1}})
		collect(t, run)
		run.Close()
		slices.Sort(l.lines)
		want := []string{
			"hook map begins: map, 1 workers", "hook map ends: 4 in, 2 out", "hook map lost 1",
			"hook map(0)", "hook map(1)", "hook map(2)", "hook map(3)",
			"hook map: 0, <nil>, 0s", "hook map: 0, bad, 1s", "hook map: 0, pipe: skip this item, 2s", "hook map: 30, <nil>, 3s",
			"hook numbers begins: source, 1 workers", "hook numbers ends: 4 in, 4 out",
			"hook numbers(0)", "hook numbers(1)", "hook numbers(2)", "hook numbers(3)", "hook numbers(4)",
			"hook numbers: 0, <nil>, 0s", "hook numbers: 1, <nil>, 0s", "hook numbers: 2, <nil>, 0s", "hook numbers: 3, <nil>, 0s", "hook numbers: <nil>, EOF, 0s",
		}
		slices.Sort(want)
		if !slices.Equal(l.lines, want) {
			t.Errorf("%q", l.lines)
		}
	})
}

// All kinds of operations have hooks, each item one.
func TestE55KindsOfOperations(t *testing.T) {
	var l log
	pairs := each(func(v int) []int { return []int{v, v + 1} })
	f := pipe.Filter(pipe.From("numbers", pipetest.Numbers{N: 2}), func(_ context.Context, v int) (bool, error) { return v > 0, nil }, pipe.Opts{Name: "filter"})
	f = pipe.FlatMap(f, pairs, pipe.Opts{Name: "pairs"})
	begin := func(context.Context) (func(context.Context, int) (int, error), func(), error) { return same, nil, nil }
	f = pipe.MapWith(f, begin, pipe.Opts{Name: "with"})
	asIs := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	f = pipe.Route(f, func(_ context.Context, v int) (int, error) { return v - 1, nil }, branches{asIs, asIs}, pipe.RouteOpts{Name: "route", Ordered: true})
	sums := pipe.Aggregate(f, func() pipe.Aggregator[int, []int] { return &budget{limit: 2} }, pipe.AggregateOpts{Name: "sums"})
	pick := func(_ context.Context, v int) (int, error) { return v - 1, nil }
	lists := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	f = pipe.Unbatch(pipe.RouteBatch(sums, pick, batchBranches{lists, lists}, pipe.RouteBatchOpts{Name: "divide"}), pipe.UnbatchOpts{Name: "unbatch"})
	b := pipe.Fill(f, 2, plainStore{2}, writeUnless(-1), pipe.FillOpts{Name: "fill"})
	hooks := pipe.Hooks{Task: func(_ context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
		return nil, func(o pipe.Outcome) { l.add("%s(%v) = %v, %v", t.Stage, t.In, o.Out, o.Err) }
	}}
	run := start(t, b, pipe.Config{Hooks: hooks})
	collect(t, run)
	run.Close()
	slices.Sort(l.lines)
	want := []string{
		"divide(1) = 0, <nil>", "divide(2) = 1, <nil>",
		"fill(1) = [1 0], <nil>", "fill(2) = [1 2], <nil>", "filter(0) = 0, pipe: skip this item", "filter(1) = 1, <nil>",
		"numbers(0) = 0, <nil>", "numbers(1) = 1, <nil>", "numbers(2) = <nil>, EOF",
		"pairs(1) = 2, <nil>", "route(1) = 0, <nil>", "route(2) = 1, <nil>",
		"sums(1) = 0, <nil>", "sums(2) = 1, <nil>", "sums(<nil>) = 1, <nil>",
		"unbatch([1]) = 1, <nil>", "unbatch([2]) = 1, <nil>",
		"with(1) = 1, <nil>", "with(2) = 2, <nil>",
	}
	if !slices.Equal(l.lines, want) {
		t.Errorf("%q", l.lines)
	}
}

// Stages end once, whatever ends them.
func TestE55StagesEndOnce(t *testing.T) {
	for name, end := range map[string]func(*pipe.Run[int]){
		"read":    func(run *pipe.Run[int]) { _, _ = drain(run) },
		"closed":  func(run *pipe.Run[int]) { _, _ = run.Next(context.Background()) },
		"at once": func(*pipe.Run[int]) {},
	} {
		for _, bad := range []int{-1, 3} {
			synctest.Test(t, func(t *testing.T) {
				var l log
				hooks := l.hooks("")
				hooks.Task = nil
				branch := func(f pipe.Flow[int]) pipe.Flow[int] {
					return pipe.Map(f, failing(bad), pipe.Opts{Name: "branch", Workers: 3, Ordered: true})
				}
				f := pipe.Route(pipe.From("numbers", pipetest.Numbers{N: 9}), func(context.Context, int) (int, error) { return 0, nil }, branches{branch}, pipe.RouteOpts{Name: "route"})
				run := start(t, f, pipe.Config{Hooks: hooks})
				end(run)
				run.Close()
				begins, ends := 0, 0
				for _, line := range l.lines {
					var stage, verb string
					fmt.Sscan(line, &stage, &verb)
					if verb == "begins:" {
						begins++
					} else if verb == "ends:" {
						ends++
					}
				}
				if begins != 4 || ends != 4 {
					t.Errorf("%s, %d is bad: %q", name, bad, l.lines)
				}
			})
		}
	}
}

func TestE55Tee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		half := pipe.Hooks{Task: l.hooks("half").Task, Stage: func(pipe.StageInfo) func(pipe.StageStats) { return nil }}
		hooks := pipe.Tee(pipe.Hooks{}, l.hooks("one"), half, l.hooks("two"))
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 1}), failing(0), pipe.Opts{Name: "map"})
		run := start(t, f, pipe.Config{Hooks: hooks, Failures: pipe.Policy{Skip: true, Count: -1}})
		collect(t, run)
		run.Close()
		var of []string
		for _, line := range l.lines {
			if !slices.Contains([]string{"one numbers begins: source, 1 workers", "two numbers begins: source, 1 workers", "one numbers ends: 1 in, 1 out", "two numbers ends: 1 in, 1 out"}, line) && !strings.Contains(line, "numbers(") && !strings.Contains(line, "numbers:") {
				of = append(of, line)
			}
		}
		if want := []string{
			"one map begins: map, 1 workers", "two map begins: map, 1 workers", "one map(0)", "half map(0)", "two map(0)",
			"two map: 0, value 0: bad, 0s", "half map: 0, value 0: bad, 0s", "one map: 0, value 0: bad, 0s",
		}; !slices.Equal(of[:8], want) || len(of) != 12 {
			t.Errorf("%q", of)
		}
	})
	if !reflect.ValueOf(pipe.Tee()).IsZero() || !reflect.ValueOf(pipe.Tee(pipe.Hooks{}, pipe.Hooks{})).IsZero() {
		t.Error("nothing twice is something")
	}
	type key struct{}
	adds := pipe.Hooks{Task: func(ctx context.Context, _ pipe.Task) (context.Context, func(pipe.Outcome)) {
		n, _ := ctx.Value(key{}).(int)
		return context.WithValue(ctx, key{}, n+1), nil
	}}
	if ctx, end := pipe.Tee(adds, adds, adds).Task(context.Background(), pipe.Task{}); ctx.Value(key{}) != 3 || end != nil {
		t.Error(ctx)
	}
}

// A source that panics has ended its task, and what it yields as failures is reported.
func TestE55TasksOfSourcesThatFail(t *testing.T) {
	var l log
	n := pipetest.Numbers{N: 3, Pulled: func(_ int, pos int64) {
		if pos == 2 {
			panic(errBad)
		}
	}}
	run := start(t, pipe.From("numbers", n), pipe.Config{Hooks: pipe.Hooks{Task: l.hooks("").Task}})
	if _, err := drain(run); !errors.Is(err, errBad) {
		t.Error(err)
	}
	run.Close()
	if last := l.lines[len(l.lines)-1]; !strings.HasPrefix(last, " numbers: <nil>, pipe: the source has panicked") || len(l.lines) != 6 {
		t.Errorf("%q", l.lines)
	}
}

// In SPDL a hook that fails loses its item in one mode, is counted in another, and ends
// the stage in a third. Here a hook that panics stops the run, wherever it does: the
// error says so, no policy tolerates it, and nothing leaks.
func TestE38HooksThatPanic(t *testing.T) {
	panics := func(when bool) {
		if when {
			panic(errBad)
		}
	}
	task := func(begin, end bool) func(context.Context, pipe.Task) (context.Context, func(pipe.Outcome)) {
		return func(_ context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
			panics(begin && t.Stage == "map" && t.In == 5)
			return nil, func(pipe.Outcome) { panics(end && t.Stage == "map" && t.In == 5) }
		}
	}
	stage := func(begin, end bool) func(pipe.StageInfo) func(pipe.StageStats) {
		return func(i pipe.StageInfo) func(pipe.StageStats) {
			panics(begin && i.Name == "map")
			return func(s pipe.StageStats) { panics(end && s.Name == "map") }
		}
	}
	for name, hooks := range map[string]pipe.Hooks{
		"task begins":  {Task: task(true, false)},
		"task ends":    {Task: task(false, true)},
		"lost":         {Lost: func(l pipe.Loss) { panics(l.Pos == 7) }},
		"stage begins": {Stage: stage(true, false)},
		"stage ends":   {Stage: stage(false, true)},
	} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", ordered), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var owner pipetest.Owner[int]
					op := func(ctx context.Context, v int) (int, error) {
						if _, err := restless(ctx, v); err != nil || v == 7 {
							owner.Gone(v)
							return 0, errors.Join(err, errBad)
						}
						return v, nil
					}
					f := pipe.Discard(pipe.From("numbers", pipetest.Numbers{N: 12, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
					f = pipe.Discard(pipe.Map(f, op, pipe.Opts{Name: "map", Workers: 3, Ordered: ordered}), owner.Gone)
					run := start(t, f, pipe.Config{Hooks: hooks, Failures: pipe.Policy{Skip: true, Count: -1}})
					var got []int
					var err error
					for err == nil {
						var v int
						if v, err = run.Next(context.Background()); err == nil {
							owner.Gone(v)
							got = append(got, v)
							<-time.After(time.Second)
						}
					}
					failed, hook := (*pipe.StageError)(nil), (*pipe.HookError)(nil)
					if !errors.As(err, &failed) || failed.Stage != "map" || !errors.As(err, &hook) || !errors.Is(err, errBad) {
						t.Errorf("%v, %v", got, err)
					}
					if ordered && hooks.Task != nil && (failed.Pos != 5 || !slices.Equal(got, upTo(5))) {
						t.Errorf("%v, %v", got, err)
					}
					closed := run.Close()
					if told := errors.As(closed, &hook); told != (name == "stage ends") {
						t.Errorf("Close: %v", closed)
					}
					if faults := owner.Faults(); len(faults) > 0 {
						t.Error(faults)
					}
				})
			})
		}
	}
}

// The same for sources, picks and aggregators: the error names the stage, and nothing of
// the items leaks.
func TestE38HooksAroundFlowsThatPanic(t *testing.T) {
	asIs := func(f pipe.Flow[int]) pipe.Flow[int] { return f }
	lists := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
	zero := func(context.Context, int) (int, error) { return 0, nil }
	var owner pipetest.Owner[int]
	numbers := func(name string) pipe.Flow[int] {
		return pipe.Discard(pipe.From(name, pipetest.Numbers{N: 12, Pulled: func(_ int, pos int64) { owner.Made(int(pos)) }}), owner.Gone)
	}
	batches := func(f pipe.Flow[int]) pipe.Flow[[]int] { return pipe.Batch(f, 1, pipe.BatchOpts{Name: "batch"}) }
	for name, f := range map[string]func() pipe.Flow[[]int]{
		"source": func() pipe.Flow[[]int] { return batches(numbers("stage")) },
		"pick": func() pipe.Flow[[]int] {
			return batches(pipe.Route(numbers("numbers"), zero, branches{asIs}, pipe.RouteOpts{Name: "stage"}))
		},
		"picks": func() pipe.Flow[[]int] {
			return pipe.RouteBatch(batches(numbers("numbers")), zero, batchBranches{lists}, pipe.RouteBatchOpts{Name: "stage"})
		},
		"aggregator": func() pipe.Flow[[]int] {
			return pipe.Discard(pipe.Aggregate(numbers("numbers"), func() pipe.Aggregator[int, []int] { return &pairs{n: 1} }, pipe.AggregateOpts{Name: "stage"}), func(of []int) {
				for _, v := range of {
					owner.Gone(v)
				}
			})
		},
	} {
		for _, begin := range []bool{false, true} {
			panics := func(t pipe.Task, now bool) {
				if now && t.Stage == "stage" && (t.In == 5 || t.In == int64(5)) {
					panic(errBad)
				}
			}
			hooks := pipe.Hooks{Task: func(_ context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
				panics(t, begin)
				return nil, func(pipe.Outcome) { panics(t, true) }
			}}
			run := start(t, f(), pipe.Config{Hooks: hooks, Failures: pipe.Policy{Skip: true, Count: -1}})
			got, err := drain(run)
			for _, list := range got {
				owner.Gone(list[0])
			}
			failed := (*pipe.StageError)(nil)
			if !errors.As(err, &failed) || failed.Stage != "stage" || failed.Pos != 5 || !errors.As(err, new(*pipe.HookError)) || len(got) < 5 {
				t.Errorf("%s, begin %v: %v, %v", name, begin, got, err)
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
			if faults := owner.Faults(); len(faults) > 0 {
				t.Errorf("%s, begin %v: %v", name, begin, faults)
			}
		}
	}
}

// The same for the other kinds of operations.
func TestE38HooksOfKindsThatPanic(t *testing.T) {
	for _, begin := range []bool{false, true} {
		hooks := pipe.Hooks{Task: func(_ context.Context, t pipe.Task) (context.Context, func(pipe.Outcome)) {
			if begin && t.In == 5 {
				panic(errBad)
			}
			return nil, func(pipe.Outcome) {
				if t.In == 5 {
					panic(errBad)
				}
			}
		}}
		for _, ordered := range []bool{false, true} {
			for name, f := range map[string]pipe.Flow[[]int]{
				"fill":   pipe.Fill(pipe.From("numbers", pipetest.Numbers{N: 12}), 1, plainStore{1}, writeUnless(-1), pipe.FillOpts{Name: "stage", Workers: 2, Ordered: ordered}),
				"flat":   pipe.Batch(pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 12}), twice, pipe.Opts{Name: "stage", Workers: 2, Ordered: ordered}), 2, pipe.BatchOpts{Name: "batch"}),
				"filter": pipe.Batch(pipe.Filter(pipe.From("numbers", pipetest.Numbers{N: 12}), func(context.Context, int) (bool, error) { return true, nil }, pipe.Opts{Name: "stage", Ordered: ordered}), 1, pipe.BatchOpts{Name: "batch"}),
			} {
				run := start(t, f, pipe.Config{Hooks: hooks, Failures: pipe.Policy{Skip: true, Count: -1}})
				got, err := drain(run)
				failed := (*pipe.StageError)(nil)
				if !errors.As(err, &failed) || failed.Stage != "stage" || failed.Pos != 5 || !errors.As(err, new(*pipe.HookError)) || ordered && len(got) < 5 {
					t.Errorf("%s, begin %v, ordered %v: %v, %v", name, begin, ordered, got, err)
				}
				if err := run.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
