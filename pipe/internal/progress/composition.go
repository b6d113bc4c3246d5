package progress

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// A Composition says what an item was put together of: how many members it had, a hash of
// what and where each of them was, and all that it had of the sources. After a resume an
// item that has anything of it has to be the same again.
type Composition struct {
	Members int64       `json:"members"`
	Hash    string      `json:"hash"` // of the members, in order
	Items   []ItemRange `json:"items"`
}

// An ItemRange is a half-open range of positions of a source; with Item, of outputs of
// that item, which is named as in a [PartState].
type ItemRange struct {
	Source string   `json:"source"`
	Item   []int64  `json:"item,omitempty"`
	Range  [2]int64 `json:"range"`
}

// composition is what a state says of a parent; nil: it is one item, which its name says
// all about.
func (b *Tracker) composition(t *Lineage) *Composition {
	if !t.joined() {
		return nil
	}
	c := &Composition{Members: t.Count(), Hash: fmt.Sprintf("%016x", b.identity(t))}
	b.leaves(t, func(source string, item []int64, s Range) {
		c.Items = append(c.Items, ItemRange{source, item, [2]int64{s.Lo, s.Hi}})
	})

	// In an order that does not depend on the run, with neighbours as one range.
	slices.SortFunc(c.Items, func(x, y ItemRange) int {
		return cmp.Or(cmp.Compare(x.Source, y.Source), slices.Compare(x.Item, y.Item), cmp.Compare(x.Range[0], y.Range[0]))
	})
	all := c.Items
	c.Items = all[:1]
	for _, r := range all[1:] {
		last := &c.Items[len(c.Items)-1]
		if last.Range[1] == r.Range[0] && last.Source == r.Source && slices.Equal(last.Item, r.Item) {
			last.Range[1] = r.Range[1]
			continue
		}
		c.Items = append(c.Items, r)
	}
	return c
}

// leaves calls f with all that an item has of the sources, and of items that were made
// into several.
func (b *Tracker) leaves(t *Lineage, f func(source string, item []int64, s Range)) {
	t.each(func(s Range) {
		f(b.Names[SourceOf(s.Lo)], nil, Range{PositionOf(s.Lo), PositionOf(s.Lo) + s.positions()})
	})
	t.own(func(s childRange) {
		if source, item := s.of.parent.path(); source >= 0 {
			f(b.Names[source], item, s.Range)
		}
	})
}

// identity is a hash of what an item is, that lasts from run to run.
func (b *Tracker) identity(t *Lineage) uint64 {
	if !t.joined() {
		if t.Lo < t.Hi {
			return Hash(b.salts[SourceOf(t.Lo)], uint64(PositionOf(t.Lo)))
		}
		h := uint64(0)
		t.own(func(s childRange) { h = Hash(h+1, b.identity(&s.of.parent), uint64(s.Lo)) })
		return h
	}
	h := Hash(uint64(t.Count()))
	t.All(func(m *Lineage) { h = Hash(h, b.identity(m)) })
	return h
}

// saltOf is a hash of a source's name.
func saltOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// Hash is a hash of numbers, with the steps of SplitMix64.
func Hash(numbers ...uint64) (h uint64) {
	for _, n := range numbers {
		h += n + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// text names the members, for people.
func (c *Composition) text() string {
	const most = 8
	var all []string
	for _, r := range c.Items[:min(most, len(c.Items))] {
		text := fmt.Sprintf("%d", r.Range[0])
		if r.Range[1]-r.Range[0] > 1 {
			text = fmt.Sprintf("%d–%d", r.Range[0], r.Range[1]-1)
		}
		if len(r.Item) > 0 {
			text = fmt.Sprintf("%s of item %v", text, r.Item)
		}
		all = append(all, fmt.Sprintf("%s of %s", text, r.Source))
	}
	if len(c.Items) > most {
		all = append(all, "others")
	}
	return fmt.Sprintf("%d items (%s)", c.Members, strings.Join(all, ", "))
}

// check says what is wrong with the composition of an item.
func (c *Composition) check(p PartState) error {
	var all []error
	// An aggregator may make something of items that were all lost: it has no members,
	// but their ranges.
	if c.Members < 0 || c.Members > MaxPos || len(c.Hash) != 16 || len(c.Items) == 0 {
		all = append(all, fmt.Errorf("%d members, of %d ranges, with the hash %q", c.Members, len(c.Items), c.Hash))
	}
	last, mine := len(p.Item)-1, false
	for _, r := range c.Items {
		siblings := r.Source == p.Source && slices.Equal(r.Item, p.Item[:last])
		mine = mine || siblings && r.Range[0] <= p.Item[last] && p.Item[last] < r.Range[1]
		if r.Range[0] < 0 || r.Range[0] >= r.Range[1] || r.Range[1] > MaxPos {
			all = append(all, fmt.Errorf("the range [%d, %d)", r.Range[0], r.Range[1]))
		}
		if len(r.Item) > 0 && slices.Min(r.Item) < 0 {
			all = append(all, fmt.Errorf("the item %v", r.Item))
		}
	}
	if !mine {
		all = append(all, errors.New("its members differ from its name"))
	}
	return errors.Join(all...)
}
