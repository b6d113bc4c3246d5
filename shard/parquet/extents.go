package parquet

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// listType is the type of a list, when all were seen.
func (c *column) listType() sample.Type {
	if c.meaning == asText {
		return sample.Type{Kind: sample.Text, Shape: slices.Repeat([]int{tensor.Unknown}, len(c.lists))}
	}
	t := c.typeOf(sample.TensorType(c.dtype, tensor.Unknown))
	for _, n := range c.shape[1:] {
		t.Shape = append(t.Shape, max(n, 0))
	}
	if n := c.fixedExtent(0); n > 0 && (c.shape[0] == n || c.shape[0] == notSeen) {
		t.Shape[0] = n
	}
	for axis := 1; axis < len(t.Shape); axis++ {
		if n := c.fixedExtent(axis); n > 0 && c.shape[axis] == notSeen {
			t.Shape[axis] = n
		}
	}
	last, size := len(t.Shape)-1, 1
	for _, n := range c.tensor {
		size *= n
	}
	if c.tensor != nil && t.Shape[last] == size {
		t.Shape = append(t.Shape[:last], c.tensor...)
	}
	return t
}

func (c *column) fixedExtent(axis int) int {
	if len(c.fixed) != len(c.shape) {
		return 0
	}
	return c.fixed[axis]
}

// varies marks an outermost extent that is not the same in all rows.
const varies = -2

// measured notes how many elements the lists of rows have.
func (c *column) measured(rows []span) {
	if c.fixedExtent(0) == 0 || c.meaning == asText {
		return
	}
	each := int64(numbers[c.number].size)
	for _, n := range c.shape[1:] {
		each *= int64(max(n, 1))
	}
	for _, s := range rows {
		switch n := int(s.n / each); {
		case s.at < 0:
		case c.shape[0] == notSeen:
			c.shape[0] = n
		case c.shape[0] != n:
			c.shape[0] = varies
			return
		}
	}
}

// nesting follows lists in lists through the levels of a column, which may go on from
// page to page.
type nesting struct {
	c      *column
	counts []int // elements so far, of lists that are open; notSeen: it is not
}

// close ends lists from one on.
func (n *nesting) close(from int) {
	for j := from; j < len(n.counts); j++ {
		if n.counts[j] != notSeen {
			n.long(j, n.counts[j])
		}
		n.counts[j] = notSeen
	}
}

// long notes how long a list is. Those in others have to be alike.
func (n *nesting) long(j, elements int) {
	switch have := &n.c.shape[j]; {
	case j == 0:
	case *have == notSeen:
		*have = elements
	case *have != elements && n.c.refused == "":
		n.c.refused = fmt.Sprintf("it is a list of lists of %d and of %d elements, and an array needs equally long ones", *have, elements)
	}
}

// next takes the levels of an entry.
func (n *nesting) next(repetition, definition int) {
	n.close(repetition)
	if repetition > 0 {
		n.counts[repetition-1]++
	}
	for j := repetition; j < len(n.counts); j++ {
		if definition < n.c.lists[j] {
			switch {
			case j > 0 && definition < n.c.lists[j]-1 && n.c.refused == "":
				n.c.refused = "it is a list of lists, of which some have no value (null): fill them when you write the file"
			case definition == n.c.lists[j]-1:
				n.long(j, 0)
			}
			return
		}
		n.counts[j] = 1
	}
}
