package batch

import (
	"slices"
	"sync"
	"testing"
)

// Rows have what was written, by many at once, whatever the number of rows.
func TestRowValues(t *testing.T) {
	for _, rows := range []int{1, rowBlock - 1, rowBlock, rowBlock + 1, 2 * rowBlock, 5000} {
		c := newRowValues[int](rows)
		for range 2 {
			var all sync.WaitGroup
			for from := range 4 {
				all.Go(func() {
					for row := from; row < rows; row += 4 {
						*c.at(row) = row + 1
					}
				})
			}
			all.Wait()
			for _, n := range []int{0, 1, rows / 2, rows} {
				want := make([]int, n)
				for i := range want {
					want[i] = i + 1
				}
				if got := c.first(n); !slices.Equal(got, want) {
					t.Fatalf("%d of %d rows: %v", n, rows, got)
				}
			}
			if a, b := c.first(rows), c.first(rows); &a[0] != &b[0] {
				t.Errorf("%d rows are joined each time", rows)
			}
			c.clear()
			if slices.Max(c.first(rows)) != 0 {
				t.Fatalf("%d rows are not all cleared", rows)
			}
			c.clear()
		}
	}
}

// A batch that may have many rows costs memory for those that come.
func TestReserveMakesTablesForWhatComes(t *testing.T) {
	c := newRowValues[string](1 << 26)
	*c.at(4) = "e"
	if n := len(*c.blocks[0].Load()); n != rowBlock || len(c.first(5)) != 5 {
		t.Error(n)
	}
	for i := range c.blocks[1:] {
		if c.blocks[i+1].Load() != nil {
			t.Error(i, "is there")
		}
	}
}
