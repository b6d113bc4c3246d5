package pipe

// Members are the items that an item was put together of: those of a batch, in its order. A stage that takes it apart again relies on them: the k-th output
// is about the k-th member, and after a resume the same members have to come together again.

// join adds a member. What is made need not know its members where no stage behind takes it apart.
func (t *ticket) join(u ticket, apart bool) {
	if apart && (t.rest != nil && t.rest.members != nil || !u.plain()) {
		t.list()
		t.rest.members = append(t.rest.members, u)
	}
	t.add(u)
}

// aside adds an item that is finished with the others and is none of the members, because it was lost.
func (t *ticket) aside(u ticket, apart bool) {
	if apart {
		t.list()
	}
	t.add(u)
}

// list makes a list of the members, which were simply the positions of the spans.
func (t *ticket) list() {
	if t.rest != nil && t.rest.members != nil {
		return
	}
	members := make([]ticket, 0, t.size()+1)
	t.each(func(s span) {
		for at := s.lo; at < s.hi; at++ {
			members = append(members, one(at))
		}
	})
	t.more().members = members
}

// plain tells whether an item is one position of a source, whole.
func (t *ticket) plain() bool {
	if t.hi-t.lo != 1 {
		return false
	}
	if t.rest == nil {
		return true
	}
	for _, s := range t.rest.shares {
		if !s.family.turns {
			return false
		}
	}
	return len(t.rest.spans) == 0 && t.rest.members == nil
}

// joined tells whether an item was put together of several, as far as it matters: one position alone is that position.
func (t *ticket) joined() bool {
	return t.rest != nil && t.rest.members != nil || t.size() > 1
}

// count is the number of members; an item that was not put together is its only one.
func (t *ticket) count() int64 {
	if t.rest != nil && t.rest.members != nil {
		return int64(len(t.rest.members))
	}
	return max(1, t.size())
}

// between calls f with the origins of some members.
func (t *ticket) between(lo, hi int64, f func(span)) {
	if t.rest != nil && t.rest.members != nil {
		for i := range t.rest.members[lo:hi] {
			t.rest.members[lo:hi][i].origins(f)
		}
		return
	}
	t.each(func(s span) {
		if from, to := s.lo+max(lo, 0), min(s.lo+hi, s.hi); from < to {
			f(span{from, to})
		}
		lo, hi = lo-s.positions(), hi-s.positions()
	})
}

// origins calls f with the source items that children are about. Of an item that was put together, the k-th child is about the k-th member, those behind the last
// member about that one, and what is lost with the end about all members from there on. Several outputs of an aggregator were made of all
// members together, and so is their end.
func (s share) origins(f func(span)) {
	parent := s.family.parent.element()
	n := parent.count()
	if !parent.joined() || n == 0 || s.closes && s.family.line != nil {
		parent.origins(f)
		return
	}
	lo, hi := min(s.lo, n-1), min(s.hi, n)
	if s.closes {
		hi = n
	}
	parent.between(lo, max(hi, lo+1), f)
}

// element is what an item is of that it was taken out of: of the k-th child of a batch of batches, the k-th of these.
func (t *ticket) element() *ticket {
	for !t.joined() && t.lo == t.hi {
		var in share
		t.own(func(s share) { in = s })
		if in.family == nil || in.lo >= in.family.parent.count() || !in.family.parent.joined() {
			break
		}
		t = in.family.parent.nth(in.lo)
	}
	return t
}

// nth is a member.
func (t *ticket) nth(k int64) *ticket {
	if t.rest != nil && t.rest.members != nil {
		return &t.rest.members[k]
	}
	var m ticket
	t.between(k, k+1, func(s span) { m = ticket{span: s} })
	return &m
}

// all calls f with every member, as a ticket.
func (t *ticket) all(f func(*ticket)) {
	if t.rest != nil && t.rest.members != nil {
		for i := range t.rest.members {
			f(&t.rest.members[i])
		}
		return
	}
	t.each(func(s span) {
		for at := s.lo; at < s.hi; at++ {
			m := one(at)
			f(&m)
		}
	})
}

// own are the shares that say what an item was made of, and not whose turn it was.
func (t *ticket) own(f func(share)) {
	if t.rest == nil {
		return
	}
	for _, s := range t.rest.shares {
		if !s.family.turns {
			f(s)
		}
	}
}

// of is the same ticket with other members: those that are left, in another order.
func (t *ticket) of(members []ticket) ticket {
	with := ticket{span: t.span, rest: &rest{members: append(make([]ticket, 0, len(members)), members...)}}
	if t.rest != nil {
		with.rest.spans, with.rest.shares, with.rest.losses = t.rest.spans, t.rest.shares, t.rest.losses
	}
	return with
}
