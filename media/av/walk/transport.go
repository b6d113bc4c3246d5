package walk

import (
	"bytes"
	"fmt"

	"github.com/headrace/headrace/media/av"
)

// transportWalk follows the packets of a transport stream, which all have one size, and
// count those of their stream from 0 to 15.
type transportWalk struct {
	each    int64 // bytes from one packet to the next; 0: not known yet
	streams map[uint16]*transportStream
}

// transportStream is a stream of sound or video, as far as it has come.
type transportStream struct {
	count int8 // of its last packet
	time  uint64
	timed bool
	bad   bool // its damage was told
}

func (w *transportWalk) step(f *file, at int64) (next int64, err error) {
	const run = 4 // packets in a row that begin as they should
	if w.each == 0 {
		at, w.each = f.packets(at, run)
		if w.each == 0 {
			return f.Len, nil
		}
	}

	p := f.Bytes(at, 188)
	if len(p) < 188 { // which package whole tells, or bytes after the packets
		return f.Len, nil
	}
	if p[0] != 'G' {
		if next, each := f.packets(at, run); each > 0 {
			return 0, damage(at, "%d bytes are no packet", next-at)
		}
		return f.Len, nil
	}
	return at + w.each, w.packet(f, at, p)
}

// begin implements walker.
func (w *transportWalk) begin(_ *file, at int64) int64 {
	w.each, w.streams = 0, nil
	return at
}

// packets finds so many packets in a row, at a place or after it. Each of them, with
// what separates two, has so many bytes; 0 if there are none.
func (f *file) packets(at int64, run int) (first, each int64) {
	for ; at < f.Len; at++ {
		b := f.Bytes(at, 204*run)
		i := bytes.IndexByte(b, 'G')
		if i < 0 {
			at += int64(max(len(b)-1, 0))
			continue
		}
		if at += int64(i); i > 0 {
			b = f.Bytes(at, 204*run)
		}

		for _, each := range av.TransportSizes {
			n := av.TransportRun(b, 0, each, run)
			if n == run || n > 1 && n*each >= len(b) {
				return at, int64(each)
			}
		}
	}
	return f.Len, 0
}

// packet counts one of a stream.
func (w *transportWalk) packet(f *file, at int64, p []byte) error {
	id := av.TransportID(p)
	s, fills := w.streams[id], p[3]&0x20 != 0
	time, timed, begins := av.TransportTime(p)
	if s == nil {
		if !begins || id == 0x1FFF {
			return nil // of a table
		}
		if w.streams == nil {
			w.streams = map[uint16]*transportStream{}
		}
		s = &transportStream{count: -1}
		w.streams[id] = s
	}
	if s.bad {
		return nil
	}

	count, want := int8(p[3]&15), s.count
	if p[3]&0x10 != 0 && want >= 0 {
		want = (want + 1) & 15
	}
	said := fills && p[4] > 0 && p[5]&0x80 != 0 // that the count begins again here
	goesOn := want < 0 || count == want || said
	if !goesOn && !w.jumps(f, at, id, s) {
		s.bad = true
		return &Damage{at, fmt.Sprintf("packets of the stream 0x%x are missing before that", id), int(id)}
	}
	s.count = count
	if s.timed = s.timed && goesOn; timed { // a clock is not set twice before it tells the time
		s.time, s.timed = time, true
	}
	return nil
}

// jumps reports whether the clock of a stream is set back or far ahead after packets that
// do not count on: then nothing is lost, but files were joined there.
func (w *transportWalk) jumps(f *file, at int64, id uint16, s *transportStream) bool {
	const far, look = 10 * 90000, 4 << 20
	if !s.timed {
		return false
	}
	for end := min(f.Len, at+look); at < end; at += w.each {
		p := f.Bytes(at, 188)
		if len(p) < 188 || p[0] != 'G' || av.TransportID(p) != id {
			continue
		}
		if time, timed, _ := av.TransportTime(p); timed {
			ahead := (time - s.time) & (1<<33 - 1)
			return ahead > far
		}
	}
	return false
}
