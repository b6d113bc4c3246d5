package stats_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"

	"pgregory.net/rapid"
)

const function = "map(slow)"

// slowFunction is a run of ten seconds and 1,000 samples, whose function limits: its one
// worker always works, and half of two cores is idle.
func slowFunction() stats.Snapshot {
	stage := func(name, kind string, workers int, busy time.Duration) pipe.StageStats {
		all := time.Duration(workers) * 10 * time.Second
		return pipe.StageStats{Name: name, Kind: kind, Workers: workers, In: 1000, Out: 1000, Busy: busy, Blocked: all - busy}
	}
	return stats.Snapshot{
		Stats: pipe.Stats{
			Elapsed: 10 * time.Second, Loop: 10 * time.Second, Waited: 9 * time.Second, Yielded: 100,
			Stages: []pipe.StageStats{
				stage("files", "source", 1, 10*time.Millisecond), stage("read", "map", 4, time.Second),
				stage(function, "map", 1, 9900*time.Millisecond), stage("batch", "fill", 2, 2*time.Second),
			},
			Queues: []pipe.QueueStats{{From: "files", To: "read", Cap: 4}, {From: "read", To: function, Cap: 8}, {From: "batch", Cap: 2}},
		},
		Resources: stats.Resources{Elapsed: 10 * time.Second, Cores: 2, Processes: []stats.Process{
			{Name: "trainer", User: time.Second}, {Name: "engine", User: 2 * time.Second},
			{Name: "slow", PID: 7, User: 7 * time.Second, Delayed: new(int64(time.Second))},
		}},
		Functions: []stats.Function{{Stage: "slow", Within: function, Calls: 1000, Time: 9500 * time.Millisecond, PIDs: []int{7}}},
	}
}

func advised(t *testing.T, s stats.Snapshot, change string) stats.Gain {
	t.Helper()
	all := stats.Advice(s)
	i := slices.IndexFunc(all, func(g stats.Gain) bool { return g.Change == change })
	if i < 0 {
		t.Fatalf("%q is not among %+v", change, all)
	}
	return all[i]
}

func TestWorkersOfAFunctionThatLimits(t *testing.T) {
	g := advised(t, slowFunction(), stats.MoreWorkers)
	if g.Stage != function || g.From != 1 || g.To != 2 {
		t.Errorf("%+v", g)
	}
	// Half of the CPUs is free, so no more than twice the rate of 100 a second.
	if g.Rate < 150 || g.Rate > 205 {
		t.Errorf("from %v to %v", g.Least, g.Most)
	}
}

func TestAFunctionThatWaitsMayHaveMany(t *testing.T) {
	s := slowFunction()
	s.Resources.Processes[2] = stats.Process{Name: "slow", PID: 7, User: 100 * time.Millisecond}
	g := advised(t, s, stats.MoreWorkers)
	if g.To < 4 || g.To > 8 {
		t.Errorf("%d workers", g.To)
	}
	if g.Least < 350 {
		t.Errorf("%v samples a second", g.Least)
	}
}

func TestCoresAreAdvisedWhereTheyLimit(t *testing.T) {
	s := slowFunction()
	if slices.ContainsFunc(stats.Advice(s), func(g stats.Gain) bool { return g.Change == "more cores" && g.Rate > 1.3*100 }) {
		t.Error("half of the cores is idle, and one worker limits")
	}
	s.Stages[2].Workers, s.Stages[2].Busy = 2, 19*time.Second
	s.Resources.Processes[2].User = 17 * time.Second
	g := advised(t, s, "more cores")
	if g.From != 2 || g.To != 4 || g.Rate < 170 || g.Most > 230 {
		t.Errorf("%+v", g)
	}
	for _, other := range stats.Advice(s) {
		if other.Change == stats.MoreWorkers {
			t.Errorf("there are no cores for %+v", other)
		}
	}
}

// The engine needs a tenth of what a function does.
func TestStepsOfTheEngine(t *testing.T) {
	g := advised(t, slowFunction(), "in the engine")
	if g.Stage != function || g.Rate < 300 {
		t.Errorf("%+v", g)
	}
}

func TestAStepInHalfTheTime(t *testing.T) {
	g := advised(t, slowFunction(), "faster step")
	if g.Stage != function || g.Rate < 170 || g.Rate > 215 {
		t.Errorf("%+v", g)
	}
}

func TestALoopThatLimits(t *testing.T) {
	s := slowFunction()
	s.Waited = 100 * time.Millisecond
	s.Stages[2].Busy, s.Stages[2].Blocked = time.Second, 9*time.Second
	s.Resources.Processes[0].User, s.Resources.Processes[2].User = 9*time.Second, time.Second
	all := stats.Advice(s)
	if len(all) != 1 || all[0].Change != "faster loop" || all[0].Rate < 150 || all[0].Rate > 205 {
		t.Errorf("%+v", all)
	}
}

