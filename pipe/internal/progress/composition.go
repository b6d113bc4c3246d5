package progress

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

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
