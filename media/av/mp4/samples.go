package mp4

import (
	"math"

	"github.com/headrace/headrace/media/av"
)

// listed makes packets of a track's table of samples.
func (f *File) listed(t *track) ([]av.Packet, error) {
	sizes, err := t.sizes()
	if err != nil || sizes.n == 0 {
		return nil, err
	}
	if t.frame > 0 && sizes.same > 0 && !t.packed(sizes) {
		return f.chunksOf(t, sizes)
	}
	if err := f.checkRoom(sizes.box, sizes.n); err != nil {
		return nil, err
	}
	packets := make([]av.Packet, sizes.n)
	if err := t.place(packets, sizes); err != nil {
		return nil, err
	}
	if err := t.decodeTimes(packets); err != nil {
		return nil, err
	}
	if err := t.displayTimes(packets); err != nil {
		return nil, err
	}
	return packets, t.keys(packets)
}

// sizes is how long each sample is.
type sizes struct {
	box  *box
	n    int64
	same uint32 // all of them; 0: they differ
	rows []byte
	bits int
}

func (t *track) sizes() (s sizes, err error) {
	b := t.samples["stsz"]
	if b == nil {
		if b = t.samples["stz2"]; b == nil {
			return s, nil
		}
	}
	h := b.fields()
	h.full()
	s = sizes{box: b, bits: 32}
	if b.kind == "stsz" {
		s.same = h.u32()
	} else {
		s.bits = int(h.u32() & 0xff)
	}
	s.n = int64(h.u32())
	s.rows = h.b
	switch {
	case h.short:
		return s, b.errorf("is too short")
	case s.bits != 4 && s.bits != 8 && s.bits != 16 && s.bits != 32:
		return s, b.errorf("has sizes of %d bits", s.bits)
	case s.same == 0 && (s.n*int64(s.bits)+7)/8 > int64(len(s.rows)):
		return s, b.errorf("says it has %d sizes of %d bits, but has %d bytes", s.n, s.bits, len(s.rows))
	}
	return s, nil
}

// of returns the size of sample i.
func (s *sizes) of(i int) uint32 {
	switch {
	case s.same > 0:
		return s.same
	case s.bits == 4:
		return uint32(s.rows[i/2] >> (4 - 4*(i%2)) & 15)
	}
	size := uint32(0)
	for _, c := range s.rows[i*s.bits/8:][:s.bits/8] {
		size = size<<8 | uint32(c)
	}
	return size
}

// chunks is where the samples are: chunk after chunk, each of some samples.
type chunks struct {
	offsets entries
	runs    entries
	box     *box // of runs
}

func (t *track) chunks() (c chunks, err error) {
	offsets, size := t.samples["stco"], 4
	if offsets == nil {
		offsets, size = t.samples["co64"], 8
	}
	c.box = t.samples["stsc"]
	if offsets == nil || c.box == nil {
		return c, t.at.errorf("has no stsc box, or neither stco nor co64")
	}
	if c.offsets, err = offsets.entries(size); err != nil {
		return c, err
	}
	if c.runs, err = c.box.entries(12); err != nil {
		return c, err
	}
	for i := range c.runs.n {
		if first := c.runs.u32(i, 0); i == 0 && first != 1 || i > 0 && first <= c.runs.u32(i-1, 0) {
			return c, c.box.errorf("has chunk %d as the first of entry %d", first, i)
		}
	}
	return c, nil
}

// each calls f for each chunk, until that has enough.
func (c *chunks) each(f func(offset uint64, samples uint32) (more bool, err error)) error {
	run := 0
	for i := range c.offsets.n {
		for run+1 < c.runs.n && int64(c.runs.u32(run+1, 0)) <= int64(i)+1 {
			run++
		}
		if run >= c.runs.n {
			return nil
		}
		offset := uint64(c.offsets.u32(i, 0))
		if c.offsets.size == 8 {
			offset = offset<<32 | uint64(c.offsets.u32(i, 4))
		}
		if offset > math.MaxInt64/2 {
			return c.box.errorf("belongs to a chunk at byte %d", offset)
		}
		if more, err := f(offset, c.runs.u32(run, 4)); err != nil || !more {
			return err
		}
	}
	return nil
}

// place sets offsets and sizes.
func (t *track) place(packets []av.Packet, s sizes) error {
	c, err := t.chunks()
	if err != nil {
		return err
	}
	at := 0
	err = c.each(func(offset uint64, samples uint32) (bool, error) {
		for range min(int64(samples), int64(len(packets)-at)) {
			size := s.of(at)
			if size > math.MaxInt32 {
				return false, s.box.errorf("has a sample of %d bytes", size)
			}
			packets[at].Offset, packets[at].Size = int64(offset), int32(size)
			offset += uint64(size)
			at++
		}
		return at < len(packets), nil
	})
	if err == nil && at < len(packets) {
		err = c.box.errorf("has chunks for %d samples of %d", at, len(packets))
	}
	return err
}

// packed reports whether what the file calls a sample is many of audio that is not
// compressed.
func (t *track) packed(s sizes) bool {
	each := int64(s.same) / int64(t.frame)
	return each > 1 && each*int64(t.frame) == int64(s.same) && each == t.lasts()*int64(t.stream.Rate)/int64(t.stream.TimeBase.Den)
}

