package group_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
)

// Each bucket's samples, taken alone, are cut into the longest runs that keep the limits.
func TestBucketsAreTheLongestRunsThatFit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		o := d.buckets
		got, err := collect(t, batches(len(d.lengths), must(group.Buckets(d.length, o)), pipe.AggregateOpts{}), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		padded := func(bucket int, items []int) int {
			if !o.Longest && len(o.Lengths) > 0 {
				return o.Lengths[bucket]
			}
			longest := 0
			for _, i := range items {
				longest = max(longest, d.lengths[i])
			}
			return longest
		}
		fits := func(bucket int, items []int) bool {
			return (len(o.Sizes) == 0 || len(items) <= o.Sizes[bucket]) && (o.Size == 0 || len(items) <= o.Size) && (o.Tokens == 0 || len(items)*padded(bucket, items) <= o.Tokens)
		}
		var want []string
		for bucket := range max(1, len(o.Lengths)) {
			var mine []int
			for i, n := range d.lengths {
				if len(o.Lengths) == 0 || n <= o.Lengths[bucket] && (bucket == 0 || n > o.Lengths[bucket-1]) {
					mine = append(mine, i)
				}
			}
			for len(mine) > 0 {
				n := 1
				for n < len(mine) && fits(bucket, mine[:n+1]) {
					n++
				}
				want = append(want, fmt.Sprint(batch[int]{padded(bucket, mine[:n]), mine[:n]}))
				mine = mine[n:]
			}
		}
		compare(rt, got, want)
	})
}

func compare[T any](t *rapid.T, got []T, want []string) {
	var all []string
	for _, b := range got {
		all = append(all, fmt.Sprint(b))
	}
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Fatalf("got  %v\nwant %v", all, want)
	}
}

// A batch is handed on as soon as nothing more fits: it need not wait for a sample that
// does not.
func TestABatchThatIsFullWaitsForNothing(t *testing.T) {
	length := func(i int) int { return []int{3, 4, 1, 2}[i] }
	got, err := collect(t, batches(4, must(group.Buckets(length, group.BucketOpts{Lengths: []int{2, 4}, Tokens: 8, Longest: true})), pipe.AggregateOpts{}), pipe.Config{})
	if want := "[{4 [0 1]} {2 [2 3]}] <nil>"; fmt.Sprint(got, err) != want {
		t.Errorf("%v %v, want %s", got, err, want)
	}
}

// Samples without a length take a place as one of length 1 does, so that batches of
// them end.
func TestEmptySamplesFillBatches(t *testing.T) {
	none := func(int) int { return 0 }
	buckets := must(group.Buckets(none, group.BucketOpts{Tokens: 3}))
	costs := must(group.Budget(none, group.BudgetOpts{Budget: 3}))
	one, err1 := collect(t, batches(7, buckets, pipe.AggregateOpts{}), pipe.Config{})
	two, err2 := collect(t, batches(7, costs, pipe.AggregateOpts{}), pipe.Config{})
	if got, want := fmt.Sprint(one, two, err1, err2), "[{0 [0 1 2]} {0 [3 4 5]} {0 [6]}] [{3 [0 1 2]} {3 [3 4 5]} {1 [6]}] <nil> <nil>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBudgetsAreTheLongestRunsThatFit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		o := d.budget
		got, err := collect(t, batches(len(d.lengths), must(group.Budget(d.length, o)), pipe.AggregateOpts{}), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		at := 0
		for k, b := range got {
			sum, next := 0, at+len(b.items)
			for row, i := range b.items {
				if i != at+row {
					rt.Fatalf("batch %d has %v", k, b.items)
				}
				sum += d.lengths[i]
			}
			if b.shape != sum || sum > o.Budget || o.Size > 0 && len(b.items) > o.Size {
				rt.Fatalf("batch %d is %v, of lengths that are %d", k, b, sum)
			}
			if next < len(d.lengths) && sum+d.lengths[next] <= o.Budget && len(b.items) != o.Size {
				rt.Fatalf("batch %d is %v, and sample %d of length %d fits, too", k, b, next, d.lengths[next])
			}
			at = next
		}
		if at != len(d.lengths) {
			rt.Fatalf("%d samples of %d", at, len(d.lengths))
		}
	})
}

// All batches but the last of each shape are full where every shape has its place;
// where there are too few places, the oldest batch goes.
func TestShapes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		got, err := collect(t, batches(len(d.lengths), must(group.Shapes(d.shape, d.shapes)), pipe.AggregateOpts{}), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		var want []string
		var open [][]int
		hand := func(at int) {
			want = append(want, fmt.Sprint(batch[int]{d.lengths[open[at][0]], open[at]}))
			open = slices.Delete(open, at, at+1)
		}
		for i, shape := range d.lengths {
			at := slices.IndexFunc(open, func(b []int) bool { return d.lengths[b[0]] == shape })
			if at < 0 {
				if len(open) == d.shapes.Open {
					hand(0)
				}
				open, at = append(open, nil), len(open)
			}
			if open[at] = append(open[at], i); len(open[at]) == d.shapes.Size {
				hand(at)
			}
		}
		for len(open) > 0 {
			hand(0)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

// A sample whose shape cannot be reported has failed, alone.
func TestShapeErrors(t *testing.T) {
	bad := errors.New("no header")
	shape := func(i int) (string, error) {
		if i == 1 {
			return "", bad
		}
		return "wide", nil
	}
	begin := must(group.Shapes(shape, group.ShapeOpts{Size: 2}))
	if _, err := collect(t, batches(4, begin, pipe.AggregateOpts{}), pipe.Config{}); !errors.Is(err, bad) {
		t.Error(err)
	}
	got, err := collect(t, batches(4, begin, pipe.AggregateOpts{}), pipe.Config{Failures: pipe.Policy{Skip: true, Count: 1}})
	if want := "[{wide [0 2]} {wide [3]}] <nil>"; fmt.Sprint(got, err) != want {
		t.Errorf("%v %v, want %s", got, err, want)
	}
}
