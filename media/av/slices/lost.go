package slices

// Lost returns a function that reports whether a picture is missing in front of a packet
// that this packet, or one that follows, may refer to. Decoders put another picture in
// its place, and say nothing: frames from there to the next key frame may be wrong.
//
// Packets are to be given in the order in which they are decoded, from a key packet on.
// Those that are droppable may be left out. It is nil for other codecs.
func Lost(codec string, config []byte) func(packet []byte) bool {
	switch codec {
	case "h264":
		c := &avcOrder{units: unitsOf(avcLength(config)), previous: unknown}
		c.readConfig(config)
		return c.lost
	case "hevc":
		return newHEVCOrder(config).lost
	}
	return nil
}

// unknown is the number of no picture.
const unknown = -1

// avcOrder follows frame_num, which counts pictures that others refer to.
type avcOrder struct {
	units    splitter
	sets     avcSets
	previous int // frame_num of the last picture that others refer to
}

// readConfig reads the parameter sets.
func (c *avcOrder) readConfig(config []byte) {
	if avcLength(config) == 0 {
		eachUnit(startCodes, config, func(unit []byte) { c.sets.read(unit) })
		return
	}
	// Two lists, each with its number in front, of units that have a length of 16 bits.
	rest := config[5:]
	for _, mask := range []byte{0x1f, 0xff} {
		if len(rest) == 0 {
			return
		}
		n := rest[0] & mask
		rest = rest[1:]
		for range n {
			unit, behind, ok := unitsOf(2)(rest)
			if !ok {
				return
			}
			c.sets.read(unit)
			rest = behind
		}
	}
}

func (c *avcOrder) lost(packet []byte) bool {
	var (
		seen, gap      bool
		refers, resets bool
		number         int
	)
	for len(packet) > 0 {
		unit, rest, ok := c.units(packet)
		if !ok {
			break
		}
		packet = rest
		if c.sets.read(unit) || !isSlice(unit) {
			continue
		}
		s, ok := c.sets.slice(unit)
		if !ok {
			c.previous = unknown // nothing is known from here on
			return false
		}
		if !seen {
			gap = c.gap(&s)
		}
		seen, number = true, s.number
		refers, resets = refers || s.refers, resets || s.resets
	}
	switch {
	case resets:
		c.previous = 0
	case refers:
		c.previous = number
	}
	return gap
}

func isSlice(unit []byte) bool {
	return len(unit) > 0 && (unit[0]&31 == 1 || unit[0]&31 == 5)
}

// gap reports whether a picture's number does not follow. The two fields of a frame have
// the same.
func (c *avcOrder) gap(s *avcSlice) bool {
	if s.instant || s.gaps || c.previous == unknown {
		return false
	}
	return s.number != c.previous && s.number != (c.previous+1)%s.numbers
}
