package progress

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// Unfinished are the items of a stage of which the state that a run was resumed from has
// some outputs, and not all.
type Unfinished struct {
	tracker *Tracker
	mu      sync.Mutex
	left    map[string]PartState
	leaves  map[string][]leaf // all that these have of the sources and of other items, by those, in order

	within  map[string]string  // what these were taken out of: the part, by the item
	checked map[*Children]bool // with within
}

// A leaf is a range that belongs to one of the parts.
type leaf struct {
	Range
	part string
}

// UnfinishedOf are those of one stage, or nil.
func (b *Tracker) UnfinishedOf(stage string, all []PartState) *Unfinished {
	var p *Unfinished
	for _, part := range all {
		if part.Stage != stage {
			continue
		}
		if p == nil {
			p = &Unfinished{tracker: b, left: make(map[string]PartState), leaves: make(map[string][]leaf),
				within: make(map[string]string), checked: make(map[*Children]bool)}
		}
		key := partKey(part.Source, part.Item)
		p.left[key] = part
		for _, r := range part.items() {
			of := partKey(r.Source, r.Item)
			p.leaves[of] = append(p.leaves[of], leaf{Range{r.Range[0], r.Range[1]}, key})
			for n := range r.Item {
				p.within[partKey(r.Source, r.Item[:n+1])] = key
			}
		}
	}
	if p != nil {
		for _, all := range p.leaves {
			slices.SortFunc(all, func(a, b leaf) int { return cmp.Compare(a.Lo, b.Lo) })
		}
	}
	return p
}

// Claim returns which children of an item are finished, or nil. They are of the epoch
// that the run was resumed in. It is an error when an item has something of one of which
// outputs are finished, and is not that one: to hand on anything of it would be to hand
// that on twice, or to lose something else.
func (p *Unfinished) Claim(t *Lineage, epoch int) (*PositionSet, error) {
	if p == nil || epoch > 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key, some := p.touches(t)
	if !some {
		return nil, p.regrouped(t)
	}
	part := p.left[key]
	if err := p.differs(part, t); err != nil {
		return nil, err
	}
	delete(p.left, key)
	done := part.positionSet()
	return &done, nil
}

// Spoilt is an error where something is gone without which an item cannot come again of
// which outputs are finished.
func (p *Unfinished) Spoilt(t *Lineage, epoch int) error {
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
func (p *Unfinished) touches(t *Lineage) (part string, some bool) {
	if len(p.left) == 0 {
		return "", false
	}
	p.tracker.leaves(t, func(source string, item []int64, s Range) {
		all := p.leaves[partKey(source, item)]
		from := sort.Search(len(all), func(i int) bool { return all[i].Hi > s.Lo })
		for _, l := range all[from:] {
			if some || l.Lo >= s.Hi {
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
func (p *Unfinished) differs(part PartState, t *Lineage) error {
	now := p.tracker.composition(t)
	switch {
	case part.Of == nil && now != nil:
		return part.absent(fmt.Sprintf(": now there is one of %s, and the state does not say what it was "+
			"made of. States of earlier versions never do; go on from one that was saved between two such items", now.text()))
	case part.Of != nil && (now == nil || now.Members != part.Of.Members || now.Hash != part.Of.Hash):
		is := "one item alone"
		if now != nil {
			is = now.text()
		}
		return part.absent(fmt.Sprintf(": it was made of %s, and what comes instead is made of %s, "+
			"or of these in another order. Resume with the settings that the state was "+
			"saved with and with stages before %s that keep order, or from a state that was saved between two such items",
			part.Of.text(), is, part.Stage))
	}

	// What the item was taken out of has to be known, too.
	var err error
	var visit func(childRange)
	visit = func(s childRange) {
		if s.of.parent.joined() && !s.of.known {
			err = part.absent(": it is an output of an item of several, and the state does not say what " +
				"that was made of. States of earlier versions never do; go on from one that was saved between two such items")
		}
		s.of.parent.own(visit)
	}
	t.own(visit)
	return err
}

// regrouped is an error where an item was taken out of several together, and what is
// missing was taken out of one of these alone: its name does not come again then, and
// what it was made into would come under another one.
func (p *Unfinished) regrouped(t *Lineage) (err error) {
	if len(p.left) == 0 || len(p.within) == 0 {
		return nil
	}
	var visit func(childRange)
	visit = func(s childRange) {
		if p.checked[s.of] {
			return
		}
		p.checked[s.of] = true
		parent := &s.of.parent
		parent.own(visit)
		if !parent.joined() || s.of.known {
			return
		}
		parent.All(func(m *Lineage) {
			source, item := m.path()
			if source < 0 {
				return
			}
			if part, left := p.left[p.within[partKey(p.tracker.Names[source], item)]]; left && err == nil {
				err = part.absent(fmt.Sprintf(": it was taken out of item %v alone, "+
					"and now %s are taken apart together. Resume with the settings that the state was saved with",
					item, p.tracker.composition(parent).text()))
			}
		})
	}
	t.own(visit)
	return err
}

// Missing is an error when the epoch ends and an item did not come again of which outputs
// are finished.
func (p *Unfinished) Missing() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.left {
		return part.absent("")
	}
	return nil
}

// absent is the error of an item that does not come again.
func (p PartState) absent(why string) error {
	return fmt.Errorf("outputs of item %v of source %s were finished before the run was resumed, "+
		"and the item did not come again%s", p.Item, p.Source, why)
}
