package batch

import (
	"fmt"
	"slices"
	"testing"

	"github.com/headrace/headrace/shard"
)

// Texts of a column come to their rows, also beyond the first block.
func TestTextsOfAColumn(t *testing.T) {
	b := &Batch{texts: []*rowValues[string]{newRowValues[string](3000)}}
	for _, rows := range []int{0, 1, 3000, 7} {
		all, want := &shard.Texts{}, []string{}
		for row := range rows {
			want = append(want, fmt.Sprint("ä"[:2*(row%2)], row*rows))
			all.Bytes = append(all.Bytes, want[row]...)
			all.Ends = append(all.Ends, len(all.Bytes))
		}
		b.putTexts(0, all)
		if got := b.texts[0].first(rows); !slices.Equal(got, want) {
			t.Errorf("%d rows: %d come", rows, len(got))
		}
	}
}
