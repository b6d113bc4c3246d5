package source

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/recipe"

	"github.com/headrace/headrace/order"
)

// What a sampler gives as lists is cut where its lengths say, if they add up.
func TestListsAreCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(0, 99), 1, 5), 0, 6).Draw(rt, "lists")
		given := []int64{int64(len(lists))}
		for _, list := range lists {
			given = append(given, int64(len(list)))
		}
		given = append(given, slices.Concat(lists...)...)

		d := cut(given)
		if d == nil || d.places() != int64(len(lists)) {
			rt.Fatalf("%v: %+v", given, d)
		}
		for i, list := range lists {
			if got := d.numbers[d.starts[i]:d.starts[i+1]]; !slices.Equal(got, list) {
				rt.Fatalf("list %d of %v is %v", i, given, got)
			}
		}

		if at := rapid.IntRange(0, len(lists)).Draw(rt, "length"); at > 0 {
			wrong := slices.Clone(given)
			wrong[at] += rapid.SampledFrom([]int64{-wrong[at], -wrong[at] - 1, 1, 1 << 62}).Draw(rt, "off by")
			if d := cut(wrong); d != nil {
				rt.Fatalf("%v: %+v", wrong, d)
			}
		}
		if d := cut(append(given, 1)); d != nil {
			rt.Fatalf("a number too many: %+v", d)
		}
	})
	for _, given := range [][]int64{nil, {-1}, {1}, {2, 1}, {1 << 62, 1}, {2, 0, 1, 5}, {2, -1, 2, 5}} {
		if d := cut(given); d != nil {
			t.Errorf("%v: %+v", given, d)
		}
	}
	if n := (&drawn{numbers: []int64{4, 4, 2}}).places(); n != 3 {
		t.Errorf("%d places without lists", n)
	}
}

// Numbers of a sampler are those of samples, unless they are places.
func TestNumbersOfSamplers(t *testing.T) {
	for _, c := range []struct {
		number int64
		places bool
		good   bool
	}{{0, false, true}, {6, false, true}, {7, false, false}, {-1, false, false}, {7, true, true}, {-1, true, false}} {
		s := &sampled{Sampler: Sampler{Places: c.places}, samples: 7}
		if err := s.check(2, []int64{3, c.number}); (err == nil) != c.good || err != nil && !errors.Is(err, ErrSampler) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The orders of the last epochs are known: of as many as may have samples on their way.
func TestRecentOrders(t *testing.T) {
	for places, kept := range map[int64]int{mostOnTheirWay + 1: 3, mostOnTheirWay / 4: 7, 0: 100} {
		var r Recent
		for epoch := range 100 {
			r.Keep(epoch, places, order.Function(func(int64) int64 { return -1 })) // kept again, it still counts once
			r.Keep(epoch, places, order.Function(func(place int64) int64 { return place + int64(epoch) }))
			for e := range epoch + 3 {
				at := r.Known(e)
				if known := e <= epoch && e > epoch-kept; (at != nil) != known {
					t.Fatalf("%d places, in epoch %d: epoch %d is known: %v", places, epoch, e, at != nil)
				}
				if at != nil && at.At(5) != int64(5+e) {
					t.Fatalf("epoch %d has the order of another", e)
				}
			}
		}
	}
}

// filed are contents in folders.
type filed struct {
	Contents
	folders []string
	numbers []int64
}

func (f *filed) Len() int64            { return int64(len(f.folders)) }
func (f *filed) Unnamed() bool         { return false }
func (f *filed) ByFolder() bool        { return true }
func (f *filed) Folder(i int64) string { return f.folders[i] }
func (f *filed) Label(folders map[string]int64) {
	for _, name := range f.folders {
		f.numbers = append(f.numbers, folders[name])
	}
}

// A class has the same number in all sources, whichever of them it is in.
func TestFoldersAreNumbered(t *testing.T) {
	one, two := &filed{folders: []string{"cat", "ant", "cat"}}, &filed{folders: []string{"bee", "Bee", "ant", "é"}}
	classes := numberFolders([]Labelled{one, two})
	if !slices.Equal(classes, []recipe.Path{"Bee", "ant", "bee", "cat", "é"}) {
		t.Errorf("the classes are %v", classes)
	}
	if !slices.Equal(one.numbers, []int64{3, 1, 3}) || !slices.Equal(two.numbers, []int64{2, 0, 1, 4}) {
		t.Errorf("the labels are %v and %v", one.numbers, two.numbers)
	}
}
