package recode

import (
	"headrace/media/av"
	"headrace/media/av/packets"
	"headrace/media/av/vorbis"
	"headrace/media/sound/coded"
)

// A grid is where packets can begin of a stream of sound whose container has times that
// are coarser than samples: a whole number of units after the first. Where a unit is
// longer than what a time leaves open, the time of a packet alone tells where it begins.
type grid struct {
	unit  int64 // samples; 0: there is no grid
	first int64 // where the first packet begins that gives samples
	time  int64 // its time, in samples
	tick  int64 // of the container's times, in samples
}

// off is what the rounding of two times to samples adds to that to ticks.
const off = 2

// place returns where a packet of a time, in samples, begins, if only one place of the
// grid has that time.
func (g *grid) place(time int64) (at int64, ok bool) {
	if g.unit == 0 {
		return 0, false
	}
	after := time - g.time
	low, high := after-g.tick-off, after+g.tick+off
	n := low / g.unit // rounded up
	if n*g.unit < low {
		n++
	}
	return g.first + n*g.unit, n*g.unit <= high && (n+1)*g.unit > high
}

// has reports whether a packet that begins at a place can have a time. All times were
// rounded in the same way, down or to the nearest tick, so what is between two of them is
// less than a tick off.
func (g *grid) has(at, time int64) bool {
	d := (time - g.time) - (at - g.first)
	return max(d, -d) <= g.tick+off
}

// wide reports whether the places are so far from each other that even times which were
// rounded twice, as those of packets that share a block are, cannot be taken for those of
// the next.
func (g *grid) wide() bool { return g.unit > 4*(g.tick+off) }

// places tells where packets of a stream of sound begin, in samples at its rate, one
// after the other. Samples follow each other without gaps as long as the times of their
// packets allow for it.
type places struct {
	stream *packets.Stream
	one    av.Rational // seconds of a sample
	grid   grid
	tick   int64          // of the container's times, in samples; 0: they are as fine as samples
	blocks *vorbis.Blocks // of Vorbis, whose packets do not say how many samples they give; nil: it is something else

	origin bool // the first packet is that of the file
	begun  bool
	next   int64 // where the next packet begins, if it follows
	agreed int   // packets in a row that began where they should, when reading began in the middle
}

// enough packets in a row tell where those of a grid that is not wide begin.
const enough = 16

// newPlaces begins with the first packet of a stream that is in its file, or with any.
func newPlaces(s *packets.Stream, g grid, origin bool) places {
	p := places{stream: s, one: av.Rational{Num: 1, Den: int32(s.Rate)}, grid: g, origin: origin, next: minTime}
	if coarse(s) {
		p.tick = p.samples(1)
	}
	if s.Codec == "vorbis" {
		p.blocks = vorbis.NewBlocks(s.Config)
	}
	return p
}

// samples is a time of the stream.
func (t *places) samples(ticks int64) int64 {
	return av.Rescale(ticks, t.stream.TimeBase, t.one, av.Nearest)
}

// of returns where the next packet begins and ends. Where reading began in the middle, it
// may not be sure of that. If it is, it returns what it would have returned had reading
// begun with the first packet.
func (t *places) of(p *packets.Packet) (from, until int64, sure bool) {
	from, until = t.samples(p.PTS), t.samples(p.PTS+p.Duration)
	first := !t.begun
	t.begun = true
	if first && t.origin && startsEmpty(t.stream) {
		from = until
	}
	if t.tick == 0 {
		if p.Cut > 0 { // what the container says may be without that
			if n := coded.PacketSamples(&t.stream.Stream, p.Data, until-from); n > 0 {
				until = from + int64(n)
			} else if t.stream.Codec == "vorbis" {
				until += int64(p.Cut)
			}
		}
		return from, until, true
	}

	if !first || !t.origin {
		from = t.settled(from)
	}
	n := coded.PacketSamples(&t.stream.Stream, p.Data, until-from)
	if t.blocks != nil {
		n = max(t.blocks.Samples(p.Data), 0)
		if first && !t.origin { // how many it gives depends on the one before
			t.agreed = 0
		}
	}
	if n > 0 {
		until = from + int64(n)
	}
	t.next = until
	return from, until, t.origin || t.agreed >= enough
}

// settled returns where a packet of a time, in samples, begins.
func (t *places) settled(time int64) int64 {
	at, placed := t.grid.place(time)
	switch {
	case placed && t.grid.wide():
		t.agreed = enough
		return at
	case t.origin || t.agreed >= enough:
		if d := time - t.next; max(d, -d) <= 2*t.tick {
			return t.next
		}
	case t.agreed > 0 && t.grid.has(t.next, time):
		t.agreed++
		return t.next
	case placed:
		t.agreed = 1
		return at
	default:
		t.agreed = 0
	}
	return time
}

// gridFrom is the grid of a stream that begins with a packet, of which places is told
// next. There is none before the first packet that gives samples.
func gridFrom(t *places, p *packets.Packet) (g grid, ok bool) {
	first := !t.begun
	from, _, _ := t.of(p)
	if first && startsEmpty(t.stream) {
		return grid{}, false
	}
	g = grid{first: from, time: t.samples(p.PTS), tick: t.tick}
	if t.tick > 0 {
		g.unit = int64(coded.PacketUnit(&t.stream.Stream, p.Data))
	}
	return g, true
}
