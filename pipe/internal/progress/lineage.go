package progress

// A Lineage says which items of the sources an item was made of. It is a value: an item
// of one source item, or a batch of neighbours, needs no memory besides.
type Lineage struct {
	Range        // the first of them
	extra *extra // what is more; of an item that is still in the making, only its maker's
}

// extra is what does not fit into the range of a lineage.
type extra struct {
	spans    []Range      // in the order in which they were added
	children []childRange // of what one item was made into several of
	losses   []LostInput  // of those, what was lost in the making: reported when the extra is finished

	// members are the items that it was put together of, in order, where these are not
	// simply the positions of its ranges. They are known only where a stage after takes
	// it apart again.
	members []Lineage
}

// A LostInput is an item that was lost in the making of another.
type LostInput struct {
	Of  Lineage
	Why cause
}

// A cause is why an item was lost, which is the stages' own affair. CountedBy is the
// stage that has counted the loss by a policy of its own; "": none has.
type cause interface{ CountedBy() (stage string) }

// Single is the lineage of one source item.
func Single(place int64) Lineage { return Lineage{Range: Range{place, place + 1}} }

// Add joins another item's lineage to t, as for a batch.
func (t *Lineage) Add(u Lineage) {
	if u.extra != nil {
		t.addRest(u)
		return
	}
	t.addSpan(u.Range)
}

func (t *Lineage) addRest(u Lineage) {
	if u.Lo < u.Hi {
		t.addSpan(u.Range)
	}
	for _, s := range u.extra.spans {
		t.addSpan(s)
	}
	for _, s := range u.extra.children {
		t.addShare(s)
	}
	for _, l := range u.extra.losses {
		t.Lose(l)
	}
}

// Lose notes what was lost of what the lineage has.
func (t *Lineage) Lose(l LostInput) {
	r := t.more()
	r.losses = append(r.losses, l)
}

func (t *Lineage) addSpan(s Range) {
	last := &t.Range
	if t.extra != nil && len(t.extra.spans) > 0 {
		last = &t.extra.spans[len(t.extra.spans)-1]
	}
	switch {
	case t.Lo == t.Hi:
		t.Range = s
	case s.Lo == last.Hi:
		last.Hi = s.Hi
	default:
		t.more().spans = append(t.extra.spans, s)
	}
}

// addShare joins a range to the one before where they are neighbours.
func (t *Lineage) addShare(s childRange) {
	r := t.more()
	if n := len(r.children); n > 0 {
		if last := &r.children[n-1]; last.of == s.of && last.Hi == s.Lo && !last.closes {
			last.Hi, last.closes = s.Hi, s.closes
			return
		}
	}
	r.children = append(r.children, s)
}

func (t *Lineage) more() *extra {
	if t.extra == nil {
		t.extra = new(extra)
	}
	return t.extra
}

// each calls f with every range of source items that the lineage has whole.
func (t *Lineage) each(f func(Range)) {
	if t.Lo < t.Hi {
		f(t.Range)
	}
	if t.extra == nil {
		return
	}
	for _, s := range t.extra.spans {
		f(s)
	}
}

// Origins calls f with every range of source items that the lineage has whole or has a
// range of.
func (t *Lineage) Origins(f func(Range)) {
	t.each(f)
	if t.extra == nil {
		return
	}
	for _, s := range t.extra.children {
		s.origins(f)
	}
}

// Lost are the source items of a whole that were lost in the making.
func (t *Lineage) Lost() (all []Range) {
	if t.extra == nil || len(t.extra.children) > 0 {
		return nil
	}
	for i := range t.extra.losses {
		t.extra.losses[i].Of.Origins(func(s Range) { all = append(all, s) })
	}
	return all
}

// Within is what was lost in the making.
func (t *Lineage) Within() []LostInput {
	if t.extra == nil {
		return nil
	}
	return t.extra.losses
}

// Size is the number of source items that the lineage has whole.
func (t *Lineage) Size() (n int64) {
	t.each(func(s Range) { n += s.positions() })
	return n
}

// First is the place of the first source item; ok is false where there is none.
func (t *Lineage) First() (place int64, ok bool) {
	t.Origins(func(s Range) {
		if !ok {
			place, ok = s.Lo, true
		}
	})
	return place, ok
}
