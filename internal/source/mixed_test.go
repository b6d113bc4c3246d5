package source_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/python"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"github.com/headrace/headrace/sample"
)

// so many samples, of which nothing is read.
type numbered int64

func (n numbered) Len() int64         { return int64(n) }
func (n numbered) Key(i int64) string { return fmt.Sprint(i) }
func (numbered) Link(*core.Env, *fuse.Source, sample.Schema, *record.Columns) (*python.Function, error) {
	return nil, nil
}
func (numbered) Fetch(context.Context, *core.Env, *record.Record) (int64, error) { return 0, nil }

func listings(lengths ...int64) (all []*source.Listing, names []string) {
	for i, n := range lengths {
		l := &source.Listing{Source: record.Source{Name: fmt.Sprint("s", i), Samples: n}, Contents: numbered(n)}
		l.Key = l.Contents.Key
		all, names = append(all, l), append(names, string(rune('a'+i)))
	}
	return all, names
}

// Sources of other lengths than weights can have are refused, and said which.
func TestMixesThatCannotBe(t *testing.T) {
	schedule := func(from int64, in string) recipe.Mixing {
		return recipe.Mixing{Schedule: []recipe.Stretch{{Weights: []float64{1, 0}}, {From: from, Weights: []float64{1, 1}}}, In: in}
	}
	weights := func(all ...float64) recipe.Mixing { return recipe.Mixing{Weights: all} }
	repeat := func(all ...float64) recipe.Mixing { return recipe.Mixing{Repeat: all} }
	for want, c := range map[string]struct {
		lengths []int64
		mix     recipe.Mixing
		until   recipe.Until
	}{
		`source "b" has no samples: leave it out, or give it the weight 0`: {[]int64{5, 0}, weights(1, 1), "longest"},
		`source "a" has no samples`:                                        {[]int64{0, 3}, repeat(0.5, 1), ""},
		`source "b" has no samples: leave it out`:                          {[]int64{3, 0}, schedule(9, "samples"), "9"},
		`an epoch has no samples: repeat more`:                             {[]int64{3, 2}, repeat(0.1, 0.1), ""},
		`an epoch has no samples: repeat more, or`:                         {[]int64{10, 10}, repeat(0.01, 0.01), "20"},
		`an epoch has no samples: repeat more, or give`:                    {[]int64{10, 10}, repeat(0.01, 0.01), "longest"},
		`an epoch has no samples`:                                          {[]int64{0, 0}, recipe.Mixing{}, "longest"},
		`an epoch has no samples: `:                                        {[]int64{0, 0}, recipe.Mixing{Temperature: 2}, "20"},
		`an epoch until longest would have more than 281474976710656 samples: give`: {
			[]int64{1000, 1000}, weights(1e15, 1), "longest",
		},
		`its weights from step 281474976710656 on are after more samples than can be counted`: {
			[]int64{3, 2}, schedule(1<<48, "steps"), "9",
		},
	} {
		of, names := listings(c.lengths...)
		_, err := source.Mix(&fuse.Merge{Name: "mix", Names: names, Mix: &c.mix, Until: c.until}, of, order.Split{Batch: 4})
		if err == nil || !strings.Contains(err.Error(), `mix "mix": `+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	of, _ := listings(3, 4)
	_, err := source.Mix(&fuse.Merge{Name: "mix", Names: []string{"x", "x"}, Mix: &recipe.Mixing{}}, of, order.Split{Batch: 4})
	if err == nil || !strings.Contains(err.Error(), `two sources are called "x": give names, one for each`) {
		t.Error(err)
	}
}

// A run goes on at any position, on any rank, and a position is found again; a source of
// a weight of 0 may be empty.
func TestPositionsOfMixesAreReachedAtOnce(t *testing.T) {
	of, names := listings(7, 0, 30)
	never := &recipe.Mixing{Weights: []float64{1, 0}}
	inner, err := source.Mix(&fuse.Merge{Name: "inner", Names: names[:2], Mix: never, Until: "longest"}, of[:2], order.Split{Batch: 4})
	if err != nil {
		t.Fatal(err)
	}
	for rank := range 3 {
		twice := &recipe.Mixing{Weights: []float64{2, 1}}
		made, err := source.Mix(&fuse.Merge{Name: "mix", Names: []string{"x", "y"}, Mix: twice, Until: "200", Seed: 3},
			[]*source.Listing{inner[0], of[2]}, order.Split{Batch: 4})
		if err != nil {
			t.Fatal(err)
		}
		l := made[0]
		l.Split = order.Split{Samples: 200, Batch: 12, World: 3, Rank: rank}
		var all []sample.ID
		for r := range l.Items(t.Context(), 2, 0) {
			if id, key := l.Identify(2, r.ID.Pos); id != r.ID || key != r.Key || r.ID.Source != "mix" || r.Turn == 0 {
				t.Fatalf("%+v is %+v, %s", r.ID, id, key)
			}
			if of, index := l.Locate(2)(r.ID.Pos); of.Name != r.Source.Name || index != r.ID.Index {
				t.Fatalf("%+v is %s, %d", r.ID, of.Name, index)
			}
			if want := map[string]string{"s0": "x/a", "s2": "y"}[r.Source.Name]; r.Source.Path != want {
				t.Fatalf("%s is called %s", r.Source.Name, r.Source.Path)
			}
			all = append(all, r.ID)
		}
		if int64(len(all)) != l.Split.Len() {
			t.Fatalf("%d samples of %d", len(all), l.Split.Len())
		}
		for from := range all {
			for r := range l.Items(t.Context(), 2, int64(from)) {
				if r.ID != all[from] {
					t.Fatalf("from %d on: %+v, not %+v", from, r.ID, all[from])
				}
				break
			}
		}
	}
}
