package av

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Table is all packets of one stream, in the order in which they are decoded, and that in
// which they are displayed.
type Table struct {
	Stream  Stream
	Packets []Packet // as decoded
	Frames  []int32  // as displayed: the packet of each frame; without those to discard
	Line    Timeline // when frames are displayed; counted from the first of them
	Origin  int64    // that one's PTS
	Reorder int      // how many frames a decoder must hold back to give them in order

	keys []int32 // which packets are key
	cut  bool    // packets come before the first of them, and no frame
}

// maxReorder is above what any codec allows. A table that needs more is damaged.
const maxReorder = 32

// NewTable makes the table of a stream's packets, which it keeps. Every packet must have
// a PTS.
func NewTable(s Stream, packets []Packet) (*Table, error) {
	if !s.TimeBase.Positive() {
		return nil, fmt.Errorf("av: stream %d has the time base %v", s.Index, s.TimeBase)
	}
	if len(packets) > math.MaxInt32 {
		return nil, fmt.Errorf("av: stream %d has too many packets: %d", s.Index, len(packets))
	}
	t := &Table{Stream: s, Packets: packets}
	order := make([]int32, len(packets))
	for i := range packets {
		p := &packets[i]
		// Differences of two must not overflow.
		if p.PTS < math.MinInt64/4 || p.PTS > math.MaxInt64/4 {
			return nil, fmt.Errorf("av: stream %d: packet %d has no presentation time, or one beyond all bounds", s.Index, i)
		}
		if p.Key {
			t.keys = append(t.keys, int32(i))
		}
		order[i] = int32(i)
	}
	if len(t.keys) > 0 {
		before := packets[:t.keys[0]]
		t.cut = !slices.ContainsFunc(before, func(p Packet) bool { return !p.Discard })
	}
	sortByTime(packets, order)
	t.Reorder = reorder(packets, order)
	t.display(order)
	return t, nil
}

// sortByTime brings the numbers of packets into the order in which they are displayed. A
// video's packets have few places to go, and an hour has a hundred thousand of them:
// moving each to its place is faster than sorting. If they turn out to have many, they
// are sorted.
func sortByTime(packets []Packet, order []int32) {
	moves := maxReorder * len(order)
	for i := range order {
		p := order[i]
		at := i
		for ; at > 0 && packets[order[at-1]].PTS > packets[p].PTS; at-- {
			order[at] = order[at-1]
		}
		order[at] = p
		if moves -= i - at; moves < 0 {
			slices.SortStableFunc(order, func(a, b int32) int {
				return cmp.Or(cmp.Compare(packets[a].PTS, packets[b].PTS), cmp.Compare(a, b))
			})
			return
		}
	}
}

// display numbers the frames.
func (t *Table) display(order []int32) {
	t.Line.Base = t.Stream.TimeBase
	t.Frames = slices.DeleteFunc(order, func(i int32) bool { return t.Packets[i].Discard })
	if len(t.Frames) == 0 {
		return
	}
	t.Origin = t.Packets[t.Frames[0]].PTS
	t.Line.Start = make([]int64, len(t.Frames))
	for n, i := range t.Frames {
		t.Line.Start[n] = t.Packets[i].PTS - t.Origin
	}

	last := len(t.Frames) - 1
	lasts := int64(t.Packets[t.Frames[last]].Duration)
	if lasts == 0 && last > 0 {
		lasts = t.Line.Start[last] - t.Line.Start[last-1]
	}
	t.Line.End = t.Line.Start[last] + max(1, lasts)
}

// reorder returns the largest number of packets that are decoded before one and displayed
// after it. The packets to count are among the last ones displayed of those decoded so
// far. Where decoding goes back in time, an edit list shows another part: its packets
// have nothing to do with those before.
func reorder(packets []Packet, order []int32) int {
	rank := make([]int32, len(order))
	for r, i := range order {
		rank[i] = int32(r)
	}
	var latest [maxReorder]int32 // descending
	held, most := 0, 0
	for i, r := range rank {
		if i > 0 && packets[i].DTS < packets[i-1].DTS {
			held = 0
		}
		at := 0
		for at < held && latest[at] > r {
			at++
		}
		most = max(most, at)
		if at < maxReorder {
			held = min(held+1, maxReorder)
			copy(latest[at+1:held], latest[at:])
			latest[at] = r
		}
	}
	return most
}

// ErrTruncated says that a file ends before a packet does.
var ErrTruncated = errors.New("the file is truncated")

// CheckWithin returns an error that wraps [ErrTruncated] if some packet from first to
// last is after a file's end, naming the first frame that is lost.
func (t *Table) CheckWithin(first, last int, size int64) error {
	for i := first; i <= last; i++ {
		p := &t.Packets[i]
		if p.End() > size {
			return fmt.Errorf("av: stream %d, packet %d, at %.3f s, needs bytes up to %d, but there are %d: %w",
				t.Stream.Index, i, t.Line.Seconds(p.PTS-t.Origin), p.End(), size, ErrTruncated)
		}
	}
	return nil
}
