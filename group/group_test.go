package group_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A batch is what one was made of, as numbers of samples.
type batch[S any] struct {
	shape S
	items []int
}

// gather puts samples into batches again, as a Fill does that ends one after the last
// of it.
type gather[S any] struct {
	held []pipe.Held[group.Placed[int, S]]
}

func (g *gather[S]) Add(_ context.Context, v pipe.Held[group.Placed[int, S]], e *pipe.Emitter[group.Placed[int, S], batch[S]]) error {
	p := v.Value
	if p.Row != len(g.held) || p.Rows < 1 || p.Row >= p.Rows || p.Last() != (p.Row+1 == p.Rows) {
		return fmt.Errorf("row %d of %d comes as number %d", p.Row, p.Rows, len(g.held))
	}
	if g.held = append(g.held, v); p.Last() {
		b := batch[S]{shape: p.Shape}
		for _, h := range g.held {
			b.items = append(b.items, h.Value.Item)
		}
		e.Emit(b, g.held...)
		g.held = nil
	}
	return nil
}

func (g *gather[S]) Flush(context.Context, *pipe.Emitter[group.Placed[int, S], batch[S]]) error {
	if len(g.held) > 0 {
		return fmt.Errorf("%d samples of a batch that has no end", len(g.held))
	}
	return nil
}

// batches is the flow of the batches that samples 0 … n-1 come into.
func batches[S any](n int, begin func() pipe.Aggregator[int, group.Placed[int, S]], o pipe.AggregateOpts) pipe.Flow[batch[S]] {
	o.Name = "group"
	placed := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: n}), begin, o)
	again := func() pipe.Aggregator[group.Placed[int, S], batch[S]] { return new(gather[S]) }
	return pipe.Aggregate(placed, again, pipe.AggregateOpts{Name: "gather"})
}

func rows(n int, begin func() pipe.Aggregator[int, group.Row[int]]) pipe.Flow[group.Row[int]] {
	return pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: n}), begin, pipe.AggregateOpts{Name: "pack"})
}

// collect returns all of one epoch.
func collect[T any](t testing.TB, f pipe.Flow[T], c pipe.Config) (all []T, err error) {
	t.Helper()
	run, err := pipe.Start(context.Background(), f, c)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for {
		v, err := run.Next(context.Background())
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

// must is for aggregators whose settings are right.
func must[T any](begin T, err error) T {
	if err != nil {
		panic(err)
	}
	return begin
}

// drawn are the lengths of samples, and settings of every kind that fit them.
type drawn struct {
	lengths []int
	buckets group.BucketOpts
	budget  group.BudgetOpts
	shapes  group.ShapeOpts
	pack    group.PackOpts
	domains int // of packing
}

func draw(t *rapid.T) (d drawn) {
	most := rapid.IntRange(1, 12).Draw(t, "longest")
	d.lengths = rapid.SliceOfN(rapid.IntRange(1, most), rapid.SampledFrom([]int{0, 30}).Draw(t, "fewest"), 40).Draw(t, "lengths")
	if rapid.Bool().Draw(t, "bounded") {
		d.buckets.Lengths = rapid.SliceOfNDistinct(rapid.IntRange(1, most), 0, 4, rapid.ID).Draw(t, "buckets")
		d.buckets.Lengths = append(slices.DeleteFunc(d.buckets.Lengths, func(n int) bool { return n == most }), most)
		slices.Sort(d.buckets.Lengths)
	}
	d.buckets.Size = rapid.IntRange(0, 5).Draw(t, "size")
	if d.buckets.Size == 0 || rapid.Bool().Draw(t, "by tokens") {
		d.buckets.Tokens = most + rapid.IntRange(0, 30).Draw(t, "tokens")
	}
	if n := len(d.buckets.Lengths); n > 0 && rapid.Bool().Draw(t, "sizes differ") {
		d.buckets.Sizes = rapid.SliceOfN(rapid.IntRange(1, 4), n, n).Draw(t, "sizes")
	}
	d.buckets.Longest = rapid.Bool().Draw(t, "to the longest")
	d.budget = group.BudgetOpts{Budget: most + rapid.IntRange(0, 30).Draw(t, "budget"), Size: d.buckets.Size}
	d.shapes = group.ShapeOpts{Size: rapid.IntRange(1, 5).Draw(t, "shape size"), Open: rapid.IntRange(1, 5).Draw(t, "open shapes")}
	d.pack = group.PackOpts{
		Length: most + rapid.IntRange(0, 12).Draw(t, "row"), Segments: rapid.IntRange(0, 4).Draw(t, "segments"),
		Open: rapid.IntRange(1, 5).Draw(t, "open rows"), Fit: group.Fit(rapid.IntRange(0, 3).Draw(t, "fit")),
	}
	d.domains = rapid.IntRange(1, 3).Draw(t, "domains")
	return d
}

func (d drawn) length(i int) int         { return d.lengths[i] }
func (d drawn) shape(i int) (int, error) { return d.lengths[i], nil }

// A run that is cut after any batch goes on with the batches that the uninterrupted
// run would have had.
func TestEveryKindResumes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		n := len(d.lengths)
		o := pipe.AggregateOpts{DropLast: rapid.Bool().Draw(rt, "drop last")}
		two := pipe.Config{Epochs: 2}
		numbers := func(b batch[int]) (all []string) {
			return append(all, fmt.Sprint(b))
		}
		pipetest.Resume(t, batches(n, must(group.Buckets(d.length, d.buckets)), o), two, true, numbers)
		placed := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: n}), must(group.Buckets(d.length, d.buckets)), pipe.AggregateOpts{Name: "group", DropLast: o.DropLast})
		pipetest.Resume(t, pipe.Aggregate(placed, group.Gather[int, int], pipe.AggregateOpts{Name: "gather"}), two, true,
			func(list []int) []string { return []string{fmt.Sprint(list)} })
		pipetest.Resume(t, batches(n, must(group.Budget(d.length, d.budget)), o), two, true, numbers)
		pipetest.Resume(t, batches(n, must(group.Shapes(d.shape, d.shapes)), o), two, true, numbers)
		f := rows(n, must(group.PackBy(d.packing(), d.pack)))
		pipetest.Resume(t, f, two, true, func(r group.Row[int]) []string { return []string{fmt.Sprint(r)} })
		pipetest.Resume(t, pipe.Batch(f, 3, pipe.BatchOpts{Name: "batch", DropLast: o.DropLast}), two, true, func(r []group.Row[int]) []string { return []string{fmt.Sprint(r)} })
	})
}

