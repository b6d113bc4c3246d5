package mp4

import (
	"math"

	"github.com/headrace/headrace/media/av"
)

// An edit shows media from a time on for a while. Times are in the track's time base.
type edit struct {
	media, lasts int64
	empty        bool // nothing is shown meanwhile
}

// readEdits reads elst. Its durations are in the time base of the movie.
func (t *track) readEdits(scale uint32) ([]edit, error) {
	b := t.edits
	if b == nil || scale == 0 || scale > math.MaxInt32 {
		return nil, nil
	}
	h := b.fields()
	version, _ := h.full()
	n := h.u32()
	size := 12
	if version > 0 {
		size = 20
	}
	e, err := b.table(h.b, n, size)
	if err != nil {
		return nil, err
	}
	// Each may show the whole track again.
	const mostEdits = 1024
	if e.n > mostEdits {
		return nil, b.unsupported("has %d edits", e.n)
	}
	edits := make([]edit, 0, e.n)
	movie := av.Rational{Num: 1, Den: int32(scale)}
	for i := range e.n {
		r := fields{b: e.row(i)}
		lasts, media := int64(r.versioned(version)), int64(0)
		if version > 0 {
			media = int64(r.u64())
		} else {
			media = int64(int32(r.u32()))
		}
		if lasts < 0 || media < -1 || media > math.MaxInt64/8 {
			return nil, b.errorf("has an edit of %d ticks from %d on", lasts, media)
		}
		lasts = av.Rescale(lasts, movie, t.stream.TimeBase, av.Nearest)
		edits = append(edits, edit{media: media, lasts: min(lasts, math.MaxInt64/16/mostEdits), empty: media == -1})
	}
	return edits, nil
}

// edited returns the packets of what the edits show, with the times at which they do.
// What is before an edit, back to the key frame that it needs, and what is displayed
// after its end, is to be decoded and discarded.
func (t *track) edited(packets []av.Packet, scale uint32, room int64) ([]av.Packet, error) {
	edits, err := t.readEdits(scale)
	if err != nil || len(edits) == 0 || len(packets) == 0 {
		return packets, err
	}
	var (
		shown   []av.Packet
		now     int64 // when the next edit begins
		started int64 // when the first one does that shows something
		some    bool
	)
	for i, e := range edits {
		if e.empty {
			now += e.lasts
			continue
		}
		if e.lasts == 0 && i == len(edits)-1 {
			e.lasts = math.MaxInt64 / 4 // up to the end
		}
		if !some {
			some, started = true, now
		}
		if t.stream.Kind == av.Audio {
			t.unrounded(packets, &e, scale)
		}
		first, last := t.span(packets, e)
		if int64(last+1-first) > room {
			return nil, t.edits.errorf("shows more samples than a file can have")
		}
		room -= int64(last + 1 - first)
		if shown == nil {
			shown = make([]av.Packet, 0, last+1-first)
		}
		for _, p := range packets[first : last+1] {
			p.Discard = !e.shows(&p, t.stream.Kind)
			if end := e.media + e.lasts; t.stream.Kind == av.Audio && !p.Discard && p.PTS+int64(p.Duration) > end {
				p.Duration = uint32(end - p.PTS)
			}
			p.PTS += now - e.media
			p.DTS += now - e.media
			shown = append(shown, p)
		}
		now += e.lasts
	}

	if !some {
		return packets, nil
	}
	if t.stream.Kind == av.Video {
		align(shown, started)
	}
	return shown, nil
}

// unrounded has an edit end where the track does, if that is as much as the movie's ticks
// tell: many writers count milliseconds, which are dozens of samples.
func (t *track) unrounded(packets []av.Packet, e *edit, scale uint32) {
	last := &packets[len(packets)-1]
	end := last.PTS + int64(last.Duration)
	tick := (int64(t.stream.TimeBase.Den) + int64(scale) - 1) / int64(scale)
	if d := e.media + e.lasts - end; max(d, -d) <= tick {
		e.lasts = max(1, end-e.media)
	}
}

// shows reports whether an edit shows some of a packet: of video, its first moment.
func (e *edit) shows(p *av.Packet, kind av.Kind) bool {
	if kind == av.Audio {
		return p.PTS+int64(p.Duration) > e.media && p.PTS < e.media+e.lasts
	}
	return p.PTS >= e.media && p.PTS < e.media+e.lasts
}

// span returns the packets that an edit needs: from the key frame on that is displayed
// when it begins, or last before. Decoders of audio have a second to settle.
func (t *track) span(packets []av.Packet, e edit) (first, last int) {
	first, last = len(packets), -1
	for i := range packets {
		if e.shows(&packets[i], t.stream.Kind) {
			first, last = min(first, i), i
		}
	}
	if last < 0 {
		return 0, -1
	}
	begin := e.media
	if t.stream.Kind == av.Audio {
		begin -= int64(t.stream.TimeBase.Den)
	}
	key := 0
	for i := range packets[:last+1] {
		if p := &packets[i]; p.Key && p.PTS <= begin {
			key = i
		}
	}
	return min(first, key), last
}

// align moves packets so that the first frame is displayed when the first edit begins,
// even if that begins between two frames.
func align(packets []av.Packet, started int64) {
	first := int64(math.MaxInt64)
	for i := range packets {
		if !packets[i].Discard {
			first = min(first, packets[i].PTS)
		}
	}
	if first == math.MaxInt64 {
		return
	}
	for i := range packets {
		packets[i].PTS -= first - started
		packets[i].DTS -= first - started
	}
}

// shift moves the packets of a fragmented file as its first edits say: by the time before
// they begin, and by where they begin. Fragments are not cut.
func (t *track) shift(packets []av.Packet, scale uint32) {
	edits, err := t.readEdits(scale)
	if err != nil {
		return
	}
	var by int64
	for _, e := range edits {
		if !e.empty {
			by -= e.media
			break
		}
		by += e.lasts
	}
	for i := range packets {
		packets[i].PTS += by
		packets[i].DTS += by
	}
}
