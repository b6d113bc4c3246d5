package progress

// Members are the items that an item was put together of: those of a batch, in its order.
// A stage that takes it apart again relies on them: the k-th output is about the k-th
// member, and after a resume the same members have to come together again.

// Join adds a member. What is made need not know its members where no stage after takes
// it apart.
func (t *Lineage) Join(u Lineage, apart bool) {
	if apart && (t.extra != nil && t.extra.members != nil || !u.plain()) {
		t.list()
		t.extra.members = append(t.extra.members, u)
	}
	t.Add(u)
}

// Aside adds an item that is finished with the others and is not a member, because
// it was lost.
func (t *Lineage) Aside(u Lineage, apart bool) {
	if apart {
		t.list()
	}
	t.Add(u)
}

// list makes a list of the members, which were simply the positions of the ranges.
func (t *Lineage) list() {
	if t.extra != nil && t.extra.members != nil {
		return
	}
	members := make([]Lineage, 0, t.Size()+1)
	t.each(func(s Range) {
		for at := s.Lo; at < s.Hi; at++ {
			members = append(members, Single(at))
		}
	})
	t.more().members = members
}

// plain tells whether an item is one position of a source, whole.
func (t *Lineage) plain() bool {
	if t.Hi-t.Lo != 1 {
		return false
	}
	if t.extra == nil {
		return true
	}
	for _, s := range t.extra.children {
		if !s.of.turns {
			return false
		}
	}
	return len(t.extra.spans) == 0 && t.extra.members == nil
}

// joined tells whether an item was put together of several, as far as it matters: one
// position alone is that position.
func (t *Lineage) joined() bool {
	return t.extra != nil && t.extra.members != nil || t.Size() > 1
}

// Count is the number of members; an item that was not put together is its only one.
func (t *Lineage) Count() int64 {
	if t.extra != nil && t.extra.members != nil {
		return int64(len(t.extra.members))
	}
	return max(1, t.Size())
}

// between calls f with the origins of some members.
func (t *Lineage) between(lo, hi int64, f func(Range)) {
	if t.extra != nil && t.extra.members != nil {
		for i := range t.extra.members[lo:hi] {
			t.extra.members[lo:hi][i].Origins(f)
		}
		return
	}
	t.each(func(s Range) {
		if from, to := s.Lo+max(lo, 0), min(s.Lo+hi, s.Hi); from < to {
			f(Range{from, to})
		}
		lo, hi = lo-s.positions(), hi-s.positions()
	})
}

// origins calls f with the source items that children are about. Of an item that was put
// together, the k-th child is about the k-th member, those after the last member about
// that one, and what is lost with the end about all members from there on. Several
// outputs of an aggregator were made of all members together, and so is their end.
func (s childRange) origins(f func(Range)) {
	parent := s.of.parent.element()
	n := parent.Count()
	if !parent.joined() || n == 0 || s.closes && s.of.order != nil {
		parent.Origins(f)
		return
	}
	lo, hi := min(s.Lo, n-1), min(s.Hi, n)
	if s.closes {
		hi = n
	}
	parent.between(lo, max(hi, lo+1), f)
}

// element is what an item is of that it was taken out of: of the k-th child of a batch of
// batches, the k-th of these.
func (t *Lineage) element() *Lineage {
	for !t.joined() && t.Lo == t.Hi {
		var in childRange
		t.own(func(s childRange) { in = s })
		if in.of == nil || in.Lo >= in.of.parent.Count() || !in.of.parent.joined() {
			break
		}
		t = in.of.parent.nth(in.Lo)
	}
	return t
}

// nth is a member.
func (t *Lineage) nth(k int64) *Lineage {
	if t.extra != nil && t.extra.members != nil {
		return &t.extra.members[k]
	}
	var m Lineage
	t.between(k, k+1, func(s Range) { m = Lineage{Range: s} })
	return &m
}

// All calls f with every member, as a lineage.
func (t *Lineage) All(f func(*Lineage)) {
	if t.extra != nil && t.extra.members != nil {
		for i := range t.extra.members {
			f(&t.extra.members[i])
		}
		return
	}
	t.each(func(s Range) {
		for at := s.Lo; at < s.Hi; at++ {
			m := Single(at)
			f(&m)
		}
	})
}

// own are the ranges of children that say what an item was made of, and not whose turn it
// was.
func (t *Lineage) own(f func(childRange)) {
	if t.extra == nil {
		return
	}
	for _, s := range t.extra.children {
		if !s.of.turns {
			f(s)
		}
	}
}

// WithMembers is the same lineage with other members: those that are left, in another
// order.
func (t *Lineage) WithMembers(members []Lineage) Lineage {
	with := Lineage{Range: t.Range, extra: &extra{members: append(make([]Lineage, 0, len(members)), members...)}}
	if t.extra != nil {
		with.extra.spans, with.extra.children, with.extra.losses = t.extra.spans, t.extra.children, t.extra.losses
	}
	return with
}
