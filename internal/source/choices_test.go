package source_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
)

// chosen draws a step that says which samples come, and what it leaves of a list.
func chosen(t *rapid.T) (recipe.Step, func([]int64) []int64) {
	cut := func(r order.Range) func([]int64) []int64 {
		return func(all []int64) (left []int64) {
			s := r.Of(int64(len(all)))
			for k := range s.Len() {
				left = append(left, all[s.At(k)])
			}
			return left
		}
	}
	n := rapid.Int64Range(0, 12).Draw(t, "n")
	switch rapid.SampledFrom([]string{"take", "skip", "slice", "shard"}).Draw(t, "step") {
	case "take":
		return recipe.Step{Args: &flow.Take{N: new(n + 1)}}, cut(order.Range{Stop: new(n + 1), Step: 1})
	case "skip":
		return recipe.Step{Args: &flow.Skip{N: &n}}, cut(order.Range{Start: &n, Step: 1})
	case "shard":
		of := rapid.Int64Range(1, 3).Draw(t, "of")
		index := rapid.Int64Range(0, of-1).Draw(t, "index")
		return recipe.Step{Args: &flow.Shard{Index: &index, Count: &of}}, func(all []int64) (left []int64) {
			for i, v := range all {
				if int64(i)%of == index {
					left = append(left, v)
				}
			}
			return left
		}
	}
	start, stop := rapid.Int64Range(-30, 12).Draw(t, "start"), rapid.Int64Range(-12, 40).Draw(t, "stop")
	step := rapid.Int64Range(1, 4).Draw(t, "by")
	return recipe.Step{Args: &flow.Slice{Start: &start, Stop: &stop, Step: &step}}, cut(order.Range{Start: &start, Stop: &stop, Step: step})
}

// order of a source, as the indices that an epoch has.
func indicesOf(t *rapid.T, l *source.Listing, epoch int, from int64) (all []int64) {
	for r, err := range l.Items(t.Context(), epoch, from) {
		if err != nil {
			t.Fatal(err)
		}
		if id, _ := l.Identify(epoch, r.ID.Pos); id != r.ID {
			t.Fatalf("%+v is %+v", r.ID, id)
		}
		all = append(all, r.ID.Index)
	}
	return all
}

