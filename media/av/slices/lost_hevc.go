package slices

// hevcOrder follows which pictures there are: each one says which it needs.
type hevcOrder struct {
	units   splitter
	sets    hevcSets
	have    map[int]bool // those that may be referred to, by when they are displayed
	base    int          // when the last picture of the lowest layer is, to complete others' low bits
	begun   bool         // a key picture has come
	skipped bool         // leading pictures refer to what was before the first of them
}

func newHEVCOrder(config []byte) *hevcOrder {
	c := &hevcOrder{units: unitsOf(hevcLength(config)), have: make(map[int]bool)}
	if isHVCC(config) {
		c.readConfig(config[22:])
		return c
	}
	eachUnit(startCodes, config, func(unit []byte) { c.sets.read(unit) })
	return c
}

// readConfig reads lists of parameter sets: how many lists, and for each what it is of,
// how many units it has, and these, with their lengths.
func (c *hevcOrder) readConfig(b []byte) {
	lists := b[0]
	b = b[1:]
	for range lists {
		if len(b) < 3 {
			return
		}
		n := int(b[1])<<8 | int(b[2])
		b = b[3:]
		for range n {
			unit, rest, ok := unitsOf(2)(b)
			if !ok {
				return
			}
			c.sets.read(unit)
			b = rest
		}
	}
}

func eachUnit(split splitter, b []byte, f func(unit []byte)) {
	for len(b) > 0 {
		unit, rest, ok := split(b)
		if !ok {
			return
		}
		f(unit)
		b = rest
	}
}

func (c *hevcOrder) lost(packet []byte) bool {
	lost := false
	eachUnit(c.units, packet, func(unit []byte) {
		if c.sets.read(unit) || len(unit) < 3 || unit[0]>>1&63 > 31 {
			return
		}
		s, ok := c.sets.slice(unit)
		switch {
		case !ok:
			c.begun = false // nothing is known until the next key picture
		case s.first:
			lost = c.add(&s) || lost
		}
	})
	return lost
}

// add adds a picture, and reports whether it refers to one that is not there.
func (c *hevcOrder) add(s *hevcSlice) (lost bool) {
	if !c.begun && !s.isKey() {
		return false
	}
	alone := s.isInstant() || s.isKey() && (!c.begun || s.kind < hevcIDR)
	if s.isKey() {
		c.skipped = !s.isInstant() && alone
	}
	at := c.place(s, alone)
	c.begun = true

	// Leading pictures of the first key picture refer to what nobody has given.
	if c.skipped && (s.kind == hevcRASLN || s.kind == hevcRASLR) {
		return false
	}
	needs := make(map[int]bool, mostRefs)
	if !alone {
		for _, list := range [][]hevcRef{s.refs.before, s.refs.behind} {
			for _, ref := range list {
				there := c.have[at+int(ref.delta)]
				lost = lost || ref.used && !there
				if there {
					needs[at+int(ref.delta)] = true
				}
			}
		}
	}
	if !s.longTerm || alone {
		c.have = needs // what is not in the set is forgotten
	}
	c.have[at] = true
	return lost
}

// place returns when a picture is displayed.
func (c *hevcOrder) place(s *hevcSlice, alone bool) int {
	at := s.order
	if !alone {
		at += c.base - c.base&(s.orders-1)
		switch d := at - c.base; {
		case d >= s.orders/2:
			at -= s.orders
		case d < -s.orders/2:
			at += s.orders
		}
	}
	if s.layer == 0 && !s.isLeading() && (s.kind >= 16 || s.kind%2 == 1) {
		c.base = at
	}
	return at
}
