package pipe

import (
	"cmp"
	"slices"
)

// A family is what one item was made into several of: its children, numbered from 0 on, and behind the last one a message that
// says there are no more. The item is finished when all of these are. Only the run's books change a family that others know.
//
// The turns of a merge are a family too, without a parent and without an end.
type family struct {
	stage  string
	parent ticket
	done   ledger // of the numbers of its children
	total  int64  // how many there are, the message behind the last included; 0: not known yet
	turns  bool   // of a merge

	line   *familyLine // of an aggregator's outputs: they end in order; nil: of others
	number int64       // in it
	state  string      // of the aggregator behind them

	known bool // a state has told what the parent was put together of, and it is that

	open   bool // some of it is finished, and not all
	stale  bool // more of it is finished than the books say
	source int  // the path of the parent, while it is open
	item   []int64
}

// A share is some of a family's children.
type share struct {
	family *family
	span
	closes bool // the last of them is the message behind the last child
}

// child is the ticket of one child.
func (f *family) child(number int64, closes bool) ticket {
	return ticket{rest: &rest{shares: []share{{family: f, span: span{number, number + 1}, closes: closes}}}}
}

// path names an item in a way that lasts: the first source item that it was made of, and the numbers of the children on the way.
func (t *ticket) path() (source int, numbers []int64) {
	if t.lo < t.hi {
		return sourceOf(t.lo), []int64{posOf(t.lo)}
	}
	if t.rest != nil {
		for _, s := range t.rest.shares {
			if !s.family.turns {
				source, numbers = s.family.parent.path()
				return source, append(numbers, s.lo)
			}
		}
	}
	return -1, nil
}

// before is the order of open families: that of their items.
func (f *family) before(g *family) int {
	return cmp.Or(cmp.Compare(f.source, g.source), slices.Compare(f.item, g.item), cmp.Compare(f.stage, g.stage))
}

// newTurns goes on with the turns of a merge.
func newTurns(merge string, saved Progress) *family {
	return &family{stage: merge, done: saved.ledger(), turns: true}
}