// lasts is how many ticks the first sample lasts; 1, where the file does not say it.
func (t *track) lasts() int64 {
	if b := t.samples["stts"]; b != nil {
		if e, err := b.entries(8); err == nil && e.n > 0 && e.u32(0, 4) <= math.MaxInt32 {
			return max(1, int64(e.u32(0, 4)))
		}
	}
	return 1
}

// mostBytes is how long packets are at most of audio that is not compressed: a chunk may
// be the whole recording.
const mostBytes = 1 << 18

// chunksOf makes packets of audio that is not compressed: of each chunk one, or several
// where it is long.
func (f *File) chunksOf(t *track, s sizes) ([]av.Packet, error) {
	c, err := t.chunks()
	if err != nil {
		return nil, err
	}
	each := t.lasts()
	if err := f.checkRoom(c.box, int64(c.offsets.n)); err != nil {
		return nil, err
	}

	packets := make([]av.Packet, 0, c.offsets.n)
	done := int64(0)
	err = c.each(func(offset uint64, samples uint32) (bool, error) {
		left := min(int64(samples), s.n-done)
		if left*int64(t.frame) > math.MaxInt32 || left*each > math.MaxInt32 {
			return false, c.box.errorf("has a chunk of %d samples", left)
		}
		for at := int64(offset); left > 0; {
			n := min(left, max(1, mostBytes/int64(t.frame)))
			if err := f.checkRoom(c.box, int64(len(packets))+1); err != nil {
				return false, err
			}
			packets = append(packets, av.Packet{
				Offset: at, Size: int32(n) * int32(t.frame), PTS: done * each, DTS: done * each, Duration: uint32(n * each), Key: true,
			})
			at, left, done = at+n*int64(t.frame), left-n, done+n
		}
		return done < s.n, nil
	})
	return packets, err
}

// decodeTimes sets DTS and durations, from stts.
func (t *track) decodeTimes(packets []av.Packet) error {
	b := t.samples["stts"]
	if b == nil {
		return t.at.errorf("has no stts box")
	}
	e, err := b.entries(8)
	if err != nil {
		return err
	}
	at, now := 0, int64(0)
	for i := range e.n {
		lasts := e.u32(i, 4)
		if lasts > math.MaxInt32 {
			return b.errorf("has a sample that lasts %d", int32(lasts))
		}
		for range min(int64(e.u32(i, 0)), int64(len(packets)-at)) {
			packets[at].DTS, packets[at].Duration = now, lasts
			now += int64(lasts)
			at++
		}
	}
	if at < len(packets) {
		return b.errorf("has times for %d samples of %d", at, len(packets))
	}
	return nil
}

// displayTimes sets PTS, from ctts. Offsets may be negative: all DTS are then so much
// earlier that none is after its PTS.
func (t *track) displayTimes(packets []av.Packet) error {
	for i := range packets {
		packets[i].PTS = packets[i].DTS
	}
	b := t.samples["ctts"]
	if b == nil {
		return nil
	}
	e, err := b.entries(8)
	if err != nil {
		return err
	}
	at, lowest := 0, int64(0)
	for i := range e.n {
		offset := int64(int32(e.u32(i, 4)))
		n := min(int64(e.u32(i, 0)), int64(len(packets)-at))
		if n > 0 {
			lowest = min(lowest, offset)
		}
		for range n {
			packets[at].PTS += offset
			at++
		}
	}

	if lowest < 0 {
		for i := range packets {
			packets[i].DTS += lowest
		}
	}
	return nil
}

// keys marks the key packets, from stss: all of them, if there is none.
func (t *track) keys(packets []av.Packet) error {
	if t.samples["stss"] == nil || t.stream.Kind == av.Audio || intra[t.stream.Codec] {
		for i := range packets {
			packets[i].Key = true
		}
		return nil
	}
	for _, kind := range []string{"stss", "stps"} {
		b := t.samples[kind]
		if b == nil {
			continue
		}
		e, err := b.entries(4)
		if err != nil {
			return err
		}
		for i := range e.n {
			n := int64(e.u32(i, 0))
			if n < 1 || n > int64(len(packets)) {
				return b.errorf("has sample %d of %d", n, len(packets))
			}
			packets[n-1].Key = true
		}
	}
	return t.randomAccess(packets)
}

// randomAccess marks packets of the group "rap ": key frames of open GOPs.
func (t *track) randomAccess(packets []av.Packet) error {
	b := t.samples["sbgp"]
	if b == nil {
		return nil
	}
	h := b.fields()
	version, _ := h.full()
	h.skip(4)
	if version > 0 {
		h.skip(4)
	}
	n := h.u32()
	if h.short {
		return b.errorf("is too short")
	}
	e, err := b.table(h.b, n, 8)
	if err != nil {
		return err
	}
	at := 0
	for i := range e.n {
		for range min(int64(e.u32(i, 0)), int64(len(packets)-at)) {
			if e.u32(i, 4) > 0 {
				packets[at].Key = true
			}
			at++
		}
	}
	return nil
}
