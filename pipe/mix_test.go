package pipe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/headrace/headrace/pipe"
)

// measured is an item of an input, with a length that depends on where it is from.
type measured struct {
	input  int
	pos    int64
	length int64
}

// endless is a source without end, of items that are at most so long.
type endless struct {
	input int
	most  int64
}

func (e endless) Items(_ context.Context, epoch int, pos int64) iter.Seq2[measured, error] {
	return func(yield func(measured, error) bool) {
		for ; ; pos++ {
			h := uint64(epoch)<<40 + uint64(e.input)<<32 + uint64(pos)
			h = (h ^ h>>31) * 0x9e3779b97f4a7c15
			if !yield(measured{e.input, pos, int64((h ^ h>>29) >> 1 % uint64(e.most+1))}, nil) {
				return
			}
		}
	}
}

// lengths are sources of items of these lengths at most.
func lengths(most ...int64) (flows []pipe.Flow[measured]) {
	for i, n := range most {
		flows = append(flows, pipe.From(fmt.Sprint("source", i), endless{i, n}))
	}
	return flows
}

func lengthOf(m measured) int64 { return m.length }

// Each input has its share of all lengths at every turn: it is ahead by no more than its
// longest item, and behind by no more than the longest of any.
func TestMixesHoldSharesOfLengths(t *testing.T) {
	for _, c := range []struct {
		shares []uint64
		most   []int64
	}{
		{[]uint64{7, 3}, []int64{10, 1000}},
		{[]uint64{1, 1}, []int64{1, 1}},
		{[]uint64{1, 2, 3, 0, 1000}, []int64{5000, 20, 300, 10, 7}},
		{[]uint64{1 << 32, 1}, []int64{1 << 39, 1 << 39}},
		{append(slices.Repeat([]uint64{1}, 99), 99), slices.Repeat([]int64{512}, 100)},
	} {
		t.Run(fmt.Sprint(c.shares), func(t *testing.T) {
			o := pipe.MixOpts{Name: "mix", Shares: c.shares, Items: 2000}
			run := start(t, pipe.Mix(lengths(c.most...), lengthOf, nil, o), pipe.Config{Epochs: 2})
			defer run.Close()
			all := 0.0
			for _, s := range c.shares {
				all += float64(s)
			}
			longest := float64(slices.Max(c.most))
			for range 2 {
				given, sum := make([]float64, len(c.shares)), 0.0
				items := collect(t, run)
				if len(items) != 2000 {
					t.Fatalf("%d items", len(items))
				}
				next := make([]int64, len(c.shares))
				for turn, m := range items {
					if m.pos != next[m.input] {
						t.Fatalf("turn %d is item %d of input %d, wanted %d", turn, m.pos, m.input, next[m.input])
					}
					next[m.input]++
					given[m.input] += float64(m.length)
					sum += float64(m.length)
					for i, n := range given {
						off := n - sum*float64(c.shares[i])/all
						if off > float64(c.most[i])+1e-3 || off < -longest-1e-3 || c.shares[i] == 0 && n > 0 {
							t.Fatalf("after turn %d input %d is %v off its share", turn, i, off)
						}
					}
				}
			}
		})
	}
}

// Mixes of lanes begin as if one followed the other, so that the first items of all have
// the shares of all inputs.
func TestMixesOfLanesBeginApart(t *testing.T) {
	first := make([]int, 2)
	for lane := range int64(64) {
		equal := func(measured) int64 { return 10 }
		o := pipe.MixOpts{Name: "mix", Shares: []uint64{3, 1}, Items: 1, Ahead: lane}
		run := start(t, pipe.Mix(lengths(1, 1), equal, nil, o), pipe.Config{Epochs: 1})
		first[collect(t, run)[0].input]++
		run.Close()
	}
	if !slices.Equal(first, []int{48, 16}) {
		t.Errorf("%v of the first items are of each input", first)
	}
}

// odds hands on every second item of odd length with the one before, and others at once,
// so that turns finish out of order.
type odds struct{ held []pipe.Held[measured] }

func (o *odds) Add(_ context.Context, v pipe.Held[measured], e *pipe.Emitter[measured, measured]) error {
	if v.Value.length%2 == 0 {
		e.Emit(v.Value, v)
		return nil
	}
	if o.held = append(o.held, v); len(o.held) < 2 {
		return nil
	}
	e.Emit(v.Value, o.held...)
	o.held = nil
	return nil
}

func (o *odds) Flush(context.Context, *pipe.Emitter[measured, measured]) error { return nil }