// Steps that say which samples come do what slices of lists do, before and after the
// order, on any number of ranks and from any position on.
func TestChoicesAreSlicesOfLists(t *testing.T) {
	const files = 41
	all := map[string]string{}
	for i := range files {
		all[fmt.Sprintf("%02d.npy", i)] = ""
	}
	root := put(t, all)
	rapid.Check(t, func(rt *rapid.T) {
		steps := recipe.Chain{{Args: &input.Files{Pattern: "*.npy", Root: recipe.Path(root)}}}
		want := make([]int64, files)
		for i := range want {
			want[i] = int64(i)
		}
		choose := func(most int) {
			for i := range rapid.IntRange(0, most).Draw(rt, "choices") {
				s, left := chosen(rt)
				s.Name = fmt.Sprintf("choice_%d_%d", len(steps), i)
				if want = left(want); len(want) == 0 {
					rt.Skip("nothing is left")
				}
				steps = append(steps, s)
			}
		}
		choose(3)

		given := slices.Clone(want)
		shuffle := &flow.Shuffle{}
		ordered := rapid.SampledFrom([]string{"no", "all", "windows"}).Draw(rt, "shuffled")
		if ordered != "no" {
			if ordered == "windows" {
				shuffle.Window = new(rapid.Int64Range(1, 9).Draw(rt, "window"))
			}
			steps = append(steps, recipe.Step{Args: shuffle})
		}
		after := len(steps)
		choose(2)
		world, epoch := rapid.IntRange(1, 4).Draw(rt, "world"), rapid.IntRange(0, 2).Draw(rt, "epoch")
		ranks, _, _, err := list(steps, world)
		if err != nil {
			rt.Fatal(err)
		}

		if ordered != "no" { // the order of as many samples, of which the same are cut
			want = nil
			at := order.Permute(int64(len(given)), 3, epoch)
			windows := order.PermuteWindows(order.Runs(int64(len(given)), order.Run(1)), 1, 3, epoch)
			if shuffle.Window != nil {
				windows = order.PermuteWindows(order.Runs(int64(len(given)), *shuffle.Window), *shuffle.Window, 3, epoch)
			}
			for i := range int64(len(given)) {
				if ordered == "all" {
					want = append(want, given[at.At(i)])
				} else {
					want = append(want, given[windows.At(i)])
				}
			}
			for _, s := range steps[after:] {
				want = cutBy(s, want)
			}
		}

		parts := make([][]int64, world)
		for rank, l := range ranks {
			if l.Places() != int64(len(want)) || l.Drawn() != l.Places() {
				rt.Fatalf("%d places, want %d", l.Places(), len(want))
			}
			parts[rank] = indicesOf(rt, l, epoch, 0)
			from := rapid.IntRange(0, len(parts[rank])).Draw(rt, "from")
			if rest := indicesOf(rt, l, epoch, int64(from)); !slices.Equal(rest, parts[rank][from:]) {
				rt.Fatalf("rank %d: other samples from %d on", rank, from)
			}
			if l.Among == nil {
				continue // all samples may
			}
			n, at := l.Among(epoch)
			for i := range n {
				if !slices.Contains(want, at(i)) {
					rt.Fatalf("sample %d, which is none of %v, may replace one", at(i), want)
				}
			}
		}
		var got []int64
		for k := 0; len(got) < len(want); k++ {
			for rank := range parts {
				part := parts[rank]
				if n := ranks[rank].Share(epoch).Rows(int64(k)); n > 0 {
					got, parts[rank] = append(got, part[:n]...), part[n:]
				}
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%v\n%v comes, want\n%v", steps, got, want)
		}
	})
}

func cutBy(s recipe.Step, all []int64) (left []int64) {
	r := order.Range{Step: 1}
	switch a := s.Args.(type) {
	case *flow.Take:
		r.Stop = a.N
	case *flow.Skip:
		r.Start = a.N
	case *flow.Slice:
		r = order.Range{Start: a.Start, Stop: a.Stop, Step: *a.Step}
	case *flow.Shard:
		r = order.Range{Start: a.Index, Step: *a.Count}
	}
	part := r.Of(int64(len(all)))
	for k := range part.Len() {
		left = append(left, all[part.At(k)])
	}
	return left
}

// The parts of a split are all samples, each once; they stay where they are when files
// are added; and folders, columns and numbers decide, where they are asked for.
func TestSplitsStay(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("class%d/%03d.npy", i%7, i)] = ""
	}
	root := put(t, files)
	parts := func(pattern, by string, bounds ...float64) (sides map[string]int) {
		sides = map[string]int{}
		for i := range len(bounds) - 1 {
			all, _, _, err := list(recipe.Chain{{Args: &input.Files{Pattern: recipe.Path(pattern), Root: recipe.Path(root), Label: "parent"}},
				{Args: &flow.Split{From: &bounds[i], To: &bounds[i+1], By: by}}}, 1)
			if err != nil {
				t.Fatal(err)
			}
			for r, err := range all[0].Items(t.Context(), 0, 0) {
				if _, twice := sides[r.Key]; twice || err != nil {
					t.Fatalf("%s is in two parts, or %v", r.Key, err)
				}
				sides[r.Key] = i
			}
		}
		return sides
	}
	for _, by := range []string{"key", "label"} {
		few, many := parts("class[0-3]/*.npy", by, 0, 0.3, 0.6, 1), parts("class*/*.npy", by, 0, 0.3, 0.6, 1)
		if len(many) != 300 || len(few) >= 300 {
			t.Fatalf("%d and %d samples", len(few), len(many))
		}
		folders := map[string]int{}
		for key, side := range many {
			if was, ok := few[key]; ok && was != side {
				t.Errorf("by %s: %s was in part %d, and is in %d with more files", by, key, was, side)
			}
			if at, ok := folders[filepath.Dir(key)]; by == "label" && ok && at != side {
				t.Errorf("%s is in two parts", filepath.Dir(key))
			}
			folders[filepath.Dir(key)] = side
		}
	}
}
