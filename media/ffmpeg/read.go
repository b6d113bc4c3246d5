//go:build cgo

package ffmpeg

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
)

// Read reads the next packet of any stream. After the last it returns io.EOF. Where the
// container's clock begins again, times go on.
func (r *Reader) Read(p *packets.Packet) error {
	if err := r.next(p); err != nil || r.clocks == nil {
		return err
	}
	r.show(p)
	c := &r.clocks[p.Stream]
	m := codedMoment(p)
	if c.Restarts(m) || p.Begins && c.Follows(m) {
		r.Restarts++
		c.Restart(m, r.lowest(p, m))
		p.Corrupt = false // a container that counts packets misses some
		if s := &r.Streams[p.Stream]; s.Kind == av.Video && r.isMatroska() {
			r.guessed[p.Stream] = newDecoding(m, s.Reorder)
		}
	}
	if d := r.guessed[p.Stream]; d != nil {
		p.DTS = d.next(m.PTS)
	}

	shift := c.Add(m)
	if p.Corrupt {
		p.Corrupt = !r.jumps(p, m)
	}
	p.Discard = p.Discard || c.Blind()
	if shift != 0 {
		later(&p.PTS, shift)
		later(&p.DTS, shift)
	}
	if p.Other == nil && r.isMatroska() { // as in FFmpeg, which reads two segments as one, decoders go on
		p.Begins = false
	}
	return nil
}

func (r *Reader) isMatroska() bool { return strings.HasPrefix(r.Format, "matroska") }

// decoding is when packets are decoded of a stream whose container says only when they
// are displayed. FFmpeg guesses at that, not for the first packets, and wrongly after a
// clock was set back.
type decoding struct{ held []int64 } // times, ascending

// newDecoding begins with a packet of a stream in which so many frames are held back.
func newDecoding(first av.Moment, reorder int) *decoding {
	d := new(decoding)
	for i := reorder; i > 0; i-- {
		d.held = append(d.held, first.At()-int64(i)*max(first.Duration, 1))
	}
	return d
}

func (d *decoding) next(pts int64) int64 {
	at, _ := slices.BinarySearch(d.held, pts)
	d.held = slices.Insert(d.held, at, pts)
	first := d.held[0]
	d.held = slices.Delete(d.held, 0, 1)
	return first
}

// queue is packets that were read ahead, as the container has them.
type queue struct {
	packets []packets.Packet
	err     error // after them
}

// next takes a packet of the queue, or of the container.
func (r *Reader) next(p *packets.Packet) error {
	if len(r.ahead.packets) > 0 {
		*p = r.ahead.packets[0]
		r.ahead.packets = r.ahead.packets[1:]
		return nil
	}
	if err := r.ahead.err; err != nil {
		return err
	}
	return r.read(p)
}

// read reads the next packet of any part, with times as the container has them.
func (r *Reader) read(p *packets.Packet) error {
	for {
		err := r.now.read(p)
		if err == nil && len(r.given) > 0 {
			g := &r.given[0]
			r.given = r.given[1:]
			p.PTS, p.DTS, p.Duration = g.PTS, g.DTS, int64(g.Duration)
		}
		if err == io.EOF && r.part+1 < len(r.parts) {
			if err = r.enter(r.part + 1); err == nil {
				continue
			}
		}
		if err != nil || r.part == 0 {
			return err
		}
		s := &r.now.streams[p.Stream]
		if p.Stream = r.to[p.Stream]; p.Stream < 0 {
			continue
		}

		rescale(p, s.TimeBase, r.Streams[p.Stream].TimeBase)
		if r.fresh[p.Stream] {
			r.fresh[p.Stream] = false
			p.Begins = true
			if is := &r.Streams[p.Stream].Stream; is.Codec != s.Codec || !sameConfig(is, &s.Stream) {
				p.Other = s
			}
			if n := preSkip(&s.Stream); p.Skip == 0 {
				p.Skip = n
			}
		}
		return nil
	}
}

// rescale brings a packet's times to another base.
func rescale(p *packets.Packet, from, to av.Rational) {
	if from == to || !from.Positive() || !to.Positive() {
		return
	}
	for _, t := range []*int64{&p.PTS, &p.DTS, &p.Duration} {
		if *t != av.NoTime {
			*t = av.Rescale(*t, from, to, av.Nearest)
		}
	}
}

// enter begins to read a part.
func (r *Reader) enter(part int) error {
	s, err := openSource(r.file, r.parts[part])
	if err != nil {
		return fmt.Errorf("%w: %w", err, partAt(r.parts[part]))
	}
	to, err := matched(r.Streams, s.streams, func(s *packets.Stream) *av.Stream { return &s.Stream })
	if err != nil {
		s.Close()
		return fmt.Errorf("%w: %w", err, partAt(r.parts[part]))
	}
	if r.now != r.first {
		r.now.Close()
	}

	r.now, r.part, r.to = s, part, to
	if r.keeps {
		s.walk = nil
	}
	if r.light {
		s.walk.Light()
	}
	r.fresh = make([]bool, len(r.Streams))
	for i := range r.fresh {
		r.fresh[i] = true
	}
	if r.only != nil {
		var only []int
		for i, n := range to {
			for _, k := range r.only {
				if n == k {
					only = append(only, i)
				}
			}
		}
		s.only(only)
	}
	return nil
}

// preSkip is how many samples an encoder of Opus has put before the recording (RFC 7845).
func preSkip(s *av.Stream) uint32 {
	if s.Codec != "opus" || len(s.Config) < 12 {
		return 0
	}
	return uint32(binary.LittleEndian.Uint16(s.Config[10:]))
}

// look calls each with the packets that follow of a stream, until it returns false. They
// are read ahead; after so many of all streams it ends, too.
func (r *Reader) look(stream int, each func(p *packets.Packet) bool) {
	const most = 1024
	for i := 0; i < most; i++ {
		if i == len(r.ahead.packets) {
			if r.ahead.err != nil {
				return
			}
			var p packets.Packet
			if err := r.read(&p); err != nil {
				r.ahead.err = err
				return
			}
			r.ahead.packets = append(r.ahead.packets, p)
		}
		if p := &r.ahead.packets[i]; p.Stream == stream && !each(p) {
			return
		}
	}
}

// lowest is the time of what is displayed first of the part that begins with a packet, or
// heard first: the first packet of Vorbis gives no samples.
func (r *Reader) lowest(p *packets.Packet, first av.Moment) int64 {
	low := first.At()
	s := &r.Streams[p.Stream]
	if p.Other != nil {
		s = p.Other
	}
	if s.Kind == av.Audio {
		if s.Codec == "vorbis" && p.Begins {
			low += p.Duration
		}
		if s.Rate > 0 {
			low += av.Rescale(int64(p.Skip), av.Rational{Num: 1, Den: int32(s.Rate)}, r.Streams[p.Stream].TimeBase, av.Nearest)
		}
		return low
	}
	r.look(p.Stream, func(p *packets.Packet) bool {
		m := codedMoment(p)
		if !av.Leads(first, m) {
			return false
		}
		low = min(low, m.PTS)
		return true
	})
	return low
}

// jumps reports whether the clock is set soon after a packet, back or ahead: then the
// container has lost nothing, but was joined there.
func (r *Reader) jumps(p *packets.Packet, m av.Moment) (so bool) {
	clock, base, n := r.clocks[p.Stream], r.Streams[p.Stream].TimeBase, 0
	r.look(p.Stream, func(p *packets.Packet) bool {
		next := codedMoment(p)
		so = isSet(&clock, m, next, base)
		m = next
		n++
		return !so && n < near
	})
	return so
}
