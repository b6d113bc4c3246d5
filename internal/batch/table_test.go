package batch

import (
	"slices"
	"testing"

	"github.com/headrace/headrace/op/column"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// The row of a bad line is found in rows of one size, of any size, and of text, and rows
// that are made of others end where these do.
func TestLinesOfRows(t *testing.T) {
	numbers, texts := sample.TensorType(tensor.Int32), sample.TextType
	made := func(in sample.Type, line, out int) *column.Field {
		return &column.Field{Column: column.Column{In: []sample.Type{in}, InLine: line, OutLine: out}}
	}
	for _, c := range []struct {
		name  string
		from  tableColumn
		made  *column.Field
		ends  []int // of the rows that it is made of
		lines []int // that are asked for
		rows  []int // in which they are
		want  []int // where the rows of the result end
	}{
		{"scalars", tableColumn{size: 4}, made(numbers, 4, 8), nil, []int{0, 2, -1}, []int{0, 2, 0}, []int{8, 16, 24}},
		{"arrays of 3", tableColumn{size: 12}, made(numbers, 4, 1), nil, []int{0, 2, 3, 8}, []int{0, 0, 1, 2}, []int{3, 6, 9}},
		{"any size", tableColumn{beside: true}, made(numbers, 4, 8), []int{8, 8, 12}, []int{0, 1, 2}, []int{0, 0, 2}, []int{16, 16, 24}},
		{"text", tableColumn{beside: true}, made(texts, 1, 8), []int{5, 5, 9}, []int{0, 1, 2}, []int{0, 1, 2}, nil},
	} {
		table := &Table{columns: []tableColumn{c.from, {Computed: Computed{Made: c.made, From: []int{0}}, beside: true}}}
		g := &columns{all: []columnMemory{{texts: sample.Texts{Ends: c.ends}}, {}}}
		for i, line := range c.lines {
			if got := table.rowOf(g, &table.columns[1], line); got != c.rows[i] {
				t.Errorf("%s: line %d is in row %d, want %d", c.name, line, got, c.rows[i])
			}
		}
		if c.want == nil { // what is made of text has one size
			continue
		}
		if table.ends(g, 1, 3); !slices.Equal(g.all[1].texts.Ends, c.want) {
			t.Errorf("%s: rows end at %v, want %v", c.name, g.all[1].texts.Ends, c.want)
		}
	}
}
