package batch

import (
	"math/bits"
	"sync/atomic"
)

// rowBlock is how many rows there is room for at first: as many as nearly all batches
// have.
const rowBlock = 1024

// rowValues holds a value for each row of a batch; nil holds none. It grows by the rows
// that are written, not by those that a batch may have, and without moving any: workers
// write different rows at once.
type rowValues[T any] struct {
	rows   int                     // most of a batch
	blocks [33]atomic.Pointer[[]T] // of rowBlock rows, then as many again, twice as many, …
	joined atomic.Pointer[[]T]     // what first returned of several blocks
}

func newRowValues[T any](rows int) *rowValues[T] { return &rowValues[T]{rows: rows} }

// at is the value of a row.
func (c *rowValues[T]) at(row int) *T {
	k := bits.Len(uint(row / rowBlock))
	begin, size := 0, min(rowBlock, c.rows)
	if k > 0 {
		begin = rowBlock << (k - 1)
		size = min(begin, c.rows-begin)
	}
	block := c.blocks[k].Load()
	if block == nil {
		fresh := make([]T, size)
		c.blocks[k].CompareAndSwap(nil, &fresh)
		block = c.blocks[k].Load()
	}
	return &(*block)[row-begin]
}

// first returns the values of the first rows, all of which are written: a view, unless
// they are in several blocks. Those are joined once, however often a batch is asked.
func (c *rowValues[T]) first(rows int) []T {
	if rows == 0 {
		return nil
	}
	c.at(0)
	if block := *c.blocks[0].Load(); rows <= len(block) {
		return block[:rows]
	}
	if all := c.joined.Load(); all != nil && len(*all) == rows {
		return *all
	}

	all := make([]T, 0, rows)
	for i := 0; len(all) < rows; i++ {
		c.at(len(all)) // a block of which no row was written
		block := *c.blocks[i].Load()
		all = append(all, block[:min(len(block), rows-len(all))]...)
	}
	c.joined.Store(&all)
	return all
}

// take has a row be as one of others is.
func (c *rowValues[T]) take(row int, of *rowValues[T], from int) {
	if c != nil {
		*c.at(row) = *of.at(from)
	}
}

// forget empties a row.
func (c *rowValues[T]) forget(row int) {
	if c != nil {
		*c.at(row) = *new(T)
	}
}

// each calls do with every row that there is memory for.
func (c *rowValues[T]) each(do func(*T)) {
	if c == nil {
		return
	}
	for i := range c.blocks {
		if block := c.blocks[i].Load(); block != nil {
			for k := range *block {
				do(&(*block)[k])
			}
		}
	}
}

// clear empties all rows. Blocks beyond the first go: few batches need them.
func (c *rowValues[T]) clear() {
	if c == nil {
		return
	}
	if block := c.blocks[0].Load(); block != nil {
		clear(*block)
	}
	for i := range c.blocks[1:] {
		c.blocks[i+1].Store(nil)
	}
	c.joined.Store(nil)
}
