package av

import "math"

// NoTime is a time that a container does not say.
const NoTime = math.MinInt64

// Moment is when a packet is decoded and displayed, as its container says.
type Moment struct {
	PTS, DTS, Duration int64
	Key                bool
}

// At is the time by which packets are compared.
func (m *Moment) At() int64 {
	if m.PTS == NoTime {
		return m.DTS
	}
	return m.PTS
}

// Clock has the times of a stream go on where its container's begin again. Files that
// were joined byte by byte, recorders that restart and inserted advertisements set the
// clock back; what comes later in the file is later in the stream all the same. Packets
// go through a clock in the order of the file.
type Clock struct {
	video bool
	wraps int64 // ticks after which the container's times begin again; 0: they do not

	shift int64 // what is added to times of this part
	dts   int64 // when the next packet may be decoded, with that added; NoTime: no packet has a DTS

	// Of the packets of this part, with times as the container has them.
	part           int  // how many have a time
	marks          bool // some are not key packets, so that the mark says something
	recent         [maxReorder + 1]int64
	lowest, latest int64
	lasts          int64 // the one displayed last; 0: that is not known
	blind          bool  // of this part no key packet has come, and there is one before it
}

// NewClock is that of a stream, before its first packet. Bits is how many a time has in
// the container; 0: enough.
func NewClock(s *Stream, bits int) Clock {
	c := Clock{video: s.Kind == Video, dts: NoTime}
	if bits > 0 {
		c.wraps = 1 << bits
	}
	return c
}

// jitter is how many packets of sound a clock may go back by without being set back.
const jitter = 8

// Restarts reports whether a packet has been displayed before those in front of it, were
// its time to be believed: its clock was set back. A frame may be displayed long before
// others that are decoded earlier, as a still that stays for minutes. So it is their
// number that tells, and not the time between them.
func (c *Clock) Restarts(m Moment) bool {
	at := m.At()
	switch {
	case at == NoTime || c.part == 0:
		return false
	case at > c.latest: // FFmpeg takes a clock that was set far back for one whose bits have run out
		return c.wraps > 0 && at-c.latest > c.wraps/2
	case !c.video:
		return at < c.latest && (at <= c.lowest || m.Duration > 0 && c.latest-at > jitter*m.Duration)
	case m.Key && (c.marks || c.part == 1): // no frame before a key frame is displayed after it
		return true
	case m.Key && at <= c.lowest:
		return true
	}
	if c.part < len(c.recent) {
		return false
	}
	for _, t := range c.recent {
		if at >= t {
			return false
		}
	}
	return true
}

// Follows reports whether a packet that begins another file, which was joined, is not
// later than what came before.
func (c *Clock) Follows(m Moment) bool {
	at := m.At()
	return at != NoTime && c.part > 0 && at < c.latest+c.last()
}

// Leads reports whether a packet after the first of a part is displayed before it.
func Leads(first, m Moment) bool { return !m.Key && m.PTS != NoTime && m.PTS < first.At() }

// Restart begins a part with a packet that [Clock.Add] gets next. Lowest is the time of
// what is displayed first of the part.
func (c *Clock) Restart(first Moment, lowest int64) {
	c.shift += c.latest + c.last() - lowest
	if c.video && c.dts != NoTime && first.DTS != NoTime {
		c.shift = max(c.shift, c.dts-first.DTS)
	}
	c.part, c.marks, c.blind = 0, false, c.video
}

// Blind reports whether the packet that was added cannot be decoded: its part begins in
// the middle of a group, whose key packet nobody has.
func (c *Clock) Blind() bool { return c.blind }

// last is how long the last frame of a part is displayed.
func (c *Clock) last() int64 {
	if c.lasts > 0 {
		return c.lasts
	}
	before := int64(math.MinInt64)
	for _, t := range c.recent[:min(c.part, len(c.recent))] {
		if t < c.latest {
			before = max(before, t)
		}
	}
	if before == math.MinInt64 {
		return 1
	}
	return c.latest - before
}

// Add takes the next packet, and returns what is to be added to its times.
func (c *Clock) Add(m Moment) (shift int64) {
	if m.DTS != NoTime {
		c.dts = m.DTS + c.shift + max(m.Duration, 1)
	}
	c.blind = c.blind && !m.Key
	at := m.At()
	if at == NoTime {
		return c.shift
	}

	if c.part == 0 {
		c.lowest, c.latest, c.lasts = at, at, m.Duration
	}
	if at >= c.latest {
		c.latest, c.lasts = at, m.Duration
	}
	c.lowest = min(c.lowest, at)
	c.recent[c.part%len(c.recent)] = at
	c.part++
	c.marks = c.marks || !m.Key
	return c.shift
}
