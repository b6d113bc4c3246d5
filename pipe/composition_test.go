package pipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// saved is a state as it comes out of a file, after so many items of a flow, whose stages
// are given other numbers of workers first.
func saved[T any](t testing.TB, f pipe.Flow[T], items int, workers map[string]int) (s pipe.State, all []T) {
	t.Helper()
	run := start(t, f, pipe.Config{})
	defer run.Close()
	for stage, n := range workers {
		if err := run.SetWorkers(stage, n); err != nil {
			t.Fatal(err)
		}
	}
	for range items {
		v, err := run.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	text, err := json.Marshal(run.State())
	if err := errors.Join(err, json.Unmarshal(text, &s)); err != nil {
		t.Fatal(err)
	}
	return s, all
}

// remains reads the rest of an epoch. Its end is no error.
func remains[T any](run *pipe.Run[T]) ([]T, error) {
	all, err := drain(run)
	if err == io.EOF {
		err = nil
	}
	return all, err
}

// late is an operation that takes long for some numbers.
func late(numbers ...int) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) {
		if i := slices.Index(numbers, v); i >= 0 {
			return v, pipetest.Sleep(ctx, time.Duration(i+1)*time.Second)
		}
		return v, nil
	}
}

// A state within a batch is refused by a run that puts the batch together of other items,
// or of the same in another order, before anything of it is handed on: whether the number
// of workers was changed in the definition or in the run.
func TestStateWithinABatchOfOtherOrder(t *testing.T) {
	for _, live := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			flow := func(workers int) pipe.Flow[int] {
				f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 9}), late(0), pipe.Opts{Name: "map", Workers: workers})
				return pipe.Unbatch(pipe.Batch(f, 3, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "flat"})
			}
			workers, change := 2, map[string]int(nil)
			if live {
				workers, change = 1, map[string]int{"map": 2}
			}
			s, all := saved(t, flow(workers), 2, change)
			if slices.Equal(all, []int{0, 1}) {
				t.Fatalf("the order of %v is that of the input", all)
			}
			run := start(t, flow(1), pipe.Config{Resume: s, Failures: pipe.Policy{Skip: true, Count: -1}})
			defer run.Close()
			got, err := remains(run)
			if err == nil || !contains(err, "did not come again: it was made of 3 items") || len(got) > 0 {
				t.Errorf("%v, then %v", got, err)
			}
		})
	}
}

// In completion order items that came later are through before the refusal of an earlier
// one is: it does not wait for them to be fewer.
func TestRefusalAfterLaterItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flow := func(n int, drop func([]int)) pipe.Flow[int] {
			f := pipe.Discard(pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 24}), n, pipe.BatchOpts{Name: "batch"}), drop)
			return pipe.FlatMap(f, each(asList), pipe.Opts{Name: "flat", Workers: 3})
		}
		s, all := saved(t, flow(4, nil), 2, nil)
		again := func(v int) bool { return v/4 == all[0]/4 || v/4 == all[1]/4 }
		run := start(t, flow(2, func([]int) { pipetest.Sleep(context.Background(), time.Second) }), pipe.Config{Resume: s})
		defer run.Close()
		if got, err := remains(run); !contains(err, "did not come again: it was made of 4 items") || slices.ContainsFunc(got, again) {
			t.Errorf("%v, then %v", got, err)
		}
	})
}

