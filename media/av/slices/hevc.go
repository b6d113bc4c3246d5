package slices

import "math/bits"

// hevcRefs are the pictures that one may refer to, by how much earlier or later they are
// displayed: first those before it, the nearest first, then those after it. Used are
// those that it refers to itself; the others are kept for those that follow.
type hevcRefs struct {
	before, behind []hevcRef
}

type hevcRef struct {
	delta int32
	used  bool
}

// mostRefs is more than a set may have.
const mostRefs = 16

// hevcSequence is what a sequence parameter set says of slice headers.
type hevcSequence struct {
	planes    bool
	orderBits int
	sets      []hevcRefs
	longTerm  bool // pictures may be kept by other means
}

// hevcPicture is what a picture parameter set says of them.
type hevcPicture struct {
	sequence uint32
	output   bool
	extra    int
}

// hevcSets are the parameter sets by their numbers.
type hevcSets struct {
	sequences [16]*hevcSequence
	pictures  [64]*hevcPicture
}

// hevcPayload returns a reader of a unit of H.265, whose header has two bytes.
func hevcPayload(unit []byte) bitReader {
	r := payload(unit)
	r.u(8)
	return r
}

// read reads a unit if it is a parameter set, and reports whether it is.
func (c *hevcSets) read(unit []byte) bool {
	if len(unit) < 2 {
		return false
	}
	r := hevcPayload(unit)
	switch unit[0] >> 1 & 63 {
	case 33:
		c.readSequence(&r)
		return true
	case 34:
		c.readPicture(&r)
		return true
	}
	return false
}

func (c *hevcSets) readPicture(r *bitReader) {
	id := r.ue()
	p := &hevcPicture{sequence: r.ue()}
	r.u(1)
	p.output = r.flag()
	p.extra = int(r.u(3))
	if !r.short && id < 64 && p.sequence < 16 {
		c.pictures[id] = p
	}
}

func (c *hevcSets) readSequence(r *bitReader) {
	r.u(4)
	layers := int(r.u(3))
	r.u(1)
	skipProfile(r, layers)
	id := r.ue()
	s := new(hevcSequence)
	if r.ue() == 3 {
		s.planes = r.flag()
	}
	r.ue() // size
	r.ue()
	if r.flag() {
		for range 4 {
			r.ue()
		}
	}
	r.ue() // depths
	r.ue()
	s.orderBits = int(r.ue()) + 4
	described := 1
	if r.flag() {
		described = layers + 1
	}
	for range 3 * described {
		r.ue()
	}
	for range 6 { // sizes of blocks
		r.ue()
	}
	if r.flag() {
		if r.flag() {
			skipScaling(r)
		}
	}
	r.u(2)
	if r.flag() {
		r.u(8)
		r.ue()
		r.ue()
		r.u(1)
	}
	n := r.ue()
	if n > 64 || s.orderBits > 16 || id > 15 {
		return
	}
	for range n {
		set, ok := readRefs(r, s.sets, int(n))
		if !ok {
			return
		}
		s.sets = append(s.sets, set)
	}
	s.longTerm = r.flag()
	if !r.short {
		c.sequences[id] = s
	}
}

func skipProfile(r *bitReader, layers int) {
	const profile, level = 88, 8
	skip := func(n int) {
		for range n / 8 {
			r.u(8)
		}
	}
	skip(profile + level)
	if layers == 0 {
		return
	}
	var has [8][2]bool
	for i := range 8 {
		has[i] = [2]bool{r.flag(), r.flag()}
	}
	for i := range layers {
		if has[i][0] {
			skip(profile)
		}
		if has[i][1] {
			skip(level)
		}
	}
}

func skipScaling(r *bitReader) {
	for size := range 4 {
		step := 1
		if size == 3 {
			step = 3
		}
		for i := 0; i < 6 && !r.short; i += step {
			if !r.flag() {
				r.ue()
				continue
			}
			n := min(64, 1<<(4+size*2))
			if size > 1 {
				n++
			}
			for range n {
				r.se()
			}
		}
	}
}

