package group_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

var words = []string{"a", "weir", "turns", "the", "river", "in", "to", "its", "headrace"}

func texts() pipe.Flow[string] {
	return pipe.Map(pipe.From("numbers", pipetest.Numbers{N: len(words)}), pipe.At(words), pipe.Opts{Name: "text"})
}

func length(text string) int { return len(text) }

// show prints what a flow yields in an epoch.
func show[T any](f pipe.Flow[T], text func(T) string) {
	run, err := pipe.Start(context.Background(), f, pipe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	for v, err := range run.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(text(v))
	}
}

func ExampleBuckets() {
	begin, err := group.Buckets(length, group.BucketOpts{Lengths: []int{3, 8}, Tokens: 16, Longest: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	placed := pipe.Aggregate(texts(), begin, pipe.AggregateOpts{Name: "buckets"})
	show(placed, func(p group.Placed[string, int]) string {
		row := p.Item + strings.Repeat(".", p.Shape-len(p.Item))
		if p.Last() {
			return row + "\n"
		}
		return row + " "
	})
	// Output:
	// weir. turns river
	// a.. the in. to. its
	// headrace
}

func ExampleBudget() {
	begin, err := group.Budget(length, group.BudgetOpts{Budget: 12})
	if err != nil {
		fmt.Println(err)
		return
	}
	placed := pipe.Aggregate(texts(), begin, pipe.AggregateOpts{Name: "budget"})
	show(placed, func(p group.Placed[string, int]) string {
		if p.Last() {
			return fmt.Sprintf("%s: %d letters\n", p.Item, p.Shape)
		}
		return p.Item + " "
	})
	// Output:
	// a weir turns: 10 letters
	// the river in to: 12 letters
	// its headrace: 11 letters
}

func ExamplePack() {
	begin, err := group.Pack(length, group.PackOpts{Length: 9, Open: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := pipe.Aggregate(texts(), begin, pipe.AggregateOpts{Name: "pack"})
	show(rows, func(r group.Row[string]) string {
		text, ids := "", ""
		for i, s := range r.Segments {
			text += s.Item
			ids += strings.Repeat(fmt.Sprint(i+1), s.Length)
		}
		return fmt.Sprintf("%-9s %s\n", text, ids)
	})
	// Output:
	// weirturns 111122222
	// aheadrace 122222222
	// theriver  11122222
	// intoits   1122333
}
