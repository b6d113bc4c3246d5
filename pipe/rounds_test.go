package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/pipe"
)

// drawnLane is one of several flows: numbers, of which some are left out, several are
// made of others, and sums of some are what comes of them.
type laneItem struct {
	lane, sum int
	last      bool
}

type summing struct{ held []pipe.Held[*laneItem] }

func (s *summing) Add(_ context.Context, v pipe.Held[*laneItem], e *pipe.Emitter[*laneItem, *laneItem]) error {
	s.held = append(s.held, v)
	if sum := s.sum(); sum.sum%3 == 0 {
		e.Emit(sum, s.held...)
		s.held = nil
	}
	return nil
}

func (s *summing) Flush(_ context.Context, e *pipe.Emitter[*laneItem, *laneItem]) error {
	if len(s.held) > 0 {
		e.Emit(s.sum(), s.held...)
	}
	return nil
}

func (s *summing) sum() *laneItem {
	all := &laneItem{lane: s.held[0].Value.lane}
	for _, h := range s.held {
		all.sum += h.Value.sum
	}
	return all
}

// laneFlow is that of a lane with so many numbers.
func laneFlow(lane, n int) pipe.Flow[*laneItem] {
	read := pipe.Map(pipe.From("numbers", pipe.Count(n)), func(_ context.Context, i int) (*laneItem, error) {
		if v := (i*7 + lane*5) % 11; v != 4 {
			return &laneItem{lane: lane, sum: v}, nil
		}
		return nil, pipe.Skip
	}, pipe.Opts{Name: "read", Ordered: true, Workers: 2, Buffer: 2})
	sum := func() pipe.Aggregator[*laneItem, *laneItem] { return &summing{} }
	return pipe.Aggregate(read, sum, pipe.AggregateOpts{Name: "sum", Buffer: 1})
}

// lanesOf are the rounds of some of the lanes, as lists.
func lanesOf(sizes []int, first, end, each int, dropLast bool) pipe.Flow[[]laneItem] {
	var flows []pipe.Flow[*laneItem]
	for lane := first; lane < end; lane++ {
		flows = append(flows, laneFlow(lane, sizes[lane]))
	}
	last := func(v **laneItem) { (*v).last = true }
	in := pipe.Rounds(flows, nil, last, pipe.RoundOpts{Name: "rounds", First: first, Each: each, DropLast: dropLast})
	return pipe.Aggregate(in, func() pipe.Aggregator[*laneItem, []laneItem] { return &listing{} }, pipe.AggregateOpts{Name: "lists"})
}

type listing struct{ held []pipe.Held[*laneItem] }

func (r *listing) Add(_ context.Context, v pipe.Held[*laneItem], e *pipe.Emitter[*laneItem, []laneItem]) error {
	if r.held = append(r.held, v); v.Value.last {
		var all []laneItem
		for _, h := range r.held {
			all = append(all, laneItem{lane: h.Value.lane, sum: h.Value.sum})
		}
		e.Emit(all, r.held...)
		r.held = nil
	}
	return nil
}

func (r *listing) Flush(context.Context, *pipe.Emitter[*laneItem, []laneItem]) error { return nil }

// alone are those of a lane alone.
func alone(t testing.TB, lane, n int) (all []laneItem) {
	run := begun(t, laneFlow(lane, n), pipe.Config{})
	for v, err := range run.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *v)
	}
	return all
}

func begun[T any](t testing.TB, f pipe.Flow[T], c pipe.Config) *pipe.Run[T] {
	t.Helper()
	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	return run
}

// However lanes are divided among runs, and wherever these are cut, round n has the same
// items: the next ones of each lane.
func TestRoundsAreThoseOfTheLanes(t *testing.T) {
	leak.Check(t)
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 6).Draw(r, "sizes")
		each := rapid.IntRange(1, 3).Draw(r, "each")
		dropLast := rapid.Bool().Draw(r, "drop last")

		// What rounds are, made the slow way.
		var want [][]laneItem
		var lanes [][]laneItem
		for lane, n := range sizes {
			lanes = append(lanes, alone(t, lane, n))
		}
		for n := 0; ; n++ {
			var round []laneItem
			full := true
			for _, all := range lanes {
				mine := all[min(n*each, len(all)):min((n+1)*each, len(all))]
				round, full = append(round, mine...), full && len(mine) == each
			}
			if len(round) == 0 || dropLast && !full {
				break
			}
			want = append(want, round)
		}

		cuts := rapid.SliceOfNDistinct(rapid.IntRange(1, len(sizes)), 0, 3, rapid.ID).Draw(r, "cuts")
		slices.Sort(cuts)
		got := make([][]laneItem, len(want))
		first := 0
		for _, end := range append(cuts, len(sizes)) {
			if end == first {
				continue
			}
			state := pipe.State{}
			for n, epoch := 0, 0; epoch == 0; {
				run := begun(t, lanesOf(sizes, first, end, each, dropLast), pipe.Config{Resume: state})
				for range rapid.IntRange(1, 4).Draw(r, "rounds") {
					round, err := run.Next(context.Background())
					if err == io.EOF {
						epoch++
						break
					}
					if err != nil {
						r.Fatal(err)
					}
					state = run.State()
					if n++; n <= len(want) {
						got[n-1] = append(got[n-1], round...)
					} else if !dropLast { // else these lanes alone have more
						r.Fatalf("lanes %d to %d have round %d: %v", first, end, n-1, round)
					}
				}
				run.Close()
			}
			first = end
		}
		for n := range want {
			if !slices.Equal(got[n], want[n]) {
				r.Fatalf("round %d: %v, want %v", n, got[n], want[n])
			}
		}
	})
}