// A run goes on at every cut with the same items, although some turns are finished and
// earlier ones are not. Its state is small.
func TestMixesGoOn(t *testing.T) {
	flow := func() pipe.Flow[measured] {
		o := pipe.MixOpts{Name: "mix", Shares: []uint64{5, 3, 2}, Items: 60, Ahead: 7}
		mixed := pipe.Mix(lengths(10, 700, 30), lengthOf, nil, o)
		kept := pipe.Filter(mixed, func(_ context.Context, m measured) (bool, error) { return m.length%5 != 0, nil }, pipe.Opts{Name: "keep"})
		return pipe.Aggregate(kept, func() pipe.Aggregator[measured, measured] { return new(odds) }, pipe.AggregateOpts{Name: "odds"})
	}
	run := start(t, flow(), pipe.Config{Epochs: 2})
	whole := append(collect(t, run), collect(t, run)...)
	run.Close()
	remembered := 0
	for cut := range len(whole) {
		run := start(t, flow(), pipe.Config{Epochs: 2})
		for range cut {
			if _, err := run.Next(t.Context()); err != nil {
				if _, err = run.Next(t.Context()); err != nil { // of the next epoch
					t.Fatal(err)
				}
			}
		}
		text, err := json.Marshal(run.State())
		run.Close()
		if err != nil {
			t.Fatal(err)
		}
		var state pipe.State
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
		if state.Memories["mix"].Groups > state.Merges["mix"].Low {
			remembered++
		}
		run = start(t, flow(), pipe.Config{Until: 2, Resume: state})
		rest := collect(t, run)
		if len(rest) < len(whole)-cut {
			rest = append(rest, collect(t, run)...)
		}
		run.Close()
		if !slices.Equal(rest, whole[cut:]) {
			t.Fatalf("after %d items: %v, wanted %v", cut, rest, whole[cut:])
		}
	}
	if remembered == 0 {
		t.Error("no state had turns that were finished before others")
	}
}

// changing is a mix whose shares change after some turns, over all epochs of 500.
func changing(most []int64, each int64, shares ...[]uint64) pipe.Flow[measured] {
	return pipe.Mix(lengths(most...), lengthOf, nil, pipe.MixOpts{Name: "mix", Shares: shares[0], Later: shares[1:], Items: 500,
		Stretch: func(epoch int, turn int64) int { return min(int((int64(epoch)*500+turn)/each), len(shares)-1) }})
}

// Shares that change hold as others do: what each input has had is what it was due in all
// stretches together, so nothing adds up, even where a stretch has only a few turns, but
// for rounding: less than one at each change.
func TestSharesChange(t *testing.T) {
	for _, each := range []int64{1, 3, 40, 300} {
		most := []int64{4000, 700, 100_000}
		var shares [][]uint64
		for i := range uint64(1000/each + 2) {
			shares = append(shares, []uint64{1 + i%3, 1 + i*i%7, 20})
		}
		run := start(t, changing(most, each, shares...), pipe.Config{Epochs: 2})
		for epoch := range int64(2) {
			given, due, sum := make([]float64, 3), make([]float64, 3), 0.0
			for turn, m := range collect(t, run) {
				now := shares[min((epoch*500+int64(turn))/each, int64(len(shares)-1))]
				all := float64(now[0] + now[1] + now[2])
				given[m.input] += float64(m.length)
				sum += float64(m.length)
				for i := range due {
					due[i] += float64(m.length) * float64(now[i]) / all
					if off := given[i] - due[i]; off > float64(most[i]+1000/each+1) || off < -2*100_000 {
						t.Fatalf("stretches of %d: after turn %d input %d is %v off", each, turn, i, off)
					}
				}
			}
		}
		run.Close()
	}
}

// An input without a share does not come, and is given later what it was short of.
func TestSharesOfNothing(t *testing.T) {
	run := start(t, changing([]int64{9, 9}, 250, []uint64{1, 1}, []uint64{0, 1}, []uint64{1, 0}, []uint64{1, 3}), pipe.Config{Epochs: 2})
	defer run.Close()
	var count [4][2]int
	var given [2]int64
	for epoch := range 2 {
		for turn, m := range collect(t, run) {
			at := (500*epoch + turn) / 250
			if count[at][m.input]++; at == 3 {
				given[m.input] += m.length
			}
		}
	}
	if count[1][0] > 0 || count[2][1] > 0 || count[0][0] == 0 || given[1] < 3*given[0]-40 || given[1] > 3*given[0]+40 {
		t.Errorf("%v, and %v of the last", count, given)
	}
}