// What was taken out of a batch of one does not come again where it is taken out of a
// batch of several, under another name: that is told before any of these is handed on.
func TestStateAfterABatchOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flow := func(n int) pipe.Flow[int] {
			f := pipe.Batch(pipe.From("numbers", pipetest.Numbers{N: 9}), n, pipe.BatchOpts{Name: "batch"})
			return pipe.FlatMap(pipe.Unbatch(f, pipe.UnbatchOpts{Name: "flat"}), twice, pipe.Opts{Name: "twice"})
		}
		s := pipe.State{ // of a run in which the batches came in another order
			Version: 1,
			Sources: map[string]pipe.SourceState{"numbers": {Low: 1}},
			Parts:   []pipe.PartState{{Stage: "twice", Source: "numbers", Item: []int64{2, 0}, Progress: pipe.Progress{Low: 1}}},
		}
		again := start(t, flow(1), pipe.Config{Resume: s})
		defer again.Close()
		if got, err := remains(again); err != nil || len(got) != 2*8-1 {
			t.Errorf("%v, then %v", got, err)
		}
		run := start(t, flow(2), pipe.Config{Resume: s})
		defer run.Close()
		if got, err := remains(run); !contains(err, "taken out of item [2] alone, and now 2 items (1–2 of numbers)") || len(got) > 0 {
			t.Errorf("%v, then %v", got, err)
		}
	})
}

// The same for other changes than of an order: what comes in an item that was put
// together is compared, however that was done.
func TestStateWithinWhatIsPutTogetherInAnotherWay(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 24})
	flat := func(f pipe.Flow[[]int]) pipe.Flow[int] { return pipe.Unbatch(f, pipe.UnbatchOpts{Name: "flat"}) }
	batch := func(f pipe.Flow[int], n int) pipe.Flow[[]int] {
		return pipe.Batch(f, n, pipe.BatchOpts{Name: "batch"})
	}
	nested := func(inner, outer int) pipe.Flow[int] {
		f := pipe.Batch(batch(numbers, inner), outer, pipe.BatchOpts{Name: "outer"})
		return flat(pipe.Unbatch(f, pipe.UnbatchOpts{Name: "outer flat"}))
	}
	divided := func(of int) pipe.Flow[int] {
		pick := func(_ context.Context, v int) (int, error) { return v / of % 2, nil }
		same := func(f pipe.Flow[[]int]) pipe.Flow[[]int] { return f }
		return flat(pipe.RouteBatch(batch(numbers, 4), pick, batchBranches{same, same}, pipe.RouteBatchOpts{Name: "divide"}))
	}
	mixed := func(weights ...float64) pipe.Flow[int] {
		twos := pipe.FlatMap(pipe.From("others", pipetest.Numbers{N: 12, Value: func(_ int, pos int64) int { return 100 + int(pos) }}), twice, pipe.Opts{Name: "twice"})
		return flat(batch(pipe.Merge([]pipe.Flow[int]{numbers, twos}, pipe.MergeOpts{Name: "merge", Order: pipe.ByWeight, Weights: weights, Seed: 1}), 6))
	}
	without := func(bad int) pipe.Flow[int] {
		keep := func(_ context.Context, v int) (bool, error) { return v != bad, nil }
		return flat(batch(pipe.Filter(numbers, keep, pipe.Opts{Name: "filter"}), 4))
	}
	groups := func(every int) pipe.Flow[int] {
		f := pipe.FillGroups(numbers, 6, multipleOf(every), &spyStore{n: 6}, func(_ context.Context, v int, b *numbered, row int) error {
			b.rows[row] = v
			return nil
		}, pipe.FillOpts{Name: "fill"})
		return pipe.FlatMap(f, each(func(b *numbered) []int { return b.rows }), pipe.Opts{Name: "flat"})
	}
	for name, c := range map[string]struct {
		items        int
		before, then pipe.Flow[int]
	}{
		"size":      {6, flat(batch(numbers, 4)), flat(batch(numbers, 5))},
		"larger":    {6, flat(batch(numbers, 4)), flat(batch(numbers, 8))},
		"aggregate": {6, flat(pipe.Aggregate(numbers, func() pipe.Aggregator[int, []int] { return &pairs{n: 4} }, pipe.AggregateOpts{Name: "batch"})), flat(pipe.Aggregate(numbers, func() pipe.Aggregator[int, []int] { return &pairs{n: 3} }, pipe.AggregateOpts{Name: "batch"}))},
		"filter":    {5, without(-1), without(6)},
		"nested":    {3, nested(2, 3), nested(3, 2)},
		"turns":     {8, mixed(1, 1), mixed(1, 3)},
		"divided":   {6, divided(1), divided(2)},
		"groups":    {5, groups(3), groups(4)},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, all := saved(t, c.before, c.items, nil)
			if len(s.Parts) == 0 {
				t.Fatalf("%s: it is not within anything: %+v", name, s)
			}
			again := start(t, c.before, pipe.Config{Resume: s})
			rest, err := remains(again)
			again.Close()
			whole, _ := saved(t, c.before, 0, nil)
			uncut := start(t, c.before, pipe.Config{Resume: whole})
			want, _ := remains(uncut)
			uncut.Close()
			if err != nil || !slices.Equal(append(slices.Clone(all), rest...), want) {
				t.Errorf("%s: %v and %v, not %v: %v", name, all, rest, want, err)
			}
			run, err := pipe.Start(context.Background(), c.then, pipe.Config{Resume: s})
			if err != nil {
				return
			}
			defer run.Close()
			got, err := remains(run)
			if !contains(err, "did not come again") {
				t.Errorf("%s: after %v: %v, %v", name, all, got, err)
			}
			for _, v := range got {
				if slices.Contains(all, v) {
					t.Errorf("%s: %d comes twice", name, v)
				}
			}
		})
	}
}