// What is left open at the end of an epoch is handed on, or dropped where that is said.
func TestTheEndOfAnEpoch(t *testing.T) {
	length := func(i int) int { return 1 + i%3 }
	for dropLast, want := range map[bool]string{
		false: "[{1 [0 3]} {2 [1 4]} {3 [2 5]} {1 [6]} {2 [7]}] <nil>",
		true:  "[{1 [0 3]} {2 [1 4]} {3 [2 5]}] <nil>",
	} {
		begin := must(group.Buckets(length, group.BucketOpts{Lengths: []int{1, 2, 3}, Size: 2}))
		got, err := collect(t, batches(8, begin, pipe.AggregateOpts{DropLast: dropLast}), pipe.Config{})
		if fmt.Sprint(got, err) != want {
			t.Errorf("drop last %v: %v %v, want %s", dropLast, got, err, want)
		}
	}
}

// A sample that is too long fails, is cut, or is left out, and the others stay together.
func TestOverlong(t *testing.T) {
	length := func(i int) int { return []int{2, 9, 1, -1, 3, 7}[i] }
	tolerant := pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}}
	for _, c := range []struct {
		overlong group.Overlong
		lost     int
		want     string
	}{
		{group.Fail, 3, "[{6 [0 2 4]}] [{[{0 0 2 0 false []} {2 2 1 0 false []} {4 3 3 0 false []}] 6 [] false}]"},
		{group.Truncate, 1, "[{2 [0]} {6 [1]} {4 [2 4]} {6 [5]}] " +
			"[{[{1 0 6 0 false []}] 6 [] false} {[{5 0 6 0 false []}] 6 [] false} {[{0 0 2 0 false []} {2 2 1 0 false []} {4 3 3 0 false []}] 6 [] false}]"},
		{group.Drop, 1, "[{6 [0 2 4]}] [{[{0 0 2 0 false []} {2 2 1 0 false []} {4 3 3 0 false []}] 6 [] false}]"},
	} {
		lost := 0
		tolerant.Hooks.Lost = func(pipe.Loss) { lost++ }
		one, err := collect(t, batches(6, must(group.Budget(length, group.BudgetOpts{Budget: 6, Overlong: c.overlong})), pipe.AggregateOpts{}), tolerant)
		if err != nil || lost != c.lost {
			t.Errorf("%v: %d lost, %v", c.overlong, lost, err)
		}
		two, err := collect(t, rows(6, must(group.Pack(length, group.PackOpts{Length: 6, Overlong: c.overlong}))), tolerant)
		if got := fmt.Sprint(one, two); err != nil || got != c.want {
			t.Errorf("%v: %s, %v", c.overlong, got, err)
		}
	}
	for _, o := range []group.BucketOpts{{Lengths: []int{4, 6}, Size: 2}, {Tokens: 6}} {
		_, err := collect(t, batches(6, must(group.Buckets(length, o)), pipe.AggregateOpts{}), pipe.Config{})
		long, at := (*group.LengthError)(nil), (*pipe.StageError)(nil)
		if !errors.As(err, &long) || *long != (group.LengthError{Length: 9, Limit: 6}) || !errors.As(err, &at) || at.Pos != 1 || at.Stage != "group" {
			t.Errorf("%v", err)
		}
		if want := "its length is 9: must be at most 6"; long != nil && long.Error() != "group: "+want {
			t.Errorf("%v", long)
		}
	}
}

