// Package places tells where packets of sound begin, in samples, where a container's
// times are too coarse for that.
package places

import (
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/av/vorbis"
	"github.com/headrace/headrace/media/sound/coded"
)

// A Grid is where packets can begin of a stream of sound whose container has times that
// are coarser than samples: a whole number of units after the first. Where a unit is
// longer than what a time leaves open, the time of a packet alone tells where it begins.
type Grid struct {
	unit  int64 // samples; 0: there is no grid
	first int64 // where the first packet begins that gives samples
	time  int64 // its time, in samples
	tick  int64 // of the container's times, in samples
}

// off is what the rounding of two times to samples adds to that to ticks.
const off = 2

// place returns where a packet of a time, in samples, begins, if only one place of the
// grid has that time.
func (g *Grid) place(time int64) (at int64, ok bool) {
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
func (g *Grid) has(at, time int64) bool {
	d := (time - g.time) - (at - g.first)
	return max(d, -d) <= g.tick+off
}

// wide reports whether the places are so far from each other that even times which were
// rounded twice, as those of packets that share a block are, cannot be taken for those of
// the next.
func (g *Grid) wide() bool { return g.unit > 4*(g.tick+off) }

// Places tells where packets of a stream of sound begin, in samples at its rate, one
// after the other. Samples follow each other without gaps as long as the times of their
// packets allow for it.
type Places struct {
	stream *packets.Stream
	grid   Grid
	One    av.Rational    // seconds of a sample
	Tick   int64          // of the container's times, in samples; 0: they are as fine as samples
	blocks *vorbis.Blocks // of Vorbis, whose packets do not say how many samples they give; nil: it is something else

	origin bool // the first packet is that of the file
	begun  bool
	next   int64 // where the next packet begins, if it follows
	agreed int   // packets in a row that began where they should, when reading began in the middle
}

// enough packets in a row tell where those of a grid that is not wide begin.
const enough = 16

// New begins with the first packet of a stream that is in its file, or with any.
func New(s *packets.Stream, g Grid, origin bool) Places {
	p := Places{stream: s, One: av.Rational{Num: 1, Den: int32(s.Rate)}, grid: g, origin: origin, next: unknown}
	switch {
	case drifts(s):
		p.Tick = drift
	case Coarse(s):
		p.Tick = p.samples(1)
	}
	if s.Codec == "vorbis" {
		p.blocks = vorbis.NewBlocks(s.Config)
	}
	return p
}

// unknown is before any time.
const unknown = -1 << 60

// drifts reports whether FFmpeg's times of packets are off, as they are of MPEG streams
// at 44.1 kHz and its like: only the first frame of a PES packet has a time there, and to
// those after it FFmpeg adds durations that it has rounded to ticks.
func drifts(s *packets.Stream) bool {
	const frames = 64 // samples, of which frames of all these codecs have a multiple
	if s.TimeBase != (av.Rational{Num: 1, Den: 90000}) || s.Rate <= 0 || frames*90000%s.Rate == 0 {
		return false
	}
	return s.Codec == "aac" || s.Codec == "ac3" || coded.IsLayer(s.Codec)
}

// drift is more samples than that is: a PES packet lasts 0.7 s at most, in which are some
// thirty frames, each a tick or half a sample off.
const drift = 16

// Coarse reports whether the container's times of a stream of sound are not enough to
// tell samples: in Matroska they are milliseconds.
func Coarse(s *packets.Stream) bool {
	return s.Kind == av.Audio && (int64(s.TimeBase.Num)*int64(s.Rate) > int64(s.TimeBase.Den) || drifts(s))
}

// MustCount reports whether samples of a stream have to be counted from its beginning.
func MustCount(s *packets.Stream, g *Grid) bool { return Coarse(s) && g.unit == 0 }

// StartsEmpty reports whether the first packet that a decoder gets gives no samples.
func StartsEmpty(s *packets.Stream) bool { return s.Codec == "vorbis" }

// samples is a time of the stream.
func (t *Places) samples(ticks int64) int64 {
	return av.Rescale(ticks, t.stream.TimeBase, t.One, av.Nearest)
}

// Of returns where the next packet begins and ends. Where reading began in the middle, it
// may not be sure of that. If it is, it returns what it would have returned had reading
// begun with the first packet.
func (t *Places) Of(p *packets.Packet) (from, until int64, sure bool) {
	from, until = t.samples(p.PTS), t.samples(p.PTS+p.Duration)
	first := !t.begun
	t.begun = true
	if first && t.origin && StartsEmpty(t.stream) {
		from = until
	}
	if t.Tick == 0 {
		if p.Cut > 0 || p.Duration <= 0 || coded.IsLayer(t.stream.Codec) { // what the container says is less, nothing, or a guess
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
func (t *Places) settled(time int64) int64 {
	at, placed := t.grid.place(time)
	switch {
	case placed && t.grid.wide():
		t.agreed = enough
		return at
	case t.origin || t.agreed >= enough:
		if d := time - t.next; max(d, -d) <= 2*t.Tick {
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

// GridFrom is the grid of a stream that begins with a packet, of which places is told
// next. There is none before the first packet that gives samples.
func GridFrom(t *Places, p *packets.Packet) (g Grid, ok bool) {
	first := !t.begun
	from, _, _ := t.Of(p)
	if first && StartsEmpty(t.stream) {
		return Grid{}, false
	}
	g = Grid{first: from, time: t.samples(p.PTS), tick: t.Tick}
	if t.Tick > 0 {
		g.unit = int64(coded.PacketUnit(&t.stream.Stream, p.Data))
	}
	return g, true
}