// A state of an engine that did not say what items were put together of is read where
// that does not matter, and refused where it does.
func TestStatesThatDoNotSayWhatOf(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 12})
	batches := pipe.Unbatch(pipe.Batch(numbers, 4, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "flat"})
	for name, c := range map[string]struct {
		flow pipe.Flow[int]
		bad  bool
	}{
		"items":            {pipe.FlatMap(numbers, twice, pipe.Opts{Name: "twice"}), false},
		"batches":          {batches, true},
		"items of batches": {pipe.FlatMap(batches, twice, pipe.Opts{Name: "twice"}), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, all := saved(t, c.flow, 5, nil)
			some := false
			for i := range s.Parts {
				some = some || s.Parts[i].Of != nil
				s.Parts[i].Of = nil
			}
			run := start(t, c.flow, pipe.Config{Resume: s})
			defer run.Close()
			got, err := remains(run)
			if some != c.bad || c.bad && (!contains(err, "the state does not say what") || len(got) > 0) || !c.bad && (err != nil || len(all)+len(got) != 24) {
				t.Errorf("%s: %v, then %v: %v", name, all, got, err)
			}
		})
	}
}

// An item that is made into fewer outputs than were finished is refused.
func TestFewerOutputsThanBefore(t *testing.T) {
	flow := func(n int) pipe.Flow[int] {
		return pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 3}), each(func(v int) []int { return upTo(10*v + n)[10*v:] }), pipe.Opts{Name: "many"})
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := saved(t, flow(5), 4, nil)
		run := start(t, flow(2), pipe.Config{Resume: s})
		defer run.Close()
		if got, err := remains(run); !contains(err, "more outputs of this item were finished") || len(got) > 0 {
			t.Errorf("%v, then %v", got, err)
		}
	})
}

// otherwise is a chain with settings that may change between save and resume: how many
// workers its stages have, whether they keep order, how long operations take, and sizes.
func (d *draft) otherwise(c chain, sizes bool) chain {
	change := func(s *construct, inside bool) {
		d.count++
		s.workers, s.pace = d.number("other workers", 1, 3), d.number("other pace", 0, 1000)
		switch {
		case inside: // an ordered route takes no branches that keep no order
		case d.chance("loose", 50):
			s.ordered = false
		case s.kind != "route":
			s.ordered = true
		}
		if sizes {
			s.n = d.number("other n", 1, 4)
		}
	}
	return c.with(change)
}