func TestMixesWhoseSharesChangeGoOn(t *testing.T) {
	flow := func() pipe.Flow[measured] {
		shares := [][]uint64{{5, 3, 2}, {1, 0, 1}, {0, 4, 1}, {1, 1, 1}, {9, 1, 2}}
		mixed := changing([]int64{10, 700, 30}, 7, shares...)
		return pipe.Aggregate(mixed, func() pipe.Aggregator[measured, measured] { return new(odds) }, pipe.AggregateOpts{Name: "odds"})
	}
	run := start(t, flow(), pipe.Config{})
	whole := collect(t, run)
	run.Close()
	for cut := range 60 {
		run := start(t, flow(), pipe.Config{})
		for range cut {
			if _, err := run.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		state := run.State()
		run.Close()
		run = start(t, flow(), pipe.Config{Resume: state})
		rest := collect(t, run)
		run.Close()
		if !slices.Equal(rest, whole[cut:]) {
			t.Fatalf("after %d items: %v, wanted %v", cut, rest[:20], whole[cut:][:20])
		}
	}
}

func TestMixesRefuseStatesOfOthers(t *testing.T) {
	flow := func(n int) pipe.Flow[measured] {
		return pipe.Mix(lengths(slices.Repeat([]int64{9}, n)...), lengthOf, nil,
			pipe.MixOpts{Name: "mix", Shares: slices.Repeat([]uint64{1}, n), Items: 50})
	}
	run := start(t, flow(3), pipe.Config{})
	for range 10 {
		if _, err := run.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	good := run.State()
	run.Close()
	for _, text := range []string{"", "AA", "!", good.Memories["mix"].State[:3], "BAAAAA", "//////////////8"} {
		state := good
		state.Memories = map[string]pipe.Memory{"mix": {Groups: good.Memories["mix"].Groups, State: text}}
		if text == "" {
			state.Memories = nil
		}
		run := start(t, flow(3), pipe.Config{Resume: state})
		want := "does not say what each input of a mix has given"
		if _, err := run.Next(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		run.Close()
	}
}

// An input of which nothing arrives ends the run, if its user says so.
func TestMixesDoNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := lengths(5, 5)
		flows[1] = pipe.Filter(flows[1], func(context.Context, measured) (bool, error) { return false, nil }, pipe.Opts{Name: "none"})
		run := start(t, pipe.Mix(flows, lengthOf, nil, pipe.MixOpts{Name: "mix", Shares: []uint64{1, 1}, Items: 50,
			Without: func(input int, items int64) error {
				if items < 100 {
					return nil
				}
				return fmt.Errorf("input %d gives nothing", input)
			}}), pipe.Config{})
		defer run.Close()
		if _, err := drain(run); err == nil || !strings.Contains(err.Error(), "input 1 gives nothing") {
			t.Errorf("%v", err)
		}
	})
}

func TestMixesAreChecked(t *testing.T) {
	for why, o := range map[string]pipe.MixOpts{
		"3 Shares for 2 inputs":        {Shares: []uint64{1, 1, 1}},
		"1 Shares for 2 inputs":        {Shares: []uint64{1, 1}, Later: [][]uint64{{1}}, Stretch: func(int, int64) int { return 0 }},
		"Stretch is for shares that":   {Shares: []uint64{1, 1}, Later: [][]uint64{{1, 1}}},
		"the largest of Shares is 0":   {Shares: []uint64{0, 0}},
		"the largest of Shares is 429": {Shares: []uint64{1, 1<<32 + 1}},
		"Items is -1":                  {Shares: []uint64{1, 1}, Items: -1},
		"Ahead -2":                     {Shares: []uint64{1, 1}, Items: 1, Ahead: -2},
	} {
		o.Name = "mix"
		if err := pipe.Mix(lengths(1, 1), lengthOf, nil, o).Check(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// BenchmarkMixes measures a turn among 100 inputs, the whole way from the sources.
func BenchmarkMixes(b *testing.B) {
	run := start(b, pipe.Mix(lengths(slices.Repeat([]int64{512}, 100)...), lengthOf, nil,
		pipe.MixOpts{Name: "mix", Shares: append(slices.Repeat([]uint64{1}, 99), 99), Items: 1 << 40}), pipe.Config{Epochs: 1})
	defer run.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMixesByTurns measures the same for a merge whose turns are known.
func BenchmarkMixesByTurns(b *testing.B) {
	pick := func(_ int, turn int64) int { return int(turn % 100) }
	run := start(b, pipe.Merge(lengths(slices.Repeat([]int64{512}, 100)...), pipe.MergeOpts{Name: "mix", Order: pipe.ByPick, Pick: pick}),
		pipe.Config{Epochs: 1})
	defer run.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMixesByChoice measures it where a function chooses, for 64 turns at a time.
func BenchmarkMixesByChoice(b *testing.B) {
	choose := func(_ context.Context, at pipe.Turn) (c pipe.Chosen, _ error) {
		for turn := range int64(64) {
			c.Inputs = append(c.Inputs, int((at.Turn+turn)%100))
		}
		c.Says = "{}"
		return c, nil
	}
	o := pipe.MergeOpts{Name: "mix", Order: pipe.ByChoice, Choose: choose}
	run := start(b, pipe.Merge(lengths(slices.Repeat([]int64{512}, 100)...), o), pipe.Config{Epochs: 1})
	defer run.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
