package resample

import (
	"slices"
	"testing"
)

// A box with whole edges is a crop; one with fractions is between two, and looks at
// no pixel outside it.
func TestBox(t *testing.T) {
	for _, f := range filters {
		for _, out := range []int{7, 25, 60} {
			var crop, box Table
			crop.Set(Axis{In: 50, Out: out, N: out, Filter: f})
			box.Set(Axis{In: 100, Out: out, N: out, Filter: f, From: 16, Size: 50})
			for i, s := range box.Spans {
				want := crop.Spans[i]
				if s.Start != want.Start+16 || s.Len != want.Len || !slices.Equal(box.Weights[s.At:s.At+s.Len], crop.Weights[want.At:want.At+want.Len]) {
					t.Errorf("filter %d, %d pixels: span %d is %v, of the crop it is %v", f, out, i, s, want)
				}
			}
			version := box.Version
			box.Set(Axis{In: 100, Out: out, N: out, Filter: f, From: 15.5, Size: 50.25})
			if box.Version == version || box.Identity() {
				t.Error("not filled again")
			}
			for i, s := range box.Spans {
				if s.Len < 1 || s.Start < 15 || s.Start+s.Len > 66 {
					t.Errorf("filter %d, %d pixels: span %d is %v", f, out, i, s)
				}
			}
		}
	}
}
