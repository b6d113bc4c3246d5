package slices

// avcSequence is what a sequence parameter set says of slice headers.
type avcSequence struct {
	planes        bool // the three colors are coded apart
	gray          bool
	numberBits    int // of frame_num
	gaps          bool
	order         uint32 // how the order of display is written
	orderBits     int
	orderConstant bool
	framesOnly    bool
}

// avcPicture is what a picture parameter set says of them.
type avcPicture struct {
	sequence    uint32
	fieldOrder  bool
	references  [2]uint32 // of each list
	weighted    bool
	weightedB   uint32
	redundant   bool
	sliceGroups bool
}

// avcSets are the parameter sets by their numbers.
type avcSets struct {
	sequences [32]*avcSequence
	pictures  [256]*avcPicture
}

// read reads a unit if it is a parameter set, and reports whether it is.
func (c *avcSets) read(unit []byte) bool {
	if len(unit) == 0 {
		return false
	}
	r := payload(unit)
	switch unit[0] & 31 {
	case 7:
		c.readSequence(&r)
		return true
	case 8:
		c.readPicture(&r)
		return true
	}
	return false
}

func (c *avcSets) readSequence(r *bitReader) {
	profile := r.u(8)
	r.u(16)
	id := r.ue()
	s := new(avcSequence)
	switch profile {
	case 100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135:
		s.readHigh(r)
	}
	s.numberBits = int(r.ue()) + 4
	s.order = r.ue()
	switch s.order {
	case 0:
		s.orderBits = int(r.ue()) + 4
	case 1:
		s.orderConstant = r.flag()
		r.se()
		r.se()
		for range min(255, r.ue()) {
			r.se()
		}
	}
	r.ue() // references
	s.gaps = r.flag()
	r.ue() // width
	r.ue() // height
	s.framesOnly = r.flag()
	if !r.short && id < 32 && s.numberBits <= 16 && s.orderBits <= 16 {
		c.sequences[id] = s
	}
}

// readHigh reads what only high profiles have.
func (s *avcSequence) readHigh(r *bitReader) {
	chroma := r.ue()
	lists := 8
	s.gray = chroma == 0
	if chroma == 3 {
		lists = 12
		s.planes = r.flag()
	}
	r.ue() // depths
	r.ue()
	r.flag()
	if !r.flag() {
		return
	}
	for i := range lists {
		if !r.flag() {
			continue
		}
		size, last, next := 16, int32(8), int32(8)
		if i >= 6 {
			size = 64
		}
		for range size {
			if next != 0 {
				next = (last + r.se() + 256) & 255
			}
			if next != 0 {
				last = next
			}
		}
	}
}

func (c *avcSets) readPicture(r *bitReader) {
	id := r.ue()
	p := &avcPicture{sequence: r.ue()}
	r.flag() // how numbers are coded
	p.fieldOrder = r.flag()
	p.sliceGroups = r.ue() > 0
	p.references = [2]uint32{r.ue() + 1, r.ue() + 1}
	p.weighted, p.weightedB = r.flag(), r.u(2)
	r.se()
	r.se()
	r.se()
	r.u(2)
	p.redundant = r.flag()
	if !r.short && id < 256 && p.sequence < 32 {
		c.pictures[id] = p
	}
}

// avcSlice is what is wanted of a slice header.
type avcSlice struct {
	number, numbers int  // frame_num, and how many there are
	gaps            bool // numbers may be left out
	instant         bool // it is of an IDR picture
	refers          bool // others may refer to it
	resets          bool // it counts as number 0 for those after it
}

// slice reads a slice header up to the marking of references. It fails if parameters are
// not known, or of a kind that nobody uses.
func (c *avcSets) slice(unit []byte) (s avcSlice, ok bool) {
	r := payload(unit)
	s.instant, s.refers = unit[0]&31 == 5, unit[0]>>5&3 != 0
	r.ue() // where it begins
	kind := r.ue() % 5
	id := r.ue()
	if id > 255 || c.pictures[id] == nil {
		return s, false
	}
	p := c.pictures[id]
	q := c.sequences[p.sequence]
	if q == nil || p.sliceGroups {
		return s, false
	}
	if q.planes {
		r.u(2)
	}
	s.number, s.numbers, s.gaps = int(r.u(q.numberBits)), 1<<q.numberBits, q.gaps
	if !s.refers {
		return s, !r.short
	}
	q.skipOrder(&r, p, s.instant)
	p.skipReferences(&r, kind, q.gray || q.planes)
	if !s.instant {
		s.resets = readMarking(&r)
	}
	return s, !r.short
}

// skipOrder skips when the picture is displayed.
func (q *avcSequence) skipOrder(r *bitReader, p *avcPicture, instant bool) {
	field := false
	if !q.framesOnly {
		if field = r.flag(); field {
			r.u(1)
		}
	}
	if instant {
		r.ue()
	}
	if q.order == 0 {
		r.u(q.orderBits)
		if p.fieldOrder && !field {
			r.se()
		}
	}
	if q.order == 1 && !q.orderConstant {
		r.se()
		if p.fieldOrder && !field {
			r.se()
		}
	}
	if p.redundant {
		r.ue()
	}
}

// Kinds of slices.
const (
	sliceP  = 0
	sliceB  = 1
	sliceI  = 2
	sliceSP = 3
	sliceSI = 4
)

// skipReferences skips the lists of references and their weights.
func (p *avcPicture) skipReferences(r *bitReader, kind uint32, gray bool) {
	if kind == sliceI || kind == sliceSI {
		return
	}
	lists := 1
	if kind == sliceB {
		lists = 2
		r.u(1)
	}
	references := p.references
	if r.flag() {
		for i := range lists {
			references[i] = r.ue() + 1
		}
	}
	for range lists {
		if r.flag() {
			for r.ue() != 3 && !r.short {
				r.ue()
			}
		}
	}
	if p.weighted && kind != sliceB || p.weightedB == 1 && kind == sliceB {
		skipWeights(r, references[:lists], gray)
	}
}

func skipWeights(r *bitReader, references []uint32, gray bool) {
	r.ue()
	if !gray {
		r.ue()
	}
	for _, n := range references {
		for range min(n, 32) {
			if r.flag() {
				r.se()
				r.se()
			}
			if !gray && r.flag() {
				for range 4 {
					r.se()
				}
			}
		}
	}
}

// readMarking reports whether the commands about references have the one that forgets all
// of them.
func readMarking(r *bitReader) bool {
	if !r.flag() {
		return false
	}
	for !r.short {
		switch r.ue() {
		case 0:
			return false
		case 5:
			return true
		case 3:
			r.ue()
			r.ue()
		default:
			r.ue()
		}
	}
	return false
}