// grouping hands on sums in groups, whose last items say so.
type grouping struct{ held []pipe.Held[*laneItem] }

func (g *grouping) Add(ctx context.Context, v pipe.Held[*laneItem], e *pipe.Emitter[*laneItem, *laneItem]) error {
	if g.held = append(g.held, v); v.Value.sum%2 == 0 {
		return g.Flush(ctx, e)
	}
	return nil
}

func (g *grouping) Flush(_ context.Context, e *pipe.Emitter[*laneItem, *laneItem]) error {
	for i, h := range g.held {
		e.Emit(&laneItem{lane: h.Value.lane, sum: h.Value.sum, last: i == len(g.held)-1}, h)
	}
	g.held = nil
	return nil
}

// groupsOfLanes are lists of the groups of some of the lanes.
func groupsOfLanes(sizes []int, first, end int, dropLast bool) pipe.Flow[[]laneItem] {
	var flows []pipe.Flow[*laneItem]
	for lane := first; lane < end; lane++ {
		flows = append(flows, pipe.Aggregate(laneFlow(lane, sizes[lane]),
			func() pipe.Aggregator[*laneItem, *laneItem] { return &grouping{} }, pipe.AggregateOpts{Name: "groups", Buffer: 1}))
	}
	last := func(v *laneItem) bool { return v.last }
	in := pipe.RoundGroups(flows, last, pipe.RoundOpts{Name: "rounds", First: first, DropLast: dropLast})
	return pipe.Aggregate(in, func() pipe.Aggregator[*laneItem, []laneItem] { return &listing{} }, pipe.AggregateOpts{Name: "lists"})
}

// Wherever runs are cut, also within a round, and however lanes are divided among those
// that go on: each lane has the groups that it has alone, a round after the other.
func TestRoundsOfGroups(t *testing.T) {
	leak.Check(t)
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 6).Draw(r, "sizes")
		dropLast := rapid.Bool().Draw(r, "drop last")
		var want [][][]laneItem // by lane
		least := 30
		for lane, n := range sizes {
			var groups [][]laneItem
			var group []laneItem
			all := alone(t, lane, n)
			for i, v := range all {
				if group = append(group, laneItem{lane: lane, sum: v.sum}); v.sum%2 == 0 || i == len(all)-1 {
					groups, group = append(groups, group), nil
				}
			}
			want, least = append(want, groups), min(least, len(groups))
		}

		had := make([]int, len(sizes)) // groups, by lane
		state := pipe.State{}
		for over := false; !over; {
			over = true
			next := pipe.State{Version: pipe.StateVersion, Sources: map[string]pipe.SourceState{}, Merges: map[string]pipe.Progress{}}
			parts := rapid.IntRange(1, len(sizes)).Draw(r, "runs")
			if dropLast { // a run that has all lanes ends with the shortest
				parts = 1
			}
			for part := range parts {
				first, end := len(sizes)*part/parts, len(sizes)*(part+1)/parts
				mine := pipe.State{}
				if state.Version > 0 {
					mine = pipe.State{Version: state.Version, Sources: map[string]pipe.SourceState{}, Merges: map[string]pipe.Progress{}}
				}
				for lane := first; lane < end && state.Version > 0; lane++ {
					numbers, rounds := pipe.LaneOf("numbers", lane), pipe.LaneOf("rounds", lane)
					mine.Sources[numbers], mine.Merges[rounds] = state.Sources[numbers], state.Merges[rounds]
				}

				run := begun(t, groupsOfLanes(sizes, first, end, dropLast), pipe.Config{Resume: mine})
				ended := false
				for range rapid.IntRange(1, 9).Draw(r, "groups") {
					got, err := run.Next(context.Background())
					lane := -1 // whose turn it is
					for i := first; i < end; i++ {
						if had[i] < len(want[i]) && (lane < 0 || had[i] < had[lane]) {
							lane = i
						}
					}
					if ended = lane < 0 || dropLast && had[lane] == least; ended {
						if err != io.EOF {
							r.Fatalf("%v, %v after the last group", got, err)
						}
						break
					}
					if err != nil || !slices.Equal(got, want[lane][had[lane]]) {
						r.Fatalf("group %d of lane %d: %v, %v, want %v", had[lane], lane, got, err, want[lane][had[lane]])
					}
					had[lane]++
				}
				for key, at := range run.State().Sources {
					if ended { // as it is for those that have more
						lane := 0
						fmt.Sscanf(key, "numbers@%d", &lane)
						at = pipe.SourceState{Low: int64(sizes[lane])}
					}
					next.Sources[key] = at
				}
				for key, at := range run.State().Merges {
					next.Merges[key] = at
				}
				over = over && ended
				run.Close()
			}
			state = next
		}
	})
}

