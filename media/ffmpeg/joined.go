//go:build cgo

package ffmpeg

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/joined"
	"github.com/headrace/headrace/media/av/packets"
)

// clocksOf are those of the streams of a container; nil: its times are in order. Those of
// MP4 are: edit lists may show a part again, and FFmpeg has counted that.
func clocksOf(format string, streams int, stream func(i int) *av.Stream) []av.Clock {
	if strings.HasPrefix(format, "mov,") {
		return nil
	}
	bits := 0
	if format == "mpegts" || format == "mpeg" {
		bits = 33
	}
	all := make([]av.Clock, streams)
	for i := range all {
		all[i] = av.NewClock(stream(i), bits)
	}
	return all
}

// goOn has the times of all packets go on where the container's begin again. Fresh
// reports whether a packet is the first of its track in a part of a file that was joined.
func (f *File) goOn(fresh func(track, packet int) bool) {
	clocks := clocksOf(f.Format, len(f.Tracks), func(i int) *av.Stream { return &f.Tracks[i].Stream })
	for i := range clocks {
		t := &f.Tracks[i]
		c, all, marked := &clocks[i], t.Packets, t.marked
		for n := range all {
			p := &all[n]
			m := momentOf(p)
			restarts := c.Restarts(m) || fresh(i, n) && c.Follows(m)
			if restarts {
				lowest := m.At()
				for k := n + 1; k < len(all) && av.Leads(m, momentOf(&all[k])); k++ {
					lowest = min(lowest, all[k].PTS)
				}
				c.Restart(m, lowest)
			}
			if shift := c.Add(m); shift != 0 {
				later(&p.PTS, shift)
				later(&p.DTS, shift)
			}
			if len(marked) > 0 && marked[0] == n {
				marked = marked[1:]
				if !restarts && t.Damage == nil && !jumps(*c, m, t.TimeBase, all[n+1:]) {
					t.Damage = errMarked(m, t.TimeBase)
				}
			}
			p.Discard = p.Discard || c.Blind()
		}
	}
}

// errMarked is the error of a packet that its container marks.
func errMarked(m av.Moment, base av.Rational) error {
	return fmt.Errorf("%w: a packet at %.3f s of the container's time is damaged, or others are missing", media.ErrCorrupt, float64(m.At())*base.Float())
}

func momentOf(p *av.Packet) av.Moment {
	return av.Moment{PTS: p.PTS, DTS: p.DTS, Duration: int64(p.Duration), Key: p.Key}
}

func later(t *int64, by int64) {
	if *t != av.NoTime {
		*t += by
	}
}

// appendPart appends the packets of a part that begins at a place of a file of this size.
// The parts before it have ended with that.
func (f *File) appendPart(part *File, p joined.Part, size int64) error {
	to, err := matched(f.Tracks, part.Tracks, func(t *Track) *av.Stream { return &t.Stream })
	if err != nil {
		return fmt.Errorf("%w: %w", err, partAt(p))
	}

	if f.End = part.End; f.Short == nil {
		f.Short = part.Short
	}
	extra := int64(len(f.extra))
	for i := range part.Tracks {
		if to[i] < 0 {
			continue
		}
		t := &f.Tracks[to[i]]
		t.Damage = cmp.Or(t.Damage, part.Tracks[i].Damage)
		for _, n := range part.Tracks[i].marked {
			t.marked = append(t.marked, len(t.Packets)+n)
		}
		for _, trim := range part.Tracks[i].Trims {
			trim.Packet += len(t.Packets)
			t.Trims = append(t.Trims, trim)
		}
		for _, packet := range part.Tracks[i].Packets {
			if packet.Offset < part.size {
				packet.Offset += p.From
			} else {
				packet.Offset += size - part.size + extra
			}
			t.Packets = append(t.Packets, packet)
		}
	}
	f.extra = append(f.extra, part.extra...)
	f.size = size
	return nil
}

// demuxParts demuxes the parts of a file of this size one by one.
func demuxParts(parts []joined.Part, size int64, demux func(joined.Part) (*File, error)) (*File, error) {
	f, err := demux(parts[0])
	if err != nil {
		return nil, err
	}
	f.within(parts[0], size)
	if len(parts) == 1 {
		f.goOn(func(int, int) bool { return false })
		return f, nil
	}

	fresh := make([]map[int]bool, len(f.Tracks))
	for i := range fresh {
		fresh[i] = map[int]bool{}
	}

	for _, p := range parts[1:] {
		part, err := demux(p)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, partAt(p))
		}
		for i := range f.Tracks {
			fresh[i][len(f.Tracks[i].Packets)] = true
		}
		if err := f.appendPart(part, p, size); err != nil {
			return nil, err
		}
	}
	f.goOn(func(track, packet int) bool { return fresh[track][packet] })
	return f, nil
}

// within has the offsets of a part be those in its file of this size. Packets in pieces
// are behind the whole file.
func (f *File) within(p joined.Part, size int64) {
	if p.Size() == size {
		return
	}
	for i := range f.Tracks {
		for k := range f.Tracks[i].Packets {
			if at := &f.Tracks[i].Packets[k].Offset; *at < f.size {
				*at += p.From
			} else {
				*at += size - f.size
			}
		}
	}
	f.size = size
}

