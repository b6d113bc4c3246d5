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

// A batch of one row takes one sample's bytes after the other into the same memory; what
// was needed for a large one is not kept.
func TestBytesOfOneRow(t *testing.T) {
	one, several := newText(1), newText(2)
	for _, size := range []int{100_000, 0, 7, 100_000, mostKept + 1, 3} {
		want := strings.Repeat("x", size)
		one.clear()
		several.clear()
		one.set(0, []byte(want))
		several.set(1, []byte(want))
		if one.size(1) != size || !slices.Equal(one.first(1), []string{want}) {
			t.Errorf("%d bytes come back as %d", size, one.size(1))
		}
		if got := several.first(2); got[0] != "" || got[1] != want {
			t.Errorf("%d bytes are not in the second of two rows", size)
		}
		one.set(0, []byte(want))
		if one.clear(); cap(one.packed.Bytes) > mostKept {
			t.Errorf("%d bytes of memory are kept", cap(one.packed.Bytes))
		}
	}
	some := []byte(strings.Repeat("x", 1000))
	if n := testing.AllocsPerRun(100, func() { one.clear(); one.set(0, some) }); n > 0 {
		t.Errorf("a row takes %v allocations", n)
	}
}

// Names that are counted come to rows, and to the rows of a copy.
func TestCountedTextsOfAColumn(t *testing.T) {
	all := &sample.Texts{}
	name := all.Name("a.csv")
	all.Count(name, 8, 3)
	all.Count(name, 0, 1)
	want := []string{"a.csv[8]", "a.csv[9]", "a.csv[10]", "a.csv[0]"}
	one, two := newText(4), newText(4)
	one.pack(all)
	two.copy(one)
	if n := one.size(4); n != one.packed.Size() || all.Len() > 0 {
		t.Errorf("%d bytes, and %d texts are left", n, all.Len())
	}
	for _, of := range []*text{one, two} {
		if got := of.first(4); !slices.Equal(got, want) {
			t.Errorf("rows are %q", got)
		}
	}
}