// A function that fails ends the run, whatever it is asked.
func TestFunctionsOfRoundsThatPanic(t *testing.T) {
	leak.Check(t)
	flows := func() (all []pipe.Flow[int]) {
		for range 2 {
			all = append(all, pipe.From("numbers", pipe.Count(4)))
		}
		return all
	}
	o := pipe.RoundOpts{Name: "rounds"}
	each := pipe.RoundOpts{Name: "rounds", Each: 2}
	for name, f := range map[string]pipe.Flow[int]{
		"hold": pipe.Rounds(flows(), func(int) { panic("bad") }, func(*int) {}, each),
		"last": pipe.Rounds(flows(), nil, func(*int) { panic("bad") }, each),
		"ends": pipe.RoundGroups(flows(), func(int) bool { panic("bad") }, o),
		"exit": pipe.RoundGroups(flows(), func(int) bool { runtime.Goexit(); return false }, o),
	} {
		run := begun(t, f, pipe.Config{})
		for {
			if _, err := run.Next(context.Background()); err != nil {
				var failed *pipe.StageError
				if !errors.As(err, &failed) || failed.Stage != "rounds" {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
		}
	}
}

func TestRoundsThatCannotBe(t *testing.T) {
	one := []pipe.Flow[int]{pipe.From("numbers", pipe.Count(4))}
	for want, f := range map[string]pipe.Flow[int]{
		"Each is 0":              pipe.Rounds(one, nil, func(*int) {}, pipe.RoundOpts{Name: "rounds"}),
		"its function is nil":    pipe.Rounds(one, nil, nil, pipe.RoundOpts{Name: "rounds", Each: 1}),
		"First is -1":            pipe.Rounds(one, nil, func(*int) {}, pipe.RoundOpts{Name: "rounds", Each: 1, First: -1}),
		"it puts nothing":        pipe.Rounds(nil, nil, func(*int) {}, pipe.RoundOpts{Name: "rounds", Each: 1}),
		"has a group of each":    pipe.RoundGroups(one, func(int) bool { return true }, pipe.RoundOpts{Name: "rounds", Each: 1}),
		"rounds: its function i": pipe.RoundGroups(one, nil, pipe.RoundOpts{Name: "rounds"}),
	} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Stages of one name are one to people.
func TestLanesAreShownAsOne(t *testing.T) {
	leak.Check(t)
	f := lanesOf([]int{20, 20, 20}, 0, 3, 1, false)
	run := begun(t, f, pipe.Config{})
	if err := run.SetWorkers("read", 5); err != nil {
		t.Fatal(err)
	}
	for _, err := range run.All() {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := run.Stats()
	var names []string
	for _, stage := range s.Stages {
		names = append(names, fmt.Sprintf("%s %d", stage.Name, stage.In))
	}
	if got := strings.Join(names, ", "); !strings.HasPrefix(got, "numbers 60, read 60, sum 5") || len(names) != 5 {
		t.Errorf("stages: %s", got)
	}
	if read := s.Stages[1]; read.Workers != 6 { // two each
		t.Errorf("%d workers", read.Workers)
	}
	if len(s.Queues) != 5 {
		t.Errorf("%d queues", len(s.Queues))
	}
	if state := run.State(); state.Sources["numbers@2"].Epoch != 1 {
		t.Errorf("state %+v", state)
	}
}

func TestALaneThatFailsEndsTheRun(t *testing.T) {
	leak.Check(t)
	bad := errors.New("bad")
	var flows []pipe.Flow[int]
	for lane := range 3 {
		flows = append(flows, pipe.Map(pipe.From("numbers", pipe.Count(9)), func(_ context.Context, i int) (int, error) {
			if lane == 1 && i == 4 {
				return 0, bad
			}
			return 10*i + lane, nil
		}, pipe.Opts{Name: "read", Ordered: true}))
	}
	run := begun(t, pipe.Rounds(flows, nil, func(*int) {}, pipe.RoundOpts{Name: "rounds", First: 6, Each: 1}), pipe.Config{})
	var got []int
	for v, err := range run.All() {
		if err != nil {
			var failed *pipe.StageError
			if !errors.As(err, &failed) || failed.Stage != "read" || failed.Source != "numbers@7" || failed.Pos != 4 || !errors.Is(err, bad) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, v)
	}
	if want := []int{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32, 40}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