// Settings that make no sense are reported, with what is taken.
func TestSettings(t *testing.T) {
	for want, err := range map[string]error{
		"group: batches of -1 samples and 4 tokens: no limit may be below 0":                                       group.BucketOpts{Size: -1, Tokens: 4}.Check(),
		"group: has neither size nor tokens: without a limit no batch would end":                                   group.BucketOpts{Lengths: []int{1}}.Check(),
		"group: sizes are [2] for buckets of the lengths [4 8]: each must be at least 1":                           group.BucketOpts{Lengths: []int{4, 8}, Sizes: []int{2}}.Check(),
		"group: sizes are [2 0] for buckets of the lengths [4 8]: each must be at least 1":                         group.BucketOpts{Lengths: []int{4, 8}, Sizes: []int{2, 0}}.Check(),
		"group: the buckets' lengths are [4 4]: must be rising numbers, at least 1":                                group.BucketOpts{Size: 1, Lengths: []int{4, 4}}.Check(),
		"group: the buckets' lengths are [0 4]: must be rising numbers, at least 1":                                group.BucketOpts{Size: 1, Lengths: []int{0, 4}}.Check(),
		"group: a sample of length 8 alone is more than 7 tokens":                                                  group.BucketOpts{Tokens: 7, Lengths: []int{4, 8}}.Check(),
		"group: overlong(7): must be Fail, Truncate or Drop":                                                       group.BucketOpts{Size: 1, Overlong: 7}.Check(),
		"group: batches of 0 samples and a budget of 0: the budget must be at least 1, and no size below 0":        group.BudgetOpts{}.Check(),
		"group: batches of -1 samples and a budget of 1: the budget must be at least 1, and no size below 0":       group.BudgetOpts{Size: -1, Budget: 1}.Check(),
		"group: batches of 0 samples, 0 open: the size must be at least 1, and no number of open batches below 0":  group.ShapeOpts{}.Check(),
		"group: batches of 1 samples, -1 open: the size must be at least 1, and no number of open batches below 0": group.ShapeOpts{Size: 1, Open: -1}.Check(),
		"group: rows of length 0: must be at least 1":                                                              group.PackOpts{}.Check(),
		"group: -1 segments in each of 0 open rows: must be at least 0":                                            group.PackOpts{Length: 1, Segments: -1}.Check(),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	one, wrap := func(int) int { return 1 }, group.PackOpts{Length: 1, Fit: group.Wrap}
	several := group.PackOpts{Length: 1, Fit: group.BestWrap, Others: []int{2}}
	for want, err := range map[string]error{
		"fit(4): must be BestFit, FirstFit, Wrap or BestWrap":                                    group.PackOpts{Length: 1, Fit: 4}.Check(),
		"a fit that cuts needs the functions ID and Cut":                                         second(group.PackBy(group.Packed[int]{}, wrap)),
		"a fit that cuts needs PackBy":                                                           second(group.Pack(one, wrap)),
		"rows of several lengths, and a fit that cuts: it needs sequences that are equally long": several.Check(),
	} {
		if err == nil || err.Error() != "group: "+want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	for _, err := range []error{
		second(group.Buckets(func(int) int { return 1 }, group.BucketOpts{})), second(group.Budget(func(int) int { return 1 }, group.BudgetOpts{})),
		second(group.Shapes(func(int) (int, error) { return 1, nil }, group.ShapeOpts{})), second(group.Pack(func(int) int { return 1 }, group.PackOpts{})),
	} {
		if err == nil {
			t.Error("settings that are wrong are taken")
		}
	}
}

func second[T any](_ T, err error) error { return err }
