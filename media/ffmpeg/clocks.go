//go:build cgo

package ffmpeg

import (
	"strings"

	"github.com/headrace/headrace/media/av"
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

func momentOf(p *av.Packet) av.Moment {
	return av.Moment{PTS: p.PTS, DTS: p.DTS, Duration: int64(p.Duration), Key: p.Key}
}

func codedMoment(p *packets.Packet) av.Moment {
	return av.Moment{PTS: p.PTS, DTS: p.DTS, Duration: p.Duration, Key: p.Key}
}

func later(t *int64, by int64) {
	if *t != av.NoTime {
		*t += by
	}
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

// near is how many packets after one that the container takes for damaged its clock may
// be set: the mark is on the packet that was complete when bytes turned out to be
// missing, and parsers hold back another.
const near = 3

// aJump is how far a clock is ahead, in seconds, that nothing was lost in between: it was
// set.
const aJump = 10

// isSet reports whether a clock is set between two packets, and goes on to the second.
func isSet(clock *av.Clock, m, next av.Moment, base av.Rational) bool {
	gap := float64(next.At()-m.At()) * base.Float()
	so := clock.Restarts(next) || m.At() != av.NoTime && next.At() != av.NoTime && gap > aJump
	clock.Add(next)
	return so
}
