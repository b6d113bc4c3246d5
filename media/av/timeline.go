package av

import (
	"math"
	"sort"
)

// Timeline is when each frame of a stream is displayed.
type Timeline struct {
	Base  Rational // seconds of a tick
	Start []int64  // when each frame appears, in ticks; the first at 0, none before the one in front of it
	End   int64    // when the last one disappears
}

// Len returns the number of frames.
func (l *Timeline) Len() int { return len(l.Start) }

// Seconds returns the time of a tick.
func (l *Timeline) Seconds(tick int64) float64 {
	return float64(tick) * float64(l.Base.Num) / float64(l.Base.Den)
}

// Tick returns the tick nearest to a time. A time that has been through float32 or was
// printed with some digits still finds the frame that begins there.
func (l *Timeline) Tick(seconds float64) int64 {
	t := math.Floor(seconds*float64(l.Base.Den)/float64(l.Base.Num) + 0.5)
	switch {
	case t >= math.MaxInt64:
		return math.MaxInt64
	case t <= math.MinInt64:
		return math.MinInt64
	}
	return int64(t)
}

// At returns the frame on screen at a tick: the last one that appeared. It is -1 before
// the first, and the last frame after the end.
func (l *Timeline) At(tick int64) int {
	return sort.Search(len(l.Start), func(i int) bool { return l.Start[i] > tick }) - 1
}

// FPS returns the average rate of frames; 0 if there are none.
func (l *Timeline) FPS() float64 {
	if l.End <= 0 {
		return 0
	}
	return float64(len(l.Start)) / l.Seconds(l.End)
}
