//go:build cgo

package ffmpeg

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/joined"
)

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
	return fmt.Errorf("%w: a packet at %.3f s of the container's time is damaged, or others are missing",
		media.ErrCorrupt, float64(m.At())*base.Float())
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
