package order_test

import (
	"slices"
	"testing"

	"github.com/headrace/headrace/order"

	"pgregory.net/rapid"
)

// The parts of a split, one after the other, are its batches.
func TestPartsTogetherAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := order.Split{Samples: rapid.Int64Range(0, 200).Draw(t, "samples"), Batch: rapid.Int64Range(1, 17).Draw(t, "batch"),
			World: 1, DropLast: rapid.Bool().Draw(t, "drop last")}
		parts := rapid.IntRange(1, 40).Draw(t, "parts")
		want, got := placesOfAll(whole), [][]int64(nil)
		for i := range parts {
			part := whole.Part(i, parts)
			if err := part.Check(); err != nil {
				t.Fatal(err)
			}
			got = append(got, placesOfAll(part)...)
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%+v in %d parts: %v, want %v", whole, parts, got, want)
		}
	})
}

// placesOf are those of all batches, by At and by Run, of the split and of what remains
// after nothing.
func placesOfAll(s order.Split) (all [][]int64) {
	share, err := s.Over(nil)
	if err != nil {
		panic(err)
	}
	pos := int64(0)
	for k := range s.Batches() {
		run := make([]int64, s.Rows(k))
		share.Run(run, pos)
		for _, place := range run {
			one, _ := s.At(pos)
			other, _ := share.At(pos)
			if one != place || other != place {
				panic("At and Run differ")
			}
			pos++
		}
		all = append(all, run)
	}
	return all
}

func TestPartOfManyPlaces(t *testing.T) {
	s := order.Split{Samples: 1<<62 + 5, Batch: 3, World: 1}
	before := int64(0)
	for _, i := range []int{0, 1 << 19, 1<<20 - 1} {
		p := s.Part(i, 1<<20)
		if p.Before < before || p.Before%3 != 0 || i == 1<<20-1 && p.Before+p.Samples != s.Samples {
			t.Errorf("part %d: %+v", i, p)
		}
		before = p.Before
	}
	if err := (order.Split{Samples: 5, Before: -1, Batch: 1, World: 1}).Check(); err == nil {
		t.Error("a part that begins before the epoch is none")
	}
}
