package pipe

import (
	"fmt"
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
		parent.rest = &rest{spans: parent.rest.spans, shares: parent.rest.shares}
	}
	b.family = &family{stage: b.stage, parent: parent}
	if b.skip != nil {
		b.family.done = ledger{low: b.skip.low, ahead: append([]span(nil), b.skip.ahead...)}
	}
}

// ended tells whether the message behind the last child was finished in an earlier run.
func (b *brood) ended() bool { return b.skip != nil && b.skip.has(b.count) }

// end is the ticket of the message behind the last child.
func (b *brood) end() ticket {
	if b.family == nil {
		return b.parent
	}
	return b.family.child(b.count, true)
}

// parts are the half finished items of a stage in the state that a run was resumed from.
type parts struct {
	books *books
	mu    sync.Mutex
	left  map[string]PartState
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
			p = &parts{books: o.books, left: make(map[string]PartState)}
		}
		p.left[partKey(part.Source, part.Item)] = part
	}
	return p
}

// claim returns which children of an item are finished, or nil. They are of the epoch that the run was resumed in.
func (p *parts) claim(t *ticket, epoch int) *ledger {
	if p == nil || epoch > 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return nil
	}
	source, item := t.path()
	if source < 0 {
		return nil
	}
	key := partKey(p.books.names[source], item)
	part, ok := p.left[key]
	if !ok {
		return nil
	}
	delete(p.left, key)
	done := part.ledger()
	return &done
}

// missing is an error when the epoch ends and an item did not come again of which outputs are finished.
func (p *parts) missing() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.left {
		return fmt.Errorf("outputs of item %v of source %s were finished before the run was resumed, and the item did not come again", part.Item, part.Source)
	}
	return nil
}