// readRefs reads the set after those of a sequence, which has n in all. It may be
// written as the difference to one of them.
func readRefs(r *bitReader, sets []hevcRefs, n int) (s hevcRefs, ok bool) {
	if len(sets) > 0 && r.flag() {
		return readDifference(r, sets, n)
	}
	before, behind := r.ue(), r.ue()
	if before > mostRefs || behind > mostRefs {
		return s, false
	}
	read := func(n uint32, sign int32) (refs []hevcRef) {
		delta := int32(0)
		for range n {
			delta += sign * int32(min(r.ue(), 1<<15)+1)
			refs = append(refs, hevcRef{delta, r.flag()})
		}
		return refs
	}
	return hevcRefs{read(before, -1), read(behind, 1)}, !r.short
}

// readDifference moves all pictures of another set, and the one that it was for, by the
// same time.
func readDifference(r *bitReader, sets []hevcRefs, n int) (s hevcRefs, ok bool) {
	from := uint32(1)
	if len(sets) == n {
		from += r.ue()
	}
	if from > uint32(len(sets)) {
		return s, false
	}
	other := sets[len(sets)-int(from)]
	earlier := r.flag()
	by := int32(min(r.ue(), 1<<15) + 1)
	if earlier {
		by = -by
	}

	type moved struct {
		hevcRef
		kept bool
	}
	all := append(append(other.before[:len(other.before):len(other.before)], other.behind...), hevcRef{})
	refs := make([]moved, len(all))
	for i, o := range all {
		used := r.flag()
		refs[i] = moved{hevcRef{o.delta + by, used}, used || r.flag()}
	}
	before, behind, itself := refs[:len(other.before)], refs[len(other.before):len(all)-1], refs[len(all)-1:]

	// Each list has the nearest first: those that have changed sides are nearer.
	collect := func(side int32, crossed, same []moved) (list []hevcRef) {
		take := func(m moved) {
			if m.kept && m.delta*side > 0 {
				list = append(list, m.hevcRef)
			}
		}
		for i := range crossed {
			take(crossed[len(crossed)-1-i])
		}
		take(itself[0])
		for _, m := range same {
			take(m)
		}
		return list
	}
	s = hevcRefs{collect(-1, behind, before), collect(1, before, behind)}
	return s, !r.short && len(s.before) <= mostRefs && len(s.behind) <= mostRefs
}

// hevcSlice is what is wanted of the first slice header of a picture.
type hevcSlice struct {
	kind     uint8
	layer    int
	first    bool // of its picture
	order    int  // the low bits of when it is displayed
	orders   int  // how many those can be
	refs     hevcRefs
	longTerm bool
}

// Types of units.
const (
	hevcRASLN = 8
	hevcRASLR = 9
	hevcIDR   = 19
	hevcIDRN  = 20
	hevcCRA   = 21
)

func (s *hevcSlice) isKey() bool     { return s.kind >= 16 && s.kind <= 23 }
func (s *hevcSlice) isInstant() bool { return s.kind == hevcIDR || s.kind == hevcIDRN }
func (s *hevcSlice) isLeading() bool { return s.kind >= 6 && s.kind <= 9 }

// slice reads a slice header up to the set of references.
func (c *hevcSets) slice(unit []byte) (s hevcSlice, ok bool) {
	r := hevcPayload(unit)
	s.kind, s.layer = unit[0]>>1&63, int(unit[1]&7)-1
	if s.first = r.flag(); !s.first {
		return s, true
	}
	if s.isKey() {
		r.u(1)
	}
	id := r.ue()
	if id > 63 || c.pictures[id] == nil {
		return s, false
	}
	p := c.pictures[id]
	q := c.sequences[p.sequence]
	if q == nil {
		return s, false
	}
	r.u(p.extra)
	r.ue() // its kind
	if p.output {
		r.u(1)
	}
	if q.planes {
		r.u(2)
	}
	s.orders, s.longTerm = 1<<q.orderBits, q.longTerm
	if s.isInstant() {
		return s, !r.short
	}
	s.order = int(r.u(q.orderBits))
	switch {
	case !r.flag():
		s.refs, ok = readRefs(&r, q.sets, len(q.sets))
		return s, ok
	case len(q.sets) == 0:
		return s, false
	case len(q.sets) == 1:
		s.refs = q.sets[0]
	default:
		i := int(r.u(bits.Len(uint(len(q.sets) - 1))))
		if i >= len(q.sets) {
			return s, false
		}
		s.refs = q.sets[i]
	}
	return s, !r.short
}