func TestFewerBytes(t *testing.T) {
	s := slowFunction()
	s.Stages[2].Busy, s.Stages[2].Blocked = time.Second, 9*time.Second
	s.Resources.Processes[2].User = time.Second
	s.Waited, s.Handed = 8*time.Second, 7900*time.Millisecond
	if g := advised(t, s, "fewer bytes"); g.Rate < 130 || g.Rate > 180 {
		t.Errorf("%+v", g)
	}
}

// Loop and function take turns.
func TestReadAhead(t *testing.T) {
	s := slowFunction()
	s.Waited = 5 * time.Second
	s.Memory.Batches.OnDemand = true
	s.Stages[2].Busy, s.Stages[2].Starved, s.Stages[2].Blocked = 5*time.Second, 5*time.Second, 0
	s.Functions[0].Time = 5 * time.Second
	s.Resources.Processes[2].User = 5 * time.Second
	if g := advised(t, s, "more read-ahead"); g.Rate < 150 || g.Rate > 205 {
		t.Errorf("%+v", g)
	}
	// Half of what the function takes is a quarter of a turn.
	if g := advised(t, s, "faster step"); g.Rate < 115 || g.Rate > 140 {
		t.Errorf("%+v", g)
	}
}

func TestNoAdviceOfTooLittle(t *testing.T) {
	for name, change := range map[string]func(*stats.Snapshot){
		"nothing has run":   func(s *stats.Snapshot) { *s = stats.Snapshot{} },
		"a second has":      func(s *stats.Snapshot) { s.Loop, s.Waited = time.Second, time.Second/2 },
		"processes unknown": func(s *stats.Snapshot) { s.Resources = stats.Resources{} },
		"one batch":         func(s *stats.Snapshot) { s.Yielded = 1 },
		"nothing moves":     func(s *stats.Snapshot) { s.Stalled = &stats.Stalled{For: time.Minute} },
		"all read ahead":    func(s *stats.Snapshot) { s.Stages[3].Ahead = s.Stages[3].In },
	} {
		s := slowFunction()
		change(&s)
		if all := stats.Advice(s); all == nil || len(all) > 0 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

func TestASentenceSaysWhatHelps(t *testing.T) {
	text := stats.Helps(slowFunction())
	if !strings.HasPrefix(text, "What would help: workers=2 for map(slow), which has 1; ") {
		t.Error(text)
	}
	if text := stats.Helps(stats.Snapshot{}); text != "" {
		t.Error(text)
	}
}

func TestAdviceIsInTheText(t *testing.T) {
	text := stats.Text(slowFunction())
	for _, line := range []string{"what would help", "workers=2 for map(slow), which has 1", "map(slow) in half the time"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
	if calm := slowFunction(); strings.Contains(stats.Text(stats.Snapshot{Stats: calm.Stats}), "what would help") {
		t.Error("advice without anything to advise")
	}
}

// Whatever was counted, advice is in order, in bounds, and can be written.
func TestAdviceOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := slowFunction()
		d := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, name))
		}
		s.Loop, s.Waited, s.Handed, s.Main, s.Start = d("loop"), d("waited"), d("handed"), d("main"), d("start")
		s.Yielded = rapid.Int64Range(0, 1000).Draw(t, "yielded")
		for i := range s.Stages {
			u := &s.Stages[i]
			u.Workers, u.Busy, u.Blocked = rapid.IntRange(0, 9).Draw(t, "workers"), d("busy"), d("blocked")
			u.Starved, u.Gated, u.InFlightPerWorker = d("starved"), d("gated"), rapid.IntRange(0, 3).Draw(t, "in flight")
		}
		s.Resources.Cores, s.Resources.Elapsed = rapid.IntRange(0, 9).Draw(t, "cores"), d("elapsed")
		for i := range s.Resources.Processes {
			s.Resources.Processes[i].User, s.Resources.Processes[i].Delayed = d("user"), new(int64(d("delayed")))
		}
		all := stats.Advice(s)
		if _, err := json.Marshal(stats.Report(s)); err != nil {
			t.Fatal(err)
		}
		last := math.Inf(1)
		for _, g := range all {
			if !(0 < g.Least && g.Least <= g.Rate && g.Rate <= g.Most && g.Rate <= last) || g.Text == "" {
				t.Fatalf("%+v of %+v", g, all)
			}
			last = g.Rate
		}
	})
}
