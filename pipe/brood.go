package pipe

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// A brood numbers what is made of one item. The family begins with the first child: an item of which nothing is made needs none.
type brood struct {
	stage  string
	parent ticket
	skip   *ledger // the children that were finished before the run was resumed; nil: none
	family *family
	losses []trouble
	count  int64
}

// next is the ticket of the next child; ok is false for one that was finished in an earlier run.
func (b *brood) next() (child ticket, ok bool) {
	if b.family == nil {
		b.begin()
	}
	number := b.count
	b.count++
	if b.skip != nil && b.skip.has(number) {
		return ticket{}, false
	}
	child = b.family.child(number, false)
	if number == 0 {
		child.rest.losses = b.losses
	}
	return child, true
}

func (b *brood) begin() {
	parent := b.parent
	if parent.rest != nil && parent.rest.losses != nil {
		b.losses = parent.rest.losses
		parent.rest = &rest{spans: parent.rest.spans, shares: parent.rest.shares, members: parent.rest.members}
	}
	b.family = &family{stage: b.stage, parent: parent, known: b.skip != nil}
	if b.skip != nil {
		b.family.done = ledger{low: b.skip.low, ahead: append([]span(nil), b.skip.ahead...)}
	}
}

// ended tells whether the message behind the last child was finished in an earlier run.
func (b *brood) ended() bool { return b.skip != nil && b.skip.has(b.count) }

// unmade is an error where more outputs were finished than are made now.
func (b *brood) unmade() error {
	if b.skip == nil || b.skip.top() <= b.count+1 {
		return nil
	}
	return Fatal(fmt.Errorf("more outputs of this item were finished before the run was resumed than the %d that are made of it now: it has to be made into the same in every run", b.count))
}

// end is the ticket of the message behind the last child.
func (b *brood) end() ticket {
	if b.family == nil {
		return b.parent
	}
	return b.family.child(b.count, true)
}

// parts are the half finished items of a stage in the state that a run was resumed from.
type parts struct {
	books  *books
	mu     sync.Mutex
	left   map[string]PartState
	leaves map[string][]leaf // all that these have of the sources and of other items, by those, in order
}

// A leaf is a range that belongs to one of the parts.
type leaf struct {
	span
	part string
}

func partKey(source string, item []int64) string { return fmt.Sprint(source, item) }

// partsOf are those of one stage, or nil.
func (o *opening) partsOf(stage string) *parts {
	var p *parts
	for _, part := range o.config.Resume.Parts {
		if part.Stage != stage {
			continue
		}
		if p == nil {
			p = &parts{books: o.books, left: make(map[string]PartState), leaves: make(map[string][]leaf)}
		}
		key := partKey(part.Source, part.Item)
		p.left[key] = part
		for _, r := range part.items() {
			of := partKey(r.Source, r.Item)
			p.leaves[of] = append(p.leaves[of], leaf{span{r.Range[0], r.Range[1]}, key})
		}
	}
	if p != nil {
		for _, all := range p.leaves {
			slices.SortFunc(all, func(a, b leaf) int { return cmp.Compare(a.lo, b.lo) })
		}
	}
	return p
}

// items are all that an item has of the sources, and of items that were made into several.
func (p PartState) items() []ItemRange {
	if p.Of != nil {
		return p.Of.Items
	}
	last := len(p.Item) - 1
	return []ItemRange{{p.Source, p.Item[:last], [2]int64{p.Item[last], p.Item[last] + 1}}}
}

// claim returns which children of an item are finished, or nil. They are of the epoch that the run was resumed in. It is an error when an item has something of
// one of which outputs are finished, and is not that one: to hand on anything of it would be to hand that on twice, or to lose something else.
func (p *parts) claim(t *ticket, epoch int) (*ledger, error) {
	if p == nil || epoch > 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key, some := p.touches(t)
	if !some {
		return nil, nil
	}
	part := p.left[key]
	if err := p.differs(part, t); err != nil {
		return nil, err
	}
	delete(p.left, key)
	done := part.ledger()
	return &done, nil
}

// spoilt is an error where something is gone without which an item cannot come again of which outputs are finished.
func (p *parts) spoilt(t *ticket, epoch int) error {
	if p == nil || epoch > 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if key, some := p.touches(t); some {
		return p.left[key].absent(": something that it was made of is lost or dropped now, and was not in the run before")
	}
	return nil
}

// touches finds a part that has something in common with an item.
func (p *parts) touches(t *ticket) (part string, some bool) {
	if len(p.left) == 0 {
		return "", false
	}
	p.books.leaves(t, func(source string, item []int64, s span) {
		all := p.leaves[partKey(source, item)]
		from := sort.Search(len(all), func(i int) bool { return all[i].hi > s.lo })
		for _, l := range all[from:] {
			if some || l.lo >= s.hi {
				return
			}
			if _, left := p.left[l.part]; left {
				part, some = l.part, true
			}
		}
	})
	return part, some
}

// differs says why an item is not the one that the state has outputs of.
func (p *parts) differs(part PartState, t *ticket) error {
	now := p.books.composition(t)
	switch {
	case part.Of == nil && now != nil:
		return part.absent(fmt.Sprintf(": now there is one of %s, and the state does not say of which it was made. States of earlier versions never do; go on from one that was saved between two such items", now.text()))
	case part.Of != nil && (now == nil || now.Members != part.Of.Members || now.Hash != part.Of.Hash):
		is := "one item alone"
		if now != nil {
			is = now.text()
		}
		return part.absent(fmt.Sprintf(": it was made of %s, and what comes instead is made of %s, or of these in another order. Resume with the settings that the state was saved with and with stages before %s that keep order, or from a state that was saved between two such items", part.Of.text(), is, part.Stage))
	}
	var err error
	var visit func(share)
	visit = func(s share) {
		if s.family.parent.joined() && !s.family.known {
			err = part.absent(": it is an output of an item of several, and the state does not say of which that was made. States of earlier versions never do; go on from one that was saved between two such items")
		}
		s.family.parent.own(visit)
	}
	t.own(visit)
	return err
}

// missing is an error when the epoch ends and an item did not come again of which outputs are finished.
func (p *parts) missing() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.left {
		return part.absent("")
	}
	return nil
}

// absent is the error of an item that does not come again. No policy tolerates it.
func (p PartState) absent(why string) error {
	return Fatal(fmt.Errorf("outputs of item %v of source %s were finished before the run was resumed, and the item did not come again%s", p.Item, p.Source, why))
}
