package pipe

// A ticket says which items of the source an item was made of. It is a value: an item of one source item, or a batch of
// neighbours, needs no memory besides.
type ticket struct {
	span        // the first of them
	more []span // the others, in the order in which they were added
}

// A span is a half-open range of positions of the epoch.
type span struct{ lo, hi int64 }

func one(pos int64) ticket { return ticket{span: span{pos, pos + 1}} }

// add joins another item's ticket to t, as for a batch.
func (t *ticket) add(u ticket) {
	t.addSpan(u.span)
	for _, s := range u.more {
		t.addSpan(s)
	}
}

func (t *ticket) addSpan(s span) {
	last := &t.span
	if n := len(t.more); n > 0 {
		last = &t.more[n-1]
	}
	switch {
	case t.lo == t.hi:
		t.span = s
	case s.lo == last.hi:
		last.hi = s.hi
	default:
		t.more = append(t.more, s)
	}
}

// each calls f with every span.
func (t *ticket) each(f func(span)) {
	f(t.span)
	for _, s := range t.more {
		f(s)
	}
}

// size is the number of source items.
func (t *ticket) size() int64 {
	n := t.hi - t.lo
	for _, s := range t.more {
		n += s.hi - s.lo
	}
	return n
}
