//go:build cgo

package ffmpeg

import (
	"cmp"
	"math"
	"slices"

	"github.com/headrace/headrace/media/av"
)

// isBare reports whether a format is a stream of pictures without a container, whose
// packets come with the number of their picture in the order of display, and no time.
func isBare(format string) bool { return format == "h264" || format == "hevc" }

// number gives packets the times that they have at the stream's rate. The numbers of
// their pictures begin again with key pictures, after all before them.
func (t *Track) number() {
	clock := av.NewClock(&t.Stream, 0)
	shown := make([]int64, len(t.Packets))
	order := make([]int, len(t.Packets))
	keyed := false
	for i := range t.Packets {
		p := &t.Packets[i]
		m := av.Moment{PTS: p.PTS, DTS: av.NoTime, Key: p.Key}
		if p.Key && keyed && clock.Restarts(m) {
			clock.Restart(m, m.PTS)
		}
		keyed = keyed || p.Key
		shown[i], order[i] = m.PTS, i
		if keyed {
			shown[i] += clock.Add(m)
		} else {
			shown[i] = math.MinInt64 // there are no pictures before the first key picture
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shown[a], shown[b]) })

	rate := t.FrameRate
	if !rate.Positive() {
		rate = av.Rational{Num: 25, Den: 1}
	}
	at := func(n int) int64 { return av.Rescale(int64(n), rate.Inverse(), t.TimeBase, av.Nearest) }
	for n, i := range order {
		t.Packets[i].PTS = at(n)
	}
	for i := range t.Packets {
		t.Packets[i].DTS = at(i - t.Reorder)
		t.Packets[i].Duration = uint32(min(max(at(1), 0), math.MaxUint32))
	}
}
