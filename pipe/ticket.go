package pipe

// A ticket says which items of the sources an item was made of. It is a value: an item of one source item, or a batch of
// neighbours, needs no memory besides.
type ticket struct {
	span       // the first of them
	rest *rest // what is more; of an item that is still in the making, only its maker's
}

// A rest is what does not fit into a ticket's span.
type rest struct {
	spans  []span    // in the order in which they were added
	shares []share   // of what one item was made into several of
	losses []trouble // of those, what was lost in the making; it is told when the rest is finished

	// members are the items that it was put together of, in order, where these are not simply the positions of its spans. They are
	// known only where a stage behind takes it apart again.
	members []ticket
}

// A span is a half-open range of places of the epoch. A place is a position with the number of its source above it, so that
// the places of two sources never touch.
type span struct{ lo, hi int64 }

const (
	posBits = 48
	maxPos  = 1<<posBits - 1

	maxSources = 1 << (63 - posBits)
)

// place is where a position of a source lies.
func place(source int, pos int64) int64 { return int64(source)<<posBits | pos }

func sourceOf(place int64) int  { return int(place >> posBits) }
func posOf(place int64) int64   { return place & maxPos }
func one(place int64) ticket    { return ticket{span: span{place, place + 1}} }
func (s span) positions() int64 { return s.hi - s.lo }

// add joins another item's ticket to t, as for a batch.
func (t *ticket) add(u ticket) {
	if u.rest != nil {
		t.addRest(u)
		return
	}
	t.addSpan(u.span)
}

func (t *ticket) addRest(u ticket) {
	if u.lo < u.hi {
		t.addSpan(u.span)
	}
	for _, s := range u.rest.spans {
		t.addSpan(s)
	}
	for _, s := range u.rest.shares {
		t.addShare(s)
	}
	for _, l := range u.rest.losses {
		t.lose(l)
	}
}

// lose notes what was lost of what the ticket has.
func (t *ticket) lose(l trouble) {
	r := t.more()
	r.losses = append(r.losses, l)
}

func (t *ticket) addSpan(s span) {
	last := &t.span
	if t.rest != nil && len(t.rest.spans) > 0 {
		last = &t.rest.spans[len(t.rest.spans)-1]
	}
	switch {
	case t.lo == t.hi:
		t.span = s
	case s.lo == last.hi:
		last.hi = s.hi
	default:
		t.more().spans = append(t.rest.spans, s)
	}
}

// addShare joins a share to the one before where they are neighbours.
func (t *ticket) addShare(s share) {
	r := t.more()
	if n := len(r.shares); n > 0 {
		if last := &r.shares[n-1]; last.family == s.family && last.hi == s.lo && !last.closes {
			last.hi, last.closes = s.hi, s.closes
			return
		}
	}
	r.shares = append(r.shares, s)
}

func (t *ticket) more() *rest {
	if t.rest == nil {
		t.rest = new(rest)
	}
	return t.rest
}

// each calls f with every span of source items that the ticket has whole.
func (t *ticket) each(f func(span)) {
	if t.lo < t.hi {
		f(t.span)
	}
	if t.rest == nil {
		return
	}
	for _, s := range t.rest.spans {
		f(s)
	}
}

// origins calls f with every span of source items that the ticket has whole or has a share of.
func (t *ticket) origins(f func(span)) {
	t.each(f)
	if t.rest == nil {
		return
	}
	for _, s := range t.rest.shares {
		s.origins(f)
	}
}

// lost are the source items of a whole that were lost in the making.
func (t *ticket) lost() (all []span) {
	if t.rest == nil || len(t.rest.shares) > 0 {
		return nil
	}
	for i := range t.rest.losses {
		t.rest.losses[i].ticket.origins(func(s span) { all = append(all, s) })
	}
	return all
}

// size is the number of source items that the ticket has whole.
func (t *ticket) size() (n int64) {
	t.each(func(s span) { n += s.positions() })
	return n
}

// first is the place of the first source item; ok is false where there is none.
func (t *ticket) first() (place int64, ok bool) {
	t.origins(func(s span) {
		if !ok {
			place, ok = s.lo, true
		}
	})
	return place, ok
}
