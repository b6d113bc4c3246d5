package slices

// The types of OBUs that matter here.
const (
	obuSequence    = 1
	obuFrameHeader = 3
	obuFrame       = 6
	obuRedundant   = 7
	obuTileList    = 8
)

// selected is a choice that each frame makes for itself.
const selected = 2

// av1Sequence is what a sequence header says of the place of refresh_frame_flags.
type av1Sequence struct {
	known          bool
	reduced        bool // still pictures
	timed          bool // frames say when they are shown
	presentation   int  // in so many bits
	model          bool // and how decoders' buffers empty
	screen         uint32
	integerVectors uint32
	frameIDs       int // bits of a frame's number
	orderHints     int
}

// av1Config returns the OBUs after the header of a configuration, or what there is
// without one.
func av1Config(config []byte) []byte {
	if len(config) >= 4 && config[0] == 0x81 {
		return config[4:]
	}
	return config
}

// obus calls f for each OBU, until f returns false. It reports whether all could be read.
func obus(b []byte, f func(kind uint8, body []byte) bool) bool {
	for len(b) > 0 {
		head := b[0]
		kind, extended, sized := head>>3&15, head&4 != 0, head&2 != 0
		b = b[1:]
		if head&0x80 != 0 || extended && len(b) == 0 {
			return false
		}
		if extended {
			b = b[1:]
		}
		size := len(b)
		if sized {
			n, used := leb128(b)
			if used == 0 || n > uint64(len(b)-used) {
				return false
			}
			b, size = b[used:], int(n)
		}
		if !f(kind, b[:size]) {
			return false
		}
		b = b[size:]
	}
	return true
}

// leb128 reads a number of seven bits a byte, the lowest first. It used no byte if it
// does not end.
func leb128(b []byte) (n uint64, used int) {
	for i := range min(8, len(b)) {
		n |= uint64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, i + 1
		}
	}
	return 0, 0
}

// readAll reads the sequence header among some OBUs.
func (s *av1Sequence) readAll(b []byte) {
	obus(b, func(kind uint8, body []byte) bool {
		if kind == obuSequence {
			s.read(body)
		}
		return true
	})
}

// droppable reports whether a packet has a frame, and no reference frame is replaced by
// one.
func (s *av1Sequence) droppable(packet []byte) bool {
	frames := 0
	all := obus(packet, func(kind uint8, body []byte) bool {
		switch kind {
		case obuSequence:
			s.read(body)
			return false // decoders need it
		case obuTileList:
			return false
		case obuFrame, obuFrameHeader, obuRedundant:
			frames++
			return s.known && s.refreshesNothing(body)
		}
		return true
	})
	return all && frames > 0
}

// refreshesNothing reads a frame's header up to refresh_frame_flags.
func (s *av1Sequence) refreshesNothing(body []byte) bool {
	if s.reduced {
		return false
	}
	r := bitReader{b: body}
	// To show a key frame that is there already makes it a reference again.
	if r.flag() {
		return false
	}
	const keyFrame, intraOnly, switching = 0, 2, 3
	kind, shown := r.u(2), r.flag()
	if shown && s.timed {
		r.u(s.presentation)
	}
	if !shown {
		r.u(1) // it may be shown later
	}
	if kind == switching || kind == keyFrame {
		return false
	}
	resilient := r.flag()
	r.u(1) // whether probabilities are updated
	screen := s.screen
	if screen == selected {
		screen = r.u(1)
	}
	if screen == 1 && s.integerVectors == selected {
		r.u(1)
	}
	r.u(s.frameIDs)
	r.u(1) // another size
	r.u(s.orderHints)
	if kind != intraOnly && !resilient {
		r.u(3) // whose probabilities it begins with
	}
	// Times of removal depend on layers; hardly any file has them.
	if s.model {
		return false
	}
	return r.u(8) == 0 && !r.short
}

// read reads a sequence header.
func (s *av1Sequence) read(body []byte) {
	r := bitReader{b: body}
	*s = av1Sequence{}
	r.u(3) // profile
	r.u(1) // one picture
	if s.reduced = r.flag(); s.reduced {
		s.known = true
		return
	}
	s.readOperatingPoints(&r)

	wide, high := int(r.u(4))+1, int(r.u(4))+1
	r.u(wide)
	r.u(high)
	if r.flag() {
		delta := int(r.u(4)) + 2
		s.frameIDs = int(r.u(3)) + 1 + delta
	}
	r.u(3 + 4) // tools
	order := r.flag()
	if order {
		r.u(2)
	}
	s.screen, s.integerVectors = selected, selected
	if !r.flag() {
		s.screen = r.u(1)
	}
	if s.screen > 0 && !r.flag() {
		s.integerVectors = r.u(1)
	}
	if order {
		s.orderHints = int(r.u(3)) + 1
	}
	s.known = !r.short
}

// readOperatingPoints reads the part about times and layers.
func (s *av1Sequence) readOperatingPoints(r *bitReader) {
	delays := 0
	if r.flag() {
		r.u(32)
		r.u(32)
		equal := r.flag()
		if equal {
			r.uvlc()
		}
		if s.model = r.flag(); s.model {
			delays = int(r.u(5)) + 1
			r.u(32)
			r.u(5)
			s.presentation = int(r.u(5)) + 1
		}
		s.timed = s.model && !equal
	}
	displayed := r.flag()
	for range r.u(5) + 1 {
		r.u(12)
		if r.u(5) > 7 {
			r.u(1)
		}
		if s.model && r.flag() {
			r.u(delays)
			r.u(delays)
			r.u(1)
		}
		if displayed && r.flag() {
			r.u(4)
		}
	}
}
