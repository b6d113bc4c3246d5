package pipe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// variety is a flow of everything that a state knows: two sources, turns, and outputs of
// outputs, of items and of groups.
func variety() pipe.Flow[int] {
	value := func(source int) func(int, int64) int {
		return func(epoch int, pos int64) int { return 1000*source + 100*(epoch%2) + int(pos) }
	}
	one := pipe.FlatMap(pipe.From("one", pipetest.Numbers{N: 6, Value: value(1)}), twice, pipe.Opts{Name: "twice", Workers: 2, Ordered: true})
	two := pipe.From("two", pipetest.Numbers{N: 5, Value: value(2)})
	f := pipe.Merge([]pipe.Flow[int]{one, two}, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
	c := construct{kind: "groups", salt: 5, n: 3}
	items := pipe.Aggregate(f, func() pipe.Aggregator[int, placed] { return &placer{sorter{construct: c}} }, pipe.AggregateOpts{Name: "buckets"})
	write := func(_ context.Context, p placed, b *numbered, row int) error {
		if b.rows[row] = p.v; p.v%7 == 0 {
			return errBad
		}
		return nil
	}
	filled := pipe.FillGroups(items, 3, func(p placed) bool { return p.last }, &spyStore{n: 3}, write, pipe.FillOpts{Name: "fill", Workers: 2})
	rows := pipe.Map(filled, func(_ context.Context, b *numbered) ([]int, error) { return b.rows, nil }, pipe.Opts{Name: "rows"})
	return pipe.Unbatch(rows, pipe.UnbatchOpts{Name: "flat"})
}

// A state reads as it is documented.
func TestStateIsReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := start(t, variety(), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}, Epoch: 2})
		defer run.Close()
		for range 7 {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(run.State())
		if want := strings.Join([]string{
			`{"version":1,"sources":{"one":{"epoch":2,"low":2,"lost":[1]},"two":{"epoch":2,"low":0,"ahead":[[4,5]],"lost":[2],"open":[2]}},`,
			`"merges":{"merge":{"low":1,"ahead":[[2,3],[4,5],[6,7],[8,10]]}},`,
			`"parts":[{"stage":"twice","source":"one","item":[2],"low":1},{"stage":"flat","source":"two","item":[3],"low":2,"of":{"members":2,"hash":"dd9c2e621ce0a3e5","items":[{"source":"one","item":[2],"range":[1,2]},{"source":"two","range":[2,4]}]}}]}`,
		}, ""); err != nil || string(text) != want {
			t.Errorf("%v: %s", err, text)
		}
	})
}

// A state that cannot be is refused before anything runs.
func TestStatesAreCheckedFirst(t *testing.T) {
	bad := pipe.State{Version: pipe.StateVersion, Sources: map[string]pipe.SourceState{"one": {Low: -1}}}
	run, err := pipe.Start(context.Background(), variety(), pipe.Config{Resume: bad})
	if run != nil || !contains(err, "source one: position -1") || !contains(err, "lacks the source two") {
		t.Error(err)
	}
}

// A state within a batch that another run may put together of other items is refused,
// with the stage that is to blame; one after it is not.
func TestStateWithinALooseBatch(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: 20})
	loose := pipe.Map(numbers, same, pipe.Opts{Name: "loose", Workers: 2})
	fill := func(o pipe.FillOpts) pipe.Flow[[]int] {
		o.Name = "fill"
		return pipe.Fill(numbers, 4, plainStore{4}, writeUnless(), o)
	}
	by := pipe.Merge([]pipe.Flow[int]{numbers, pipe.From("others", pipetest.Numbers{N: 20})}, pipe.MergeOpts{Name: "by arrival"})
	for blamed, f := range map[string]pipe.Flow[[]int]{
		"loose":      pipe.Batch(loose, 4, pipe.BatchOpts{Name: "batch"}),
		"by arrival": pipe.Batch(by, 4, pipe.BatchOpts{Name: "batch"}),
		"fill":       fill(pipe.FillOpts{Workers: 2}),
		"":           pipe.Batch(pipe.Map(numbers, same, pipe.Opts{Name: "map", Workers: 2, Ordered: true}), 4, pipe.BatchOpts{Name: "batch"}),
	} {
		flat := pipe.Unbatch(pipe.Map(f, func(_ context.Context, v []int) ([]int, error) { return v, nil }, pipe.Opts{Name: "as it is", Workers: 3, Ordered: true}), pipe.UnbatchOpts{Name: "flat"})
		run := start(t, flat, pipe.Config{})
		for range 6 {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		within := run.State()
		run.Close()
		again, err := pipe.Start(context.Background(), flat, pipe.Config{Resume: within})
		if err == nil {
			again.Close()
		}
		if blamed == "" && err != nil || blamed != "" && !contains(err, "because stage "+blamed+" keeps no order") {
			t.Errorf("%s: %v", blamed, err)
		}
		within.Parts = nil
		if again, err = pipe.Start(context.Background(), flat, pipe.Config{Resume: within}); err != nil {
			t.Errorf("%s: %v", blamed, err)
		} else {
			again.Close()
		}
	}
}

