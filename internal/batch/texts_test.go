package batch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
)

// Texts of a column come to their rows, also beyond the first block.
func TestTextsOfAColumn(t *testing.T) {
	b := &Batch{texts: []*text{newText(3000)}}
	for _, rows := range []int{0, 1, 3000, 7} {
		all, want := &sample.Texts{}, []string{}
		for row := range rows {
			want = append(want, fmt.Sprint("ä"[:2*(row%2)], row*rows))
			all.Add([]byte(want[row]))
		}
		if b.texts[0].clear(); rows == 7 { // as the first of two fields of one column
			first := newText(3000)
			first.pack(all)
			b.texts[0].copy(first)
		} else {
			b.texts[0].pack(all)
		}
		if got := b.texts[0].size(rows); got != len(strings.Join(want, "")) {
			t.Errorf("%d rows have %d bytes", rows, got)
		}
		if got := b.texts[0].first(rows); !slices.Equal(got, want) {
			t.Errorf("%d rows: %d come", rows, len(got))
		}
		if rows > 1 {
			other, again := newText(3000), newText(3000)
			again.pack(&sample.Texts{Bytes: []byte("xyz"), Ends: []int{1, 3}})
			if other.take(5, again, 1); *other.at(5) != "yz" {
				t.Errorf("row 1 of what is packed is %q", *other.at(5))
			}
		}
	}
}
