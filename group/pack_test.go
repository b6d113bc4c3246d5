package group_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
)

// rowModel is a row as a list of samples.
type rowModel struct{ items, lengths []int }

func (r rowModel) length() (sum int) {
	for _, n := range r.lengths {
		sum += n
	}
	return sum
}

// packed is the packing by the book: all rows in which a sample fits, sorted by what is
// wanted, and the first of them.
func packed(lengths []int, o group.PackOpts) (done []rowModel) {
	var open []*rowModel
	hand := func(r *rowModel) {
		done = append(done, *r)
		open = slices.DeleteFunc(open, func(other *rowModel) bool { return other == r })
	}
	byRoom := func(a, b *rowModel) int { return cmp.Compare(b.length(), a.length()) }
	for i, n := range lengths {
		fitting := slices.DeleteFunc(slices.Clone(open), func(r *rowModel) bool { return r.length()+n > o.Length })
		if o.Fit == group.BestFit {
			slices.SortStableFunc(fitting, byRoom)
		}
		if len(fitting) == 0 {
			if len(open) == o.Open {
				hand(slices.SortedStableFunc(slices.Values(open), byRoom)[0])
			}
			fitting = []*rowModel{{}}
			open = append(open, fitting[0])
		}
		to := fitting[0]
		to.items, to.lengths = append(to.items, i), append(to.lengths, n)
		if to.length() == o.Length || len(to.items) == o.Segments {
			hand(to)
		}
	}
	for len(open) > 0 {
		hand(open[0])
	}
	return done
}

func TestPackingIsByTheBook(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		got, err := collect(t, rows(len(d.lengths), must(group.Pack(d.length, d.pack))), pipe.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		want := packed(d.lengths, d.pack)
		if len(got) != len(want) {
			rt.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for k, r := range got {
			at := 0
			for i, s := range r.Segments {
				if s.Item != want[k].items[i] || s.Offset != at || s.Length != d.lengths[s.Item] {
					rt.Fatalf("row %d is %v, want %v", k, r, want[k])
				}
				at += s.Length
			}
			if len(r.Segments) != len(want[k].items) || r.Length != at || at > d.pack.Length {
				rt.Fatalf("row %d is %v, want %v", k, r, want[k])
			}
		}
	})
}

// Nothing can be put of a sample that is empty.
func TestEmptySamplesAreNotPacked(t *testing.T) {
	length := func(i int) int { return i % 2 }
	begin := must(group.Pack(length, group.PackOpts{Length: 2}))
	_, err := collect(t, rows(4, begin), pipe.Config{})
	if want := "stage pack"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "its length is 0") {
		t.Error(err)
	}
	got, err := collect(t, rows(4, begin), pipe.Config{Failures: pipe.Policy{Skip: true, Count: 2}})
	if want := "[{[{1 0 1} {3 1 1}] 2}] <nil>"; fmt.Sprint(got, err) != want {
		t.Errorf("%v %v, want %s", got, err, want)
	}
}
