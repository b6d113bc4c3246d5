package progress

import "fmt"

// A FanOut numbers what is made of one item. Its children begin with the first: an item
// of which nothing is made needs none.
type FanOut struct {
	Stage    string
	Parent   Lineage
	Skip     *PositionSet // the children that were finished before the run was resumed; nil: none
	children *Children
	losses   []LostInput
	count    int64
}

// Next is the lineage of the next child; ok is false for one that was finished in an
// earlier run.
func (b *FanOut) Next() (child Lineage, ok bool) {
	if b.children == nil {
		b.begin()
	}
	number := b.count
	b.count++
	if b.Skip != nil && b.Skip.Has(number) {
		return Lineage{}, false
	}
	child = b.children.child(number, false)
	if number == 0 {
		child.extra.losses = b.losses
	}
	return child, true
}

func (b *FanOut) begin() {
	parent := b.Parent
	if parent.extra != nil && parent.extra.losses != nil {
		b.losses = parent.extra.losses
		parent.extra = &extra{spans: parent.extra.spans, children: parent.extra.children, members: parent.extra.members}
	}
	b.children = &Children{stage: b.Stage, parent: parent, known: b.Skip != nil}
	if b.Skip != nil {
		b.children.done = b.Skip.clone()
	}
}

// BeginInLine begins outputs of an aggregator, which end in order.
func (b *FanOut) BeginInLine(line *OutputOrder, number int64) {
	b.begin()
	b.children.order, b.children.number = line, number
}

// Remember notes what the aggregator knows after its outputs.
func (b *FanOut) Remember(state string) { b.children.state = state }

// Untold are the losses of the parent, which come with its first child, where it has
// none.
func (b *FanOut) Untold() []LostInput {
	if b.count > 0 {
		return nil
	}
	return b.losses
}

// Ended tells whether the message after the last child was finished in an earlier run.
func (b *FanOut) Ended() bool { return b.Skip != nil && b.Skip.Has(b.count) }

// Unmade is an error where more outputs were finished than are made now.
func (b *FanOut) Unmade() error {
	if b.Skip == nil || b.Skip.top() <= b.count+1 {
		return nil
	}
	return fmt.Errorf("more outputs of this item were finished before the run was resumed "+
		"than the %d that are made of it now: it has to be made into the same in every run", b.count)
}

// End is the lineage of the message after the last child.
func (b *FanOut) End() Lineage {
	if b.children == nil {
		return b.Parent
	}
	return b.children.child(b.count, true)
}