// with is a chain whose constructs are changed; those inside are of a branch.
func (c chain) with(change func(s *construct, inside bool)) chain {
	c.inputs, c.steps = slices.Clone(c.inputs), changed(c.steps, false, change)
	for i := range c.inputs {
		c.inputs[i] = c.inputs[i].with(change)
	}
	change(&c.source, false)
	return c
}

func changed(steps []construct, inside bool, change func(s *construct, inside bool)) []construct {
	steps = slices.Clone(steps)
	for i := range steps {
		s := &steps[i]
		change(s, inside)
		s.branches = slices.Clone(s.branches)
		for k := range s.branches {
			s.branches[k] = changed(s.branches[k], true, change)
		}
	}
	return steps
}

// opener hands on each of several by itself, as outputs of all of them.
type opener struct{ pairs }

func (p *opener) Add(ctx context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	if p.held = append(p.held, v); len(p.held) == p.n {
		return p.Flush(ctx, e)
	}
	return nil
}

func (p *opener) Flush(_ context.Context, e *pipe.Emitter[int, int]) error {
	if len(p.held) == 0 {
		return nil
	}
	out := e.Open(p.held...)
	for _, h := range p.held {
		out.Emit(h.Value)
	}
	p.held = nil
	out.Close("{}")
	return nil
}

func (p *opener) Resume(pipe.Memory) error { return nil }

// Whatever a flow is made of, wherever it is cut, and whatever has changed when it goes
// on: every item comes once, or the run ends with a reason, and nothing has come twice by
// then. Where all stages keep order and nothing has changed, it always goes on.
func TestCutsWithOtherSettings(t *testing.T) {
	outcomes := make(map[string]int)
	rapid.Check(t, func(rt *rapid.T) {
		d := newDraft(rt)
		d.calm, d.ordered = true, d.chance("in order", 25)
		sure := d.ordered
		before := d.chain(1)
		then := before
		if !sure && d.chance("change", 50) {
			then = d.otherwise(before, d.chance("sizes", 30))
		}
		live := make(map[string]int) // workers in the run before
		if !sure && d.chance("live", 50) {
			before = before.with(func(s *construct, inside bool) {
				if s.kind == "map" && !inside {
					live[s.name], s.workers = s.workers, 1
				}
			})
			then = then.with(func(s *construct, _ bool) { s.workers = 1 })
		}
		e := newEvery(2)
		found := inBubble(t, func(found *findings) { e.cutWith(found, e.flow(before), e.flow(then), live, sure, outcomes) })
		if faults := e.Faults(); found == "" && len(faults) > 0 {
			found = strings.Join(faults, "; ")
		}
		if found != "" {
			rt.Fatalf("%s\n%v\n%v", found, e.flow(before), e.flow(then))
		}
	})
	if !tier.Whole() {
		return // of few flows, chance decides what comes of them
	}
	const least = 20
	for _, outcome := range []string{"exact", "refused at the start", "refused on the way"} {
		if outcomes[outcome] < least {
			t.Errorf("%v: it tests nothing", outcomes)
		}
	}
}