// partAt says where a part begins.
func partAt(p joined.Part) error {
	return fmt.Errorf("the file is several, one after the other: this one begins at byte %d; split it there", p.From)
}

// matched are the streams of a file that those of a part go on with: -1: none. Video has
// to be of the same kind: who decodes frames by their numbers has one decoder for all.
func matched[T any](file, part []T, of func(*T) *av.Stream) ([]int, error) {
	to := make([]int, len(part))
	taken := make([]bool, len(file))
	for i := range part {
		to[i] = -1
		s := of(&part[i])
		for k := range file {
			if is := of(&file[k]); !taken[k] && is.Kind == s.Kind {
				to[i], taken[k] = k, true
				if s.Kind == av.Video {
					if err := differs(is, s); err != nil {
						return nil, err
					}
				}
				break
			}
		}
	}
	for k := range file {
		if s := of(&file[k]); !taken[k] && s.Kind != av.Other {
			return nil, fmt.Errorf("%w: %s ends where another file was joined", media.ErrUnsupported, s.Kind)
		}
	}
	return to, nil
}

// differs is an error where frames need another decoder.
func differs(was, is *av.Stream) error {
	if was.Codec != is.Codec || was.Width != is.Width || was.Height != is.Height {
		return fmt.Errorf("%w: %s of %d×%d becomes %s of %d×%d where another file was joined",
			media.ErrUnsupported, was.Codec, was.Width, was.Height, is.Codec, is.Width, is.Height)
	}
	if !sameConfig(was, is) {
		return fmt.Errorf("%w: %s has other headers where another file was joined", media.ErrUnsupported, was.Codec)
	}
	return nil
}

// sameConfig reports whether two streams need decoders that are alike. Comments, as of
// Vorbis and Theora, decode nothing, nor do the length and the checksum that FLAC has, or
// what Opus begins with.
func sameConfig(a, b *av.Stream) bool {
	x, y := a.Config, b.Config
	switch a.Codec {
	case "vorbis", "theora":
		one, two := xiph(x), xiph(y)
		return len(one) == 3 && len(two) == 3 && bytes.Equal(one[0], two[0]) && bytes.Equal(one[2], two[2])
	case "flac":
		if len(x) == 34 && len(y) == 34 {
			return bytes.Equal(x[10:13], y[10:13]) && x[13]>>4 == y[13]>>4
		}
	case "opus":
		if len(x) > 18 && len(y) > 18 {
			return bytes.Equal(x[:10], y[:10]) && bytes.Equal(x[16:], y[16:])
		}
	}
	return bytes.Equal(x, y)
}

// xiph are the headers of a codec, as FFmpeg has them: each after its length in two
// bytes, or all after a 2 and the lengths of the first two, in bytes of which all but the
// last are 255.
func xiph(config []byte) (headers [][]byte) {
	if len(config) > 3 && config[0] == 2 {
		var sizes [2]int
		config = config[1:]
		for i := range sizes {
			n := 0
			for n < len(config) && config[n] == 255 {
				n++
			}
			if n == len(config) {
				return nil
			}
			sizes[i], config = 255*n+int(config[n]), config[n+1:]
		}

		if sizes[0] > len(config) || sizes[1] > len(config)-sizes[0] {
			return nil
		}
		return [][]byte{config[:sizes[0]], config[sizes[0]:][:sizes[1]], config[sizes[0]+sizes[1]:]}
	}
	for len(config) >= 2 {
		n := int(binary.BigEndian.Uint16(config))
		if n > len(config)-2 {
			return nil
		}
		headers, config = append(headers, config[2:2+n]), config[2+n:]
	}
	return headers
}

// queue is packets that were read ahead, as the container has them.
type queue struct {
	packets []packets.Packet
	err     error // after them
}

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

// near is how many packets after one that the container takes for damaged its clock may
// be set: the mark is on the packet that was complete when bytes turned out to be
// missing, and parsers hold back another.
const near = 3

// aJump is how far a clock is ahead, in seconds, that nothing was lost in between: it was
// set.
const aJump = 10

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

// jumps reports that of packets that are known.
func jumps(clock av.Clock, m av.Moment, base av.Rational, following []av.Packet) bool {
	for n := range following[:min(near, len(following))] {
		next := momentOf(&following[n])
		if isSet(&clock, m, next, base) {
			return true
		}
		m = next
	}
	return false
}

// isSet reports whether a clock is set between two packets, and goes on to the second.
func isSet(clock *av.Clock, m, next av.Moment, base av.Rational) bool {
	gap := float64(next.At()-m.At()) * base.Float()
	so := clock.Restarts(next) || m.At() != av.NoTime && next.At() != av.NoTime && gap > aJump
	clock.Add(next)
	return so
}

func codedMoment(p *packets.Packet) av.Moment {
	return av.Moment{PTS: p.PTS, DTS: p.DTS, Duration: p.Duration, Key: p.Key}
}
