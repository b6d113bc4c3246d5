package mp4

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/headrace/headrace/media/av"
)

// readExtends reads the defaults of each track.
func readExtends(mvex *box, defaults map[uint32]fragmentDefaults) error {
	return mvex.each(0, func(b *box) error {
		if b.kind != "trex" {
			return nil
		}
		if len(defaults) >= mostTracks {
			return b.errorf("is one of more than %d", mostTracks)
		}
		h := b.fields()
		h.full()
		id := h.u32()
		h.skip(4)
		defaults[id] = fragmentDefaults{h.u32(), h.u32(), h.u32()}
		if h.short {
			return b.errorf("is too short")
		}
		return nil
	})
}

// readFragments reads every moof of the file.
func (f *File) readFragments(w *walker) error {
	for at := int64(0); ; {
		t, err := w.next(at)
		if err == io.EOF || errors.Is(err, errCut) { // package whole tells of that
			return nil
		}
		if err != nil {
			return err
		}
		if t.kind == "moof" {
			moof, err := w.read(t)
			if err != nil {
				return err
			}
			if err := f.readFragment(moof); err != nil {
				return err
			}
		}
		at += t.size
	}
}

func (f *File) readFragment(moof *box) error {
	implied := moof.at
	return moof.each(0, func(b *box) error {
		if b.kind != "traf" {
			return nil
		}
		return f.readTrackFragment(b, moof.at, &implied)
	})
}

// A fragment is the samples of one track in one moof.
type fragment struct {
	track    *track
	defaults fragmentDefaults
	base     int64 // what offsets count from
	now      int64 // when the next sample is decoded
	next     int64 // where it is, if nothing else is said
}

func (f *File) readTrackFragment(traf *box, moof int64, implied *int64) error {
	var g *fragment
	err := traf.each(0, func(b *box) (err error) {
		if g == nil && b.kind != "tfhd" {
			return nil
		}
		switch b.kind {
		case "tfhd":
			g, err = f.readFragmentHeader(b, moof, *implied)
		case "tfdt":
			h := b.fields()
			version, _ := h.full()
			at := h.versioned(version)
			if h.short || at > math.MaxInt64/8 {
				return b.errorf("has a time beyond all bounds, or none")
			}
			if g.goesBack(int64(at)) {
				return fmt.Errorf("mp4: box %q at byte %d sets the clock back, from %d to %d: %w: %w",
					b.kind, b.at, g.now, at, errJoined, ErrFormat)
			}
			g.now = int64(at)
		case "trun":
			err = f.readRun(b, g)
		}
		return err
	})
	if err != nil || g == nil {
		return err
	}
	*implied = g.next
	if g.track != nil {
		g.track.end = g.now
	}
	return nil
}

func (f *File) readFragmentHeader(b *box, moof, implied int64) (*fragment, error) {
	h := b.fields()
	_, flags := h.full()
	id := h.u32()
	g := &fragment{base: implied}
	for _, t := range f.tracks {
		if uint32(t.stream.ID) == id {
			g.track, g.defaults, g.now = t, t.defaults, t.end
		}
	}

	if flags&0x20000 != 0 {
		g.base = moof
	}
	if flags&1 != 0 {
		g.base = int64(h.u64())
	}
	if flags&2 != 0 {
		h.skip(4)
	}
	if flags&8 != 0 {
		g.defaults.lasts = h.u32()
	}
	if flags&0x10 != 0 {
		g.defaults.size = h.u32()
	}
	if flags&0x20 != 0 {
		g.defaults.flags = h.u32()
	}
	if h.short {
		return nil, b.errorf("is too short")
	}
	if g.base < 0 || g.base > math.MaxInt64/4 {
		return nil, b.errorf("has the offset %d", g.base)
	}
	g.next = g.base
	return g, nil
}

// What a trun box has, for itself or for each sample.
const (
	hasOffset     = 0x1
	hasFirstFlags = 0x4
	hasDuration   = 0x100
	hasSize       = 0x200
	hasFlags      = 0x400
	hasShown      = 0x800
)

// notKey are the flags of samples that need others: they are no sync samples, or depend
// on some.
const notKey = 0x10000 | 0x1000000

func (f *File) readRun(b *box, g *fragment) error {
	h := b.fields()
	_, flags := h.full()
	n := h.u32()
	if flags&hasOffset != 0 {
		g.next = g.base + int64(int32(h.u32()))
	}
	first := g.defaults.flags
	if flags&hasFirstFlags != 0 {
		first = h.u32()
	}
	if h.short || g.next < 0 {
		return b.errorf("is too short, or begins before the file")
	}

	size := 0
	for _, has := range []uint32{hasDuration, hasSize, hasFlags, hasShown} {
		if flags&has != 0 {
			size += 4
		}
	}
	e, err := b.table(h.b, n, size)
	if err != nil {
		return err
	}
	if g.track == nil {
		return nil // of no track that moov has
	}
	if err := f.checkRoom(b, int64(n)); err != nil {
		return err
	}
	f.room -= int64(n)
	for i := range e.n {
		s := g.defaults
		if i == 0 {
			s.flags = first
		}
		if err := g.add(b, e.row(i), s, flags, f.skim); err != nil {
			return err
		}
	}
	return nil
}

// add appends a packet, of which s has what its row does not. Skim: only the clock goes
// on.
func (g *fragment) add(b *box, row []byte, s fragmentDefaults, flags uint32, skim bool) error {
	r := fields{b: row}
	if flags&hasDuration != 0 {
		s.lasts = r.u32()
	}
	if flags&hasSize != 0 {
		s.size = r.u32()
	}

	if flags&hasFlags != 0 {
		s.flags = r.u32()
	}
	shown := g.now
	if flags&hasShown != 0 {
		shown += int64(int32(r.u32()))
	}
	if s.size > math.MaxInt32 || g.next > math.MaxInt64/2 {
		return b.errorf("has a sample of %d bytes at %d", s.size, g.next)
	}
	if g.now > math.MaxInt64/8 {
		return b.errorf("has a time beyond all bounds")
	}
	t := g.track
	if !t.fragmented {
		t.fragmented, t.first = true, g.now
	}
	t.last = g.now
	if !skim {
		t.fragments = append(t.fragments, av.Packet{
			Offset: g.next, Size: int32(s.size), PTS: shown, DTS: g.now, Duration: s.lasts,
			Key: s.flags&notKey == 0 || t.stream.Kind == av.Audio || intra[t.stream.Codec],
		})
	}
	g.next += int64(s.size)
	g.now += int64(s.lasts)
	return nil
}