// A state is as large as what is in flight, however many items have passed, and what an
// aggregator holds counts as that.
func TestStateIsBounded(t *testing.T) {
	numbers := pipe.From("numbers", pipetest.Numbers{N: -1})
	many := pipe.FlatMap(numbers, each(func(v int) []int { return []int{v, -v} }), pipe.Opts{Name: "many", Workers: 4})
	const held = 64
	hold := pipe.Aggregate(numbers, func() pipe.Aggregator[int, int] { return &holdsSome{most: held} }, pipe.AggregateOpts{Name: "hold", Buffer: 8})
	for name, f := range map[string]pipe.Flow[int]{
		"map":       pipe.Map(numbers, same, pipe.Opts{Name: "map", Workers: 8, Buffer: 64}),
		"many":      many,
		"aggregate": hold,
	} {
		run := start(t, f, pipe.Config{})
		largest := 0
		items := tier.Cases(aMillion/10, aMillion)
		for i := range items {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			if i%(items/100) == 0 {
				text, err := json.Marshal(run.State())
				if err != nil {
					t.Fatal(err)
				}
				largest = max(largest, len(text))
			}
		}
		run.Close()
		// Sixteen digits for each end of a range, and as many items in flight as the
		// stages' places.
		if most := 200 + 2*40*(held+64+8+pipe.SourceBuffer); largest > most {
			t.Errorf("%s: a state of %d bytes, more than %d", name, largest, most)
		}
	}
}

// holdsSome holds every thousandth item, and hands the oldest on when these are too many.
type holdsSome struct {
	most int
	held []pipe.Held[int]
}

func (h *holdsSome) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	if v.Value%1000 != 0 {
		e.Emit(v.Value, v)
		return nil
	}
	if h.held = append(h.held, v); len(h.held) > h.most {
		e.Emit(h.held[0].Value, h.held[0])
		h.held = h.held[1:]
	}
	return nil
}

func (h *holdsSome) Flush(context.Context, *pipe.Emitter[int, int]) error { return nil }

// Any text is refused as a state, or goes on with a run in which no item comes twice.
func FuzzState(f *testing.F) {
	run, err := pipe.Start(context.Background(), variety(), pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
	if err != nil {
		f.Fatal(err)
	}
	for err == nil {
		var text []byte
		if text, err = json.Marshal(run.State()); err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		_, err = run.Next(context.Background())
	}
	run.Close()
	f.Add([]byte(`{"version":1,"sources":{"one":{"epoch":0,"low":0},"two":{"epoch":0,"low":281474976710655}},"merges":{"merge":{"low":0,"ahead":[[1,281474976710655]]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s pipe.State
		if json.Unmarshal(text, &s) != nil {
			return
		}
		synctest.Test(t, func(t *testing.T) { goOnFrom(t, s) })
	})
}

func goOnFrom(t *testing.T, s pipe.State) {
	run, err := pipe.Start(context.Background(), variety(), pipe.Config{Resume: s, Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}})
	if err != nil {
		if !strings.Contains(err.Error(), "the state to resume from") {
			t.Errorf("%v", err)
		}
		return
	}
	defer run.Close()
	seen := make(map[int]bool)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for {
		v, err := run.Next(ctx)
		switch stage := (*pipe.StageError)(nil); {
		case err == nil && seen[v]:
			t.Fatalf("%d comes twice", v)
		case err == nil:
			seen[v] = true
		case err == io.EOF:
			seen = make(map[int]bool)
			if _, err := json.Marshal(run.State()); err != nil {
				t.Error(err)
			}
		case errors.Is(err, pipe.ErrDone):
			return
		case errors.As(err, &stage):
			if !contains(err, "did not come again") {
				t.Errorf("%v", err)
			}
			return
		default:
			t.Fatal(fmt.Sprint("it hangs: ", err))
		}
	}
}
