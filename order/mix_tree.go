package order

import (
	"cmp"
	"math/bits"
	"slices"
)

// A mixTree deals turns to sources. Each node gives its left side's share of its first k
// turns to that side, rounded, and the others to its right side. So with each turn one
// source has one more, and the turn belongs to it.
//
// It is a Huffman tree: whoever has many turns is near its root, so that a turn takes few
// steps. An inner node has at most two thirds of the one above it, which keeps the error
// of rounding to few turns: a half, and two thirds of the error above.
type mixTree struct {
	nodes  []mixNode // the last is the root; none: there is one source, or nothing
	leaves []int     // by source, the node that it is a side of, and the side, as above makes it; -1: it has no turns
	only   int       // the source, where there are no nodes
}

// mixNode divides turns among two sides, each a node or a source.
type mixNode struct {
	side  [2]int // a node, or ^source
	share [2]uint64
	above int // as above makes it; -1: it is the root
}

// above says which side of a node something is.
func above(node, side int) int { return 2*node + side }

func newTree(shares []uint64) *mixTree {
	t := &mixTree{leaves: make([]int, len(shares)), only: -1}
	type part struct {
		share uint64
		what  int
	}
	var leaves, joined []part // both in order
	for i, s := range shares {
		if t.leaves[i] = -1; s > 0 {
			leaves = append(leaves, part{s, ^i})
		}
	}
	slices.SortStableFunc(leaves, func(a, b part) int { return cmp.Compare(a.share, b.share) })
	least := func() (p part) {
		if len(joined) == 0 || len(leaves) > 0 && leaves[0].share <= joined[0].share {
			p, leaves = leaves[0], leaves[1:]
		} else {
			p, joined = joined[0], joined[1:]
		}
		return p
	}

	for len(leaves)+len(joined) > 1 {
		a, b := least(), least()
		n := mixNode{side: [2]int{a.what, b.what}, share: [2]uint64{a.share, b.share}, above: -1}
		for side, what := range n.side {
			if at := above(len(t.nodes), side); what < 0 {
				t.leaves[^what] = at
			} else {
				t.nodes[what].above = at
			}
		}
		joined = append(joined, part{a.share + b.share, len(t.nodes)})
		t.nodes = append(t.nodes, n)
	}
	if len(t.nodes) == 0 {
		t.only = ^least().what
	}
	return t
}

// left returns the number of the first k turns that go to the left side.
func (n *mixNode) left(k uint64) uint64 {
	// k·left ÷ all, and a half.
	all := n.share[0] + n.share[1]
	hi, lo := bits.Mul64(2*k, n.share[0])
	lo, carry := bits.Add64(lo, all, 0)
	q, _ := bits.Div64(hi+carry, lo, 2*all)
	return q
}

// at is whose turn k is, and how many that one had before.
func (t *mixTree) at(k uint64) (source int, before int64) {
	at := len(t.nodes) - 1
	if at < 0 {
		return t.only, int64(k)
	}
	for at >= 0 {
		n := &t.nodes[at]
		left := n.left(k)
		if n.left(k+1) > left {
			at, k = n.side[0], left
		} else {
			at, k = n.side[1], k-left
		}
	}
	return ^at, int64(k)
}

// count adds to all how many of the first k turns each source has.
func (t *mixTree) count(k uint64, all []int64) {
	if len(t.nodes) == 0 {
		all[t.only] += int64(k)
		return
	}
	turns := make([]uint64, len(t.nodes)) // of each node
	turns[len(turns)-1] = k
	for i := len(t.nodes) - 1; i >= 0; i-- { // a node is after those below it
		n := &t.nodes[i]
		left := n.left(turns[i])
		for side, k := range [2]uint64{left, turns[i] - left} {
			if what := n.side[side]; what < 0 {
				all[^what] += int64(k)
			} else {
				turns[what] = k
			}
		}
	}
}

// turn is the inverse of at.
func (t *mixTree) turn(source int, before int64) int64 {
	k := uint64(before)
	for at := t.leaves[source]; at >= 0; {
		n := &t.nodes[at/2]
		k = n.turn(at%2, k)
		at = n.above
	}
	return int64(k)
}

// turn is the turn of the node that is number k of a side, from 0.
func (n *mixNode) turn(side int, k uint64) uint64 {
	// It is the last before which no more than k went there: of the left side, of which
	// left(t+1) is k+1 first at t+1 = ⌈all·(2k+1) ÷ 2·left⌉; the right side gets the rest
	// and rounds a half down, and t is ⌊all·(2k+1) ÷ 2·right⌋.
	all := n.share[0] + n.share[1]
	hi, lo := bits.Mul64(all, 2*k+1)
	q, rest := bits.Div64(hi, lo, 2*n.share[side])
	if side == 0 && rest == 0 {
		q--
	}
	return q
}
