package group_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
)

// Batches are the lists, without the samples that are gone, also where that is the last
// one, or all of a list.
func TestListsAreBatches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type one struct {
			list int64
			last bool
		}
		var all []one
		var want []string
		for list := range rapid.IntRange(0, 6).Draw(rt, "lists") {
			var items []int
			n := rapid.IntRange(1, 4).Draw(rt, "length")
			for i := range n {
				if rapid.IntRange(0, 3).Draw(rt, "gone") > 0 {
					items = append(items, len(all))
					all = append(all, one{int64(list), i == n-1})
				}
			}
			if items != nil {
				want = append(want, fmt.Sprint(batch[int]{0, items}))
			}
		}
		of := func(i int) (int64, bool) { return all[i].list, all[i].last }
		got, err := collect(t, batches(len(all), group.Lists(of), pipe.AggregateOpts{}), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		var came []string
		for _, b := range got {
			came = append(came, fmt.Sprint(b))
		}
		if !slices.Equal(came, want) {
			rt.Fatalf("%v, want %v", came, want)
		}
	})
}
