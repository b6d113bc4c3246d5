package progress

import (
	"cmp"
	"slices"
)

// Children are what one item was made into, numbered from 0 on, with a message after the
// last one that says there are no more. The item is finished when all of these are. Only
// the tracker changes children that others know.
//
// The turns of a merge are children too, without a parent and without an end.
type Children struct {
	stage  string
	parent Lineage
	done   PositionSet // of the numbers of its children
	total  int64       // how many there are, the message after the last included; 0: not known yet
	turns  bool        // of a merge
	log    TurnMemory  // of its turns; nil: their numbers say all

	order  *OutputOrder // of an aggregator's outputs: they end in order; nil: of others
	number int64        // in it
	state  string       // of the aggregator after them

	known bool // a state has told what the parent was put together of, and it is that

	open   bool // some of it is finished, and not all
	stale  bool // more of it is finished than the tracker say
	source int  // the path of the parent, while it is open
	item   []int64
}

// Finished are the numbers that are, so far.
func (f *Children) Finished() PositionSet { return f.done.clone() }

// WithTurns is an item's lineage with turns of a merge.
func (t Lineage) WithTurns(turns *Children, lo, hi int64) Lineage {
	room := new(struct { // one piece for most lineages: a merge makes one for each item
		extra
		turns [1]childRange
	})
	return t.with(&room.extra, room.turns[:0], childRange{of: turns, Range: Range{lo, hi}})
}

// WithCounted is WithTurns of a merge that counts its items, too.
func (t Lineage) WithCounted(turns *Children, lo, hi int64, items *Children, number int64) Lineage {
	room := new(struct {
		extra
		turns [2]childRange
	})
	return t.with(&room.extra, room.turns[:0], childRange{of: turns, Range: Range{lo, hi}},
		childRange{of: items, Range: Range{number, number + 1}})
}

// with is the lineage with more children, for which there is new memory.
func (t Lineage) with(x *extra, room []childRange, more ...childRange) Lineage {
	if t.extra != nil {
		x.spans, x.losses, x.members = t.extra.spans, t.extra.losses, t.extra.members
		room = append(room, t.extra.children...)
	}
	x.children = append(room, more...)
	return Lineage{Range: t.Range, extra: x}
}

// A childRange is some of the children of an item.
type childRange struct {
	of *Children
	Range
	closes bool // the last of them is the message after the last child
}

// child is the lineage of one child.
func (f *Children) child(number int64, closes bool) Lineage {
	return Lineage{extra: &extra{children: []childRange{{of: f, Range: Range{number, number + 1}, closes: closes}}}}
}

// path names an item in a way that lasts: the first source item that it was made of,
// and the numbers of the children on the way. What is the same by its composition has
// the same name: it is that of the first member, not of what came first to where they
// were joined.
func (t *Lineage) path() (source int, numbers []int64) {
	if t.extra != nil && len(t.extra.members) > 0 {
		return t.extra.members[0].path()
	}
	if t.Lo < t.Hi {
		return SourceOf(t.Lo), []int64{PositionOf(t.Lo)}
	}
	if t.extra != nil {
		for _, s := range t.extra.children {
			if !s.of.turns {
				source, numbers = s.of.parent.path()
				return source, append(numbers, s.Lo)
			}
		}
	}
	return -1, nil
}

// before is the order of open groups of children: that of their items.
func (f *Children) before(g *Children) int {
	return cmp.Or(cmp.Compare(f.source, g.source), slices.Compare(f.item, g.item), cmp.Compare(f.stage, g.stage))
}

// NewTurns goes on with the turns of a merge.
func NewTurns(merge string, saved Progress) *Children {
	return &Children{stage: merge, done: saved.positionSet(), turns: true}
}

// Keep has a state remember the log of the turns.
func (f *Children) Keep(l TurnMemory) { f.log = l }

// CountOf is the name under which the items of a merge are counted, beside its turns.
func CountOf(merge string) string { return merge + ".items" }

// An OutputOrder has the outputs of an aggregator end in their order. Only the tracker
// changes it.
type OutputOrder struct {
	Ended int64 // how many have
	early map[int64]*Children
}

// wait tells whether a group of children that is complete has to wait for others before
// it.
func (l *OutputOrder) wait(f *Children) bool {
	if f.number == l.Ended {
		return false
	}
	if l.early == nil {
		l.early = make(map[int64]*Children)
	}
	l.early[f.number] = f
	return true
}

// next is the group of children that waited for the one that has ended; nil: there is
// none.
func (l *OutputOrder) next() *Children {
	l.Ended++
	f := l.early[l.Ended]
	delete(l.early, l.Ended)
	return f
}