func (e *every) cutWith(t testing.TB, before, then pipe.Flow[int], live map[string]int, sure bool, outcomes map[string]int) {
	whole := start(t, before, pipe.Config{})
	defer whole.Close()
	for stage, n := range live {
		e.allow(stage, n)
		if err := whole.SetWorkers(stage, n); err != nil {
			t.Fatalf("%v", err)
		}
	}
	var all []int
	var states []pipe.State
	for {
		states = append(states, whole.State())
		v, err := whole.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		all = append(all, v)
		e.Gone(v)
	}
	want := slices.Sorted(slices.Values(all))
	for cut, s := range states {
		var back pipe.State
		text, err := json.Marshal(s)
		if err := errors.Join(err, json.Unmarshal(text, &back)); err != nil {
			t.Fatalf("%v", err)
		}
		run, err := pipe.Start(context.Background(), then, pipe.Config{Resume: back})
		if err != nil {
			outcomes["refused at the start"]++
			if sure {
				t.Fatalf("cut after %v: %v", all[:cut], err)
			}
			continue
		}
		rest, err := remains(run)
		run.Close()
		e.list(rest)
		got := slices.Concat(all[:cut], rest)
		slices.Sort(got)
		switch {
		case err == nil && slices.Equal(got, want):
			outcomes["exact"]++
		case err == nil:
			t.Fatalf("cut after %v: then come %v\n%s", all[:cut], rest, text)
		case sure:
			t.Fatalf("cut after %v: then come %v, and %v\n%s", all[:cut], rest, err, text)
		case !pipe.Stops(err) || len(slices.Compact(got)) != cut+len(rest):
			t.Fatalf("cut after %v: it ends with %v, after %v\n%s", all[:cut], err, rest, text)
		default:
			outcomes["refused on the way"]++
		}
	}
}

// slowFrom is a source of four numbers, which takes long for those from 2 on.
type slowFrom struct{}

func (slowFrom) Items(ctx context.Context, _ int, pos int64) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for ; pos < 4; pos++ {
			if pos >= 2 && pipetest.Sleep(ctx, 5*time.Second) != nil {
				return
			}
			if !yield(int(pos), nil) {
				return
			}
		}
	}
}

// A merge that ends its epoch cuts what its inputs still make. A batch that is smaller
// for it, in a run that was resumed within the whole one, is disposed of, and is no
// reason to refuse the state.
func TestStateWithinABatchThatAMergeCuts(t *testing.T) {
	for _, aggregate := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			pick := func(_ int, turn int64) int {
				if turn < 3 {
					return 0
				}
				<-time.After(2 * time.Second)
				return -1
			}
			var batches pipe.Flow[[]int]
			if aggregate {
				begin := func() pipe.Aggregator[int, []int] { return &pairs{n: 4} }
				batches = pipe.Aggregate(pipe.From("numbers", slowFrom{}), begin, pipe.AggregateOpts{Name: "batch"})
			} else {
				batches = pipe.Batch(pipe.From("numbers", slowFrom{}), 4, pipe.BatchOpts{Name: "batch"})
			}
			numbers := pipe.Unbatch(batches, pipe.UnbatchOpts{Name: "flat"})
			f := pipe.Merge([]pipe.Flow[int]{numbers}, pipe.MergeOpts{Name: "merge", Order: pipe.ByPick, Pick: pick})

			s, all := saved(t, f, 3, nil)
			if !slices.Equal(all, []int{0, 1, 2}) {
				t.Fatal(all)
			}
			run := start(t, f, pipe.Config{Resume: s, Epochs: 2})
			defer run.Close()
			if rest, err := remains(run); err != nil || len(rest) > 0 {
				t.Errorf("%v, %v", rest, err)
			}
			if next, err := remains(run); err != nil || !slices.Equal(next, []int{0, 1, 2}) {
				t.Errorf("%v, %v", next, err)
			}
		})
	}
}

// What comes after a merge that has ended its epoch is needed, and has to be as it was.
func TestStateWithinABatchBehindAMergeThatCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		merged := pipe.Merge([]pipe.Flow[int]{hundreds(0, 3), hundreds(1, 50)}, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin, Until: pipe.Shortest})
		f := pipe.Unbatch(pipe.Batch(merged, 6, pipe.BatchOpts{Name: "batch"}), pipe.UnbatchOpts{Name: "flat"})
		s, _ := saved(t, f, 2, nil)
		for i := range s.Parts {
			s.Parts[i].Of.Hash = "0123456789abcdef"
		}
		run := start(t, f, pipe.Config{Resume: s})
		defer run.Close()
		if all, err := remains(run); err == nil {
			t.Errorf("a batch of others is gone on with: %v", all)
		}
	})
}
